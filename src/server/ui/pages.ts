import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../../engine/log.ts';
import { MAX_OPEN_BODY_BYTES } from '../http/body-reader.ts';
import { StaticFiles } from './static-files.ts';

export interface PagesOptions {
  /** The folder of the built pages; undefined: they are not built. */
  readonly folder: () => string | undefined;
  readonly log: Log;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** Only our own content, and never in a frame. */
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

/** Whether a request opens one of our pages. They are the same for everybody, so a link on another site may lead there. */
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

/** Serves the web UI. Its files are public, and show nothing before a login. */
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

const MOST_LINE = 500;
/** Reports that are logged in a minute, so that nobody can fill the disk. */
const MOST_A_MINUTE = 10;

/** Logs what the content security policy of a browser has blocked, since it may be an attack. */
function takeReports(scope: FastifyInstance, log: Log, now: () => number): void {
  let [minute, logged] = [0, 0];
  scope.addContentTypeParser(
    ['application/csp-report', 'application/reports+json'],
    { parseAs: 'string', bodyLimit: MAX_OPEN_BODY_BYTES },
    (_request, body, done) => done(null, body),
  );
  scope.post('/ui/csp-report', { config: { name: 'cspReport' }, bodyLimit: MAX_OPEN_BODY_BYTES }, (request, reply) => {
    const current = Math.floor(now() / 60_000);
    if (current !== minute) [minute, logged] = [current, 0];
    if (logged++ < MOST_A_MINUTE) log.warn('a browser blocked something on a page', { report: lineOf(request.body) });
    return reply.code(204).send();
  });
}

/** One line of bounded length: anybody may send a report. */
function lineOf(body: unknown): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body ?? null);
  return text
    .slice(0, MOST_LINE)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ');
}
