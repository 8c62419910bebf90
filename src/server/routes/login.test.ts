/** How a browser comes in, what its cookie is good for, and how that ends. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Answer, type Ask, messagesOf, type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import type { ServeOptions } from '../../app/serve.ts';

const UI = { 'x-leasehold-ui': '1' };

/** A browser: it has a cookie and no token. */
class Browser {
  readonly #node: NodeScene;
  cookie = '';

  constructor(node: NodeScene) {
    this.#node = node;
  }

  async ask(path: string, { headers = {}, ...ask }: Omit<Ask, 'token'> = {}): Promise<Answer> {
    const cookie: Record<string, string> = this.cookie === '' ? {} : { cookie: `theme=dark; ${this.cookie}` };
    return this.#node.ask(path, { ...ask, token: null, headers: { ...cookie, ...headers } });
  }

  async login(proof: object): Promise<Answer> {
    const answer = await this.ask('/ui/login', { body: proof });
    if (answer.status === 200) this.cookie = String(answer.headers.get('set-cookie')).split(';')[0] ?? '';
    return answer;
  }
}

async function rig(t: TestContext, options: Partial<ServeOptions> = {}) {
  const node = await nodeScene(t, { samples: false, ...options });
  return { node, browser: new Browser(node) };
}

const codeIn = (url: string): string => url.split('#code=')[1] ?? '';

