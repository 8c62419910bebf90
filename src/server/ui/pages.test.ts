/** The web UI from outside: which file is sent to whom, and under which rules (attack A22; A16 is among the attacks). */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';

const folder = join(tempFolder('pages'), 'dist');
mkdirSync(join(folder, 'assets'), { recursive: true });
writeFileSync(join(folder, 'index.html'), '<!doctype html><title>Leasehold</title>');
writeFileSync(join(folder, 'assets', 'app-DkP3x9aQ.js'), 'export {}');
writeFileSync(join(folder, 'assets', 'app-DkP3x9aQ.js.gz'), 'zipped');
writeFileSync(join(folder, '..', 'secret.txt'), 'a secret');

const scene = (t: TestContext): Promise<NodeScene> => nodeScene(t, { pages: () => folder, samples: false });

test('the root leads to the pages, and a page needs no token', async (t) => {
  const { url } = await bound(t);
  for (const path of ['/', '/ui']) {
    const answer = await fetch(url(path), { redirect: 'manual' });
    assert.deepEqual([answer.status, answer.headers.get('location')], [302, '/ui/'], path);
  }
  const page = await fetch(url('/ui/queues?x=1'));
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
  assert.equal(page.headers.get('cache-control'), 'no-cache');
  assert.match(await page.text(), /Leasehold/);
  assert.equal((await fetch(url('/ui/'), { method: 'HEAD' })).status, 200);
});

test('an asset whose name says what is in it is kept for good, and sent small to who takes it', async (t) => {
  const { url } = await bound(t);
  const asset = url('/ui/assets/app-DkP3x9aQ.js');
  const plain = await fetch(asset, { headers: { 'accept-encoding': 'identity' } });
  assert.equal(plain.headers.get('cache-control'), 'public, max-age=31536000, immutable');
  assert.equal(plain.headers.get('content-type'), 'text/javascript; charset=utf-8');
  assert.equal(plain.headers.get('vary'), 'accept-encoding');
  assert.equal(await plain.text(), 'export {}');
  const small = await fetch(asset, { method: 'HEAD', headers: { 'accept-encoding': 'gzip' } });
  assert.equal(small.headers.get('content-encoding'), 'gzip');
  assert.equal((await fetch(url('/ui/assets/app-aaaaaaaa.js'))).status, 404);
});

test('no address leads out of the folder', async (t) => {
  const { host, port } = await bound(t);
  const ways = [
    '/ui/../secret.txt',
    '/ui/%2e%2e/secret.txt',
    '/ui/%2e%2e%2fsecret.txt',
    '/ui/..%2fsecret.txt',
    '/ui/..%5csecret.txt',
    '/ui/..\\secret.txt',
    '/ui/%252e%252e%252fsecret.txt',
    '/ui/assets/..%2f..%2fsecret.txt',
    '/ui//etc/passwd',
    '/ui/%00',
    '/ui/index.html%00.js',
    '/ui/assets/%c0%ae%c0%ae/secret.txt',
    '/ui/.%00./secret.txt',
    '/ui/%ff',
    `/ui${'/..'.repeat(20)}/etc/passwd`,
    `/ui/${'%2e%2e%2f'.repeat(20)}etc/passwd`,
  ];
  for (const way of ways) {
    const answer = await raw(host, port, way);
    assert.match(answer, /^HTTP\/1\.1 (200|400|404|301|302) /, way);
    assert.doesNotMatch(answer, /a secret|root:/, way);
    if (answer.startsWith('HTTP/1.1 200')) assert.match(answer, /<title>Leasehold/, way);
  }
});

test('a page may be opened from anywhere, and called from nowhere else', async (t) => {
  const { host, port } = await bound(t);
  // As it stands: fetch says some of these headers itself.
  const status = async (path: string, headers: Record<string, string>, method = 'GET'): Promise<number> =>
    Number((await raw(host, port, path, headers, method)).split(' ')[1]);
  const opened = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  assert.equal(await status('/ui/', opened), 200);
  assert.equal(await status('/', opened), 302);
  assert.equal(await status('/ui/', { ...opened, 'sec-fetch-dest': 'iframe' }), 403, 'in a frame');
  assert.equal(await status('/ui/', { ...opened, 'sec-fetch-mode': 'no-cors' }), 403, 'as a part of another page');
  assert.equal(await status('/ui/', { ...opened, origin: 'https://evil.example' }), 403);
  assert.equal(await status('/api/v1/me', opened), 403, 'what is no page');
  assert.equal(await status('/ui/login', opened, 'POST'), 403, 'a form');
  assert.equal(await status('/ui/', { host: 'evil.example' }), 421, 'under another name');
});

test('without a build the page says how to get one, and the rest goes on', async (t) => {
  const { url } = await nodeScene(t, { pages: () => undefined, samples: false }).then((node) => ({
    url: (path: string) => node.url(path),
  }));
  const page = await fetch(url('/ui/'));
  assert.equal(page.status, 503);
  assert.match(await page.text(), /npm run build:web/);
  assert.equal((await fetch(url('/healthz'))).status, 200);
});

test('what a browser reports is logged in lines of bounded length and number', async (t) => {
  const told: string[] = [];
  const log = {
    info: () => {},
    error: () => {},
    warn: (message: string, fields?: object) => void told.push(`${message} ${JSON.stringify(fields)}`),
  };
  const node = await nodeScene(t, { pages: () => folder, samples: false, log });
  const report = (body: string, type = 'application/csp-report'): Promise<Response> =>
    fetch(node.url('/ui/csp-report'), { method: 'POST', headers: { 'content-type': type }, body });
  assert.equal((await report('{"csp-report":{"blocked-uri":"inline"}}')).status, 204);
  assert.match(told[0] ?? '', /blocked-uri/);
  assert.equal((await report(`a\r\nb\u0007${'x'.repeat(3000)}`, 'application/reports+json')).status, 204);
  assert.ok((told[1] ?? '').length < 700);
  assert.doesNotMatch(told[1] ?? '', /\\r|\\n|\\u0007/);
  assert.equal((await report('x'.repeat(5000))).status, 413);
  for (let i = 0; i < 30; i++) await report('{}');
  assert.ok(told.length <= 20, `${told.length} lines`);
  assert.equal((await report('{}', 'text/plain')).status, 400);
  const foreign = await fetch(node.url('/api/v1/tasks'), {
    method: 'POST',
    headers: { authorization: `Bearer ${node.admin}`, 'content-type': 'application/csp-report' },
    body: '{"queue":"q"}',
  });
  assert.equal(foreign.status, 400, 'nobody else takes such a body');
});

async function bound(t: TestContext) {
  const node = await scene(t);
  const { hostname, port } = new URL(node.service.address);
  return {
    url: (path: string): string => node.url(path),
    host: hostname,
    port: Number(port),
  };
}

/** A request as it stands: a client would tidy up its address. */
async function raw(
  host: string,
  port: number,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  method = 'GET',
): Promise<string> {
  const socket = connect(port, host);
  const lines = Object.entries({ host: `${host}:${port}`, connection: 'close', ...headers });
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}
