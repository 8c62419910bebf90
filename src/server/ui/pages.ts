import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../../engine/log.ts';
import { StaticFiles } from './static-files.ts';

export interface PagesOptions {
  /** Where the built pages lie; undefined: they are not built. */
  readonly folder: () => string | undefined;
  readonly log: Log;
  /** Milliseconds since some point; it never goes back. */
  readonly now: () => number;
}

/** Nothing but what we send ourselves, nowhere but in a window of its own. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  'report-uri /ui/csp-report',
].join('; ');

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  vary: 'accept-encoding',
};

const NOT_BUILT = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Leasehold</title>
<h1>Leasehold is up</h1>
<p>The web UI is not part of this checkout until it is built: run <code>npm run build:web</code>, and load this page again.
The package from the registry brings it along.</p>
<p>Until then the command line does the same: <code>leasehold tasks list</code>, <code>leasehold --help</code>.</p>
</html>
`;

/** Whether somebody opens one of our pages: they are the same for all, so that a link on another site may lead there. */
export function opensPage({ method, url, headers }: FastifyRequest): boolean {
  const path = url.split('?', 1)[0] as string;
  const opens = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  return (
    opens &&
    method === 'GET' &&
    headers.origin === undefined &&
    (path === '/' || path === '/ui' || path.startsWith('/ui/'))
  );
}

/** The web UI: files that anybody may have, which know nothing before somebody logs in. */
export function servePages(fastify: FastifyInstance, { folder, log, now }: PagesOptions): void {
  const files = new StaticFiles(folder);
  const lead = (_: FastifyRequest, reply: FastifyReply): FastifyReply =>
    reply.headers(HEADERS).header('cache-control', 'no-cache').redirect('/ui/', 302);
  const config = { name: 'pages' };
  fastify.get('/', { config }, lead);
  fastify.get('/ui', { config }, lead);
  fastify.get('/ui/*', { config }, async (request, reply) => {
    const name = (request.params as { readonly '*': string })['*'];
    const found = await files.find(name, String(request.headers['accept-encoding'] ?? ''));
    reply.headers(HEADERS);
    if (found === undefined) return sendNothing(reply, folder() === undefined);
    const { body, type, encoding, lasting } = found;
    if (encoding !== undefined) reply.header('content-encoding', encoding);
    reply.header('cache-control', lasting ? 'public, max-age=31536000, immutable' : 'no-cache');
    return reply.type(type).send(body);
  });
  void fastify.register((scope, _, done) => {
    takeReports(scope, log, now);
    done();
  });
}

function sendNothing(reply: FastifyReply, unbuilt: boolean): FastifyReply {
  reply.header('cache-control', 'no-cache');
  if (unbuilt) return reply.code(503).type('text/html; charset=utf-8').send(NOT_BUILT);
  return reply.code(404).type('text/plain; charset=utf-8').send('There is no such file.\n');
}

const MOST_REPORT_BYTES = 16_384;
const MOST_LINE = 500;
/** Reports of a minute that are logged: whoever sends more fills no disk. */
const MOST_A_MINUTE = 10;

/** What a browser did not let a page of ours do: of that the log tells, since it may be an attack. */
function takeReports(scope: FastifyInstance, log: Log, now: () => number): void {
  let [minute, logged] = [0, 0];
  scope.addContentTypeParser(
    ['application/csp-report', 'application/reports+json'],
    { parseAs: 'string', bodyLimit: MOST_REPORT_BYTES },
    (_request, body, done) => done(null, body),
  );
  scope.post('/ui/csp-report', { config: { name: 'cspReport' }, bodyLimit: MOST_REPORT_BYTES }, (request, reply) => {
    const current = Math.floor(now() / 60_000);
    if (current !== minute) [minute, logged] = [current, 0];
    if (logged++ < MOST_A_MINUTE) log.warn('a browser kept a page from something', { report: lineOf(request.body) });
    return reply.code(204).send();
  });
}

/** One line, and of bounded length: it comes from whoever wants to send one. */
function lineOf(body: unknown): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body ?? null);
  return text
    .slice(0, MOST_LINE)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ');
}