test('a login link lets a browser in once, with the role of who made it', async (t) => {
  const { node, browser } = await rig(t);
  const reader = await node.token('read');
  const { url, expiresAt } = await node.call('createLogin', '/api/v1/logins', { token: reader.token, body: {} });
  assert.ok(url.startsWith(`${node.service.address}/ui/#code=lh_login_`), url);
  assert.ok(expiresAt > Date.now() + 500_000 && expiresAt <= Date.now() + 600_000);
  const answer = await browser.login({ code: codeIn(url) });
  assert.deepEqual([answer.status, answer.body], [200, { name: 'a read', role: 'read' }]);
  assert.match(
    String(answer.headers.get('set-cookie')),
    /^leasehold_session=[\w.-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
  );
  const me = await browser.ask('/api/v1/me');
  assert.deepEqual([me.body.name, me.body.role], ['a read', 'read']);
  const again = await new Browser(node).login({ code: codeIn(url) });
  assert.deepEqual([again.status, again.body.error.code], [401, 'UNAUTHENTICATED']);
  assert.match(again.body.error.hint, /leasehold login/);
  assert.equal(again.headers.get('set-cookie'), null);
});

test('the link that a node prints lets whoever runs it in', async (t) => {
  const { node, browser } = await rig(t);
  assert.equal((await browser.login({ code: codeIn(node.service.loginLink()) })).body.role, 'admin');
  assert.equal((await browser.ask('/api/v1/tokens')).status, 200);
});

test('a token lets a browser in as whom it belongs to; the secret of a worker does not', async (t) => {
  const { node, browser } = await rig(t);
  const { token } = await node.token('operator');
  assert.deepEqual((await browser.login({ token })).body, { name: 'a operator', role: 'operator' });
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box' } });
  assert.equal((await browser.login({ token: secret })).status, 403);
  for (const proof of [{ token: 'wrong' }, { token: '' }, { code: 'wrong' }]) {
    assert.equal((await browser.login(proof)).status, 401, JSON.stringify(proof));
  }
  for (const proof of [{}, { token, code: 'x' }, { token: 7 }, { name: 'x' }]) {
    assert.equal((await browser.login(proof)).status, 400, JSON.stringify(proof));
  }
});

test('a cookie reads; what it changes, it changes with the header of our own pages alone', async (t) => {
  const { node, browser } = await rig(t);
  await browser.login({ token: node.admin });
  assert.equal((await browser.ask('/api/v1/queues')).status, 200);
  const push = { body: { queue: 'q' } };
  const bare = await browser.ask('/api/v1/tasks', push);
  assert.deepEqual([bare.status, bare.body.error.code], [403, 'FORBIDDEN']);
  assert.match(bare.body.error.message, /x-leasehold-ui/);
  for (const value of ['', '0', 'true', '1, 1']) {
    assert.equal((await browser.ask('/api/v1/tasks', { ...push, headers: { 'x-leasehold-ui': value } })).status, 403);
  }
  assert.equal((await browser.ask('/api/v1/tasks', { ...push, headers: UI })).status, 201);
  assert.equal(
    (await browser.ask('/api/v1/tasks', { ...push, headers: { ...UI, origin: 'https://evil.example' } })).status,
    403,
    'a page of another site has no use for the header',
  );
  assert.equal((await browser.ask('/api/v1/queues', { headers: { origin: 'https://evil.example' } })).status, 403);
  assert.equal((await node.call('getQueue', '/api/v1/queues/q')).ready, 1);
});

test('a token in the header counts for more than a cookie', async (t) => {
  const { node, browser } = await rig(t);
  await browser.login({ token: node.admin });
  const { token } = await node.token('read');
  const headers = { authorization: `Bearer ${token}` };
  assert.equal((await browser.ask('/api/v1/me', { headers })).body.role, 'read');
  assert.equal((await browser.ask('/api/v1/tokens', { headers })).status, 403);
  assert.equal((await browser.ask('/api/v1/me', { headers: { authorization: 'Bearer wrong' } })).status, 401);
});

test('a session ends with the token that it was begun with, streams too', async (t) => {
  const { node, browser } = await rig(t);
  const { id, token } = await node.token('operator');
  await browser.login({ token });
  const stream = await fetch(node.url('/api/v1/events'), { headers: { cookie: browser.cookie } });
  assert.equal(stream.status, 200);
  await node.call('revokeToken', `/api/v1/tokens/${id}`);
  await assert.rejects(Array.fromAsync(messagesOf(stream)), 'the stream is cut off');
  assert.equal((await browser.ask('/api/v1/me')).status, 401);
});

test('a logout ends the session here and in the browser', async (t) => {
  const { node, browser } = await rig(t);
  await browser.login({ token: node.admin });
  assert.equal((await browser.ask('/ui/logout', { body: {} })).status, 403);
  const out = await browser.ask('/ui/logout', { body: {}, headers: UI });
  assert.equal(out.status, 200);
  assert.match(String(out.headers.get('set-cookie')), /^leasehold_session=; Path=\/; Max-Age=0;/);
  assert.equal((await browser.ask('/api/v1/me')).status, 401, 'who kept the cookie has nothing of it');
  assert.equal((await node.ask('/ui/logout', { body: {}, headers: { cookie: 'leasehold_session=x' } })).status, 200);
});

test('where nobody needs to be let in, a bad cookie does no harm', async (t) => {
  const { node } = await rig(t);
  const browser = new Browser(node);
  browser.cookie = 'leasehold_session=bad.cookie';
  assert.equal((await browser.ask('/healthz')).status, 200);
  assert.equal((await browser.ask('/readyz')).status, 200);
  assert.equal((await browser.ask('/api/v1/me')).status, 401);
  assert.equal((await browser.login({ token: node.admin })).status, 200);
});

test('after ten failures of an address wrong guesses are held up for a while, and nobody else is', async (t) => {
  const { node, browser } = await rig(t);
  for (let i = 0; i < 10; i++) assert.equal((await browser.login({ token: `wrong ${i}` })).status, 401);
  const answer = await browser.login({ token: 'wrong' });
  assert.deepEqual([answer.status, answer.body.error.code], [429, 'TOO_MANY']);
  const { url } = await node.call('createLogin', '/api/v1/logins', { body: {} });
  assert.equal((await new Browser(node).login({ code: codeIn(url) })).status, 200);
  assert.equal((await new Browser(node).login({ token: node.admin })).status, 200);
  assert.ok(Number(answer.headers.get('retry-after')) > 30);
  assert.equal((await node.ask('/api/v1/me')).status, 200, 'who comes by a token is not held up');
});

test('who comes in is told in the log, without what it came in by', async (t) => {
  const told: string[] = [];
  const note = (message: string, fields?: object): void => void told.push(JSON.stringify([message, fields]));
  const { node, browser } = await rig(t, { log: { info: note, warn: note, error: note } });
  const { url } = await node.call('createLogin', '/api/v1/logins', { body: {} });
  await browser.login({ code: 'wrong' });
  await browser.login({ code: codeIn(url) });
  await browser.ask('/ui/logout', { body: {}, headers: UI });
  const audits = told.filter((line) => line.includes('"audit"'));
  assert.deepEqual(
    audits.map((line) => (JSON.parse(line) as [string, { action: string }])[1].action),
    ['createLogin', 'login', 'logout'],
  );
  for (const line of told)
    assert.ok(!line.includes(codeIn(url)) && !line.includes(browser.cookie.split('=')[1] ?? '-'));
});

test('behind something that does TLS the cookie is for TLS alone, and the link leads there', async (t) => {
  const { node, browser } = await rig(t, { publicUrl: 'https://tasks.example' });
  const { url } = await node.call('createLogin', '/api/v1/logins', { body: {} });
  assert.ok(url.startsWith('https://tasks.example/ui/#code='));
  const answer = await browser.login({ code: codeIn(url) });
  assert.match(String(answer.headers.get('set-cookie')), /; Secure$/);
});

test('me says who asks, and what the node is', async (t) => {
  const { node } = await rig(t);
  const me = await node.call('me', '/api/v1/me');
  assert.deepEqual([me.name, me.role], ['admin', 'admin']);
  const { startedAt, ...rest } = me.node;
  assert.deepEqual(rest, { version: '0.0.0-test', address: node.service.address, store: 'sqlite' });
  assert.ok(startedAt <= Date.now() && startedAt > Date.now() - 60_000);
  assert.ok(me.settings.leaseMs > 0 && me.settings.retentionMs > 0 && me.settings.workerStaleMs > 0);
});
