/** A node as far as an updater sees it: it shows a release, which may be any. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Manifest, SignedManifest } from '../../../src/core/release/manifest.ts';
import { packBundle } from '../../../src/worker/upgrade/bundle-file.ts';
import { sha256, signManifest } from '../../../src/worker/upgrade/release-key.ts';
import { MANIFEST_PATH } from '../../../src/worker/upgrade/take-release.ts';
import type { Ends } from '../leasehold.ts';

const DAY = 24 * 3_600_000;

export interface Release {
  readonly envelope: SignedManifest;
  readonly bundle: Buffer;
}

/** A signed release of these files; without a key it is unsigned. */
export function makeRelease(
  version: string,
  files: Readonly<Record<string, string>>,
  pem: string | undefined,
  changes: Partial<Manifest> = {},
): Release {
  const bundle = packBundle({ version, files });
  const manifest: Manifest = {
    version,
    protocol: [1, 1],
    node: '>=24',
    sha256: sha256(bundle),
    size: bundle.length,
    created: Date.now(),
    expires: Date.now() + 30 * DAY,
    minVersion: '0.0.1',
    ...changes,
  };
  const signed = JSON.stringify(manifest);
  return { envelope: pem === undefined ? { signed } : signManifest(signed, pem), bundle };
}

export class ReleaseServer {
  readonly url: string;
  /** What it was asked for. */
  readonly asked: string[] = [];
  release: Release | undefined;
  /** Answers in its place. */
  instead: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;

  private constructor(url: string) {
    this.url = url;
  }

  static async start(t: Ends): Promise<ReleaseServer> {
    const server = createServer((request, response) => scene.#answer(request, response));
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    const scene = new ReleaseServer(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return scene;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    this.asked.push(request.url ?? '');
    if (this.instead?.(request, response) === true) return;
    if (this.release === undefined) return void response.writeHead(404).end();
    if (request.url === MANIFEST_PATH) return void response.end(JSON.stringify(this.release.envelope));
    response.end(this.release.bundle);
  }
}
