import { readFileSync } from 'node:fs';
import type { FastifyReply } from 'fastify';
import { fault } from '../../core/errors.ts';
import { RawResponse } from '../http/answers.ts';
import type { Handlers } from '../http/route-handler.ts';
import type { Served, ServedRelease } from './served-release.ts';

/** Static: nothing of a worker, of a caller or of this node is in it. */
let script: string | undefined;

export const releaseRoutes: Handlers<'installScript' | 'releaseManifest' | 'releaseBundle'> = {
  installScript({ reply }) {
    script ??= readFileSync(new URL('./install.sh', import.meta.url), 'utf8');
    return sent(reply, script, 'text/x-shellscript; charset=utf-8');
  },

  async releaseManifest({ release, reply }) {
    return sent(reply, (await current(release)).envelope, 'application/json; charset=utf-8');
  },

  async releaseBundle({ release, reply, params }) {
    const { manifest, bundle } = await current(release);
    if (params.sha256 !== manifest.sha256) throw fault('NOT_FOUND', { kind: 'bundle', id: 'with this hash' });
    // What has this hash never changes.
    return sent(reply, bundle, 'application/octet-stream', 'public, max-age=31536000, immutable');
  },
};

async function current(release: ServedRelease): Promise<Served> {
  const served = await release.current();
  if (served !== undefined) return served;
  const hint = 'A checkout has one after "npm run build"; --release names the folder of another.';
  throw fault('NOT_FOUND', { kind: 'release of the worker', id: 'on this node' }, { hint });
}

function sent(reply: FastifyReply, body: string | Buffer, type: string, caching = 'no-cache'): RawResponse {
  reply.headers({ 'cache-control': caching, 'content-security-policy': "default-src 'none'" });
  return new RawResponse(
    new Response(typeof body === 'string' ? body : new Uint8Array(body), { headers: { 'content-type': type } }),
  );
}
