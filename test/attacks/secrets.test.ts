/** Attacks on how secrets travel: to whom a command sends its token, where links are printed, and how long a token counts. */
import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ROOT, run, temporaryFolder } from '../support/leasehold.ts';
import { hire, target, until } from './scene.ts';

const TOKEN = `lh_adm_${'t'.repeat(43)}`;

/** Somebody who answers as a node does, and what it was sent. */
async function canary(t: TestContext): Promise<{ url: string; heard: (string | undefined)[] }> {
  const heard: (string | undefined)[] = [];
  const server = createServer((request, answer) => {
    heard.push(request.headers.authorization);
    answer.setHeader('content-type', 'application/json');
    answer.end(request.url === '/healthz' ? '{"status":"ok"}' : '{"queues":[]}');
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard };
}

/** A folder somebody has prepared, as it comes with a repository or an archive. */
function prepared(t: TestContext, url: string, spoil: (folder: string, file: string) => void): string {
  const cwd = temporaryFolder(t);
  const folder = join(cwd, '.leasehold');
  const file = join(folder, 'node.json');
  mkdirSync(folder, { mode: 0o700 });
  writeFileSync(file, JSON.stringify({ url, pid: process.pid }), { mode: 0o600 });
  spoil(folder, file);
  return cwd;
}

test('A67: a command sends its token to no address that somebody else may have written into its folder', {
  timeout: 120_000,
}, async (t) => {
  const { url, heard } = await canary(t);
  const isRoot = process.getuid?.() === 0;
  const spoils: Readonly<Record<string, readonly [string, (folder: string, file: string) => void]>> = {
    'anybody may write to the folder': [url, (folder) => chmodSync(folder, 0o777)],
    'its group may write to the folder': [url, (folder) => chmodSync(folder, 0o770)],
    'anybody may write to the file': [url, (_, file) => chmodSync(file, 0o666)],
    'the address is elsewhere': ['http://192.0.2.1:7420', () => {}],
    'the address only looks like ours': ['http://127.0.0.1.example.org:7420', () => {}],
    ...(isRoot
      ? {
          'the folder is of another user': [url, (folder: string) => chownSync(folder, 12_345, 12_345)] as const,
          'the file is of another user': [url, (_: string, file: string) => chownSync(file, 12_345, 12_345)] as const,
        }
      : {}),
  };
  for (const [what, [at, spoil]] of Object.entries(spoils)) {
    for (const command of [['queues', 'list'], ['login']]) {
      const refused = run(t, command, { cwd: prepared(t, at, spoil), env: { LEASEHOLD_TOKEN: TOKEN } });
      const { code } = await refused.ended;
      assert.notEqual(code, 0, what);
      assert.match(refused.stderr, /no token is sent[^]*--server URL[^]*LEASEHOLD_TOKEN/, what);
      assert.doesNotMatch(refused.stderr, new RegExp(TOKEN));
    }
  }
  assert.deepEqual(heard, [], 'it was not even asked whether it is there');
  const own = run(t, ['queues', 'list'], { cwd: prepared(t, url, () => {}), env: { LEASEHOLD_TOKEN: TOKEN } });
  await own.ended;
  assert.deepEqual(heard.slice(0, 2), [undefined, `Bearer ${TOKEN}`], 'a folder of our own is believed');
});

test('A67: a node makes its folder one that others cannot write to, and its own commands find it', async (t) => {
  const cwd = temporaryFolder(t);
  mkdirSync(join(cwd, '.leasehold'));
  chmodSync(join(cwd, '.leasehold'), 0o777);
  const node = run(t, ['up', '--port', '0', '--no-worker'], { cwd });
  await node.says(/Web UI/);
  const listed = run(t, ['login'], { cwd });
  assert.equal((await listed.ended).code, 0, listed.stderr);
  assert.match(listed.stdout, /\/ui\/#code=lh_login_/);
});

test('A68: output that goes to a pipe or a log has no login link and no token', async (t) => {
  for (const args of [[], ['--json']]) {
    const node = run(t, ['up', '--port', '0', '--no-worker', ...args], { cwd: temporaryFolder(t) });
    await node.says(/\/ui\//);
    assert.doesNotMatch(node.stdout + node.stderr, /lh_(login|adm)_/);
  }
});

/** An option with a secret, or an address with a password. `--code` alone asks for one. */
const SECRET_ARGUMENT = /--(token|secret|code)[ =]["$A-Zl{]|postgres(ql)?:\/\/[\w$]+:[^@\s/]+@/;

test('A68: no help, hint, guide or page suggests a secret as an argument', () => {
  const files = [
    'README.md',
    'src/cli',
    'src/client',
    'src/operate',
    'src/core',
    'src/config',
    'src/store',
    'examples',
    'web/src',
    'docs/guides',
    'docs/reference',
  ].flatMap((path) =>
    path.endsWith('.md')
      ? [path]
      : readdirSync(join(ROOT, path), { recursive: true, encoding: 'utf8' })
          .filter((file) => /\.(md|ts|tsx)$/.test(file) && !file.endsWith('.test.ts'))
          .map((file) => `${path}/${file}`),
  );
  assert.ok(files.length > 100);
  const suggested = files.flatMap((file) =>
    readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      // The table of options names them; its rows say that the environment is better.
      .filter((line) => SECRET_ARGUMENT.test(line) && !/^\| `--(token|secret|code) /.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  assert.deepEqual(suggested, []);
});

test('A69: a wrong login of one locks out nobody else behind the same address', async (t) => {
  const { node } = await target(t);
  const login = (body: object) => node.ask('/ui/login', { token: null, body });
  const wrong = await Promise.all(Array.from({ length: 200 }, (_, i) => login({ code: `lh_login_${i}` })));
  assert.deepEqual(
    [...new Set(wrong.map(({ status }) => status))].toSorted((a, b) => a - b),
    [401, 429],
  );
  assert.ok(
    wrong.filter(({ status }) => status === 429).every(({ headers }) => Number(headers.get('retry-after')) > 0),
  );
  const { url } = await node.call('createLogin', '/api/v1/logins');
  assert.equal((await login({ code: url.split('#code=')[1] })).status, 200);
  assert.equal((await login({ token: (await node.token('read')).token })).status, 200);
  assert.equal((await login({ token: node.admin })).status, 200);
});

test('A70: an A2A call that waits ends with its token, and tells nothing more', async (t) => {
  const { node } = await target(t);
  const { id, token } = await node.token('operator');
  const other = (await node.call('createToken', '/api/v1/tokens', { body: { name: 'other', role: 'operator' } })).token;
  const call = (text: string) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: { message: { messageId: text, role: 'ROLE_USER', parts: [{ text }], metadata: { handler: 'echo' } } },
  });
  const waiting = node.ask('/a2a', { token, body: call('one') });
  const staying = node.ask('/a2a', { token: other, body: call('two') });
  const ready = async (): Promise<number> => (await node.ask('/api/v1/tasks')).body.tasks.length;
  await until(async () => (await ready()) === 2);
  const began = performance.now();
  await node.call('revokeToken', `/api/v1/tokens/${id}`);
  const { status, body } = await waiting;
  assert.equal(status, 401, JSON.stringify(body));
  assert.ok(performance.now() - began < 5000);
  // The other one is answered when its task is done.
  const { worker } = await hire(node, 'box');
  for (let i = 0; i < 2; i++) {
    const [held] = await worker.claim();
    assert.ok(held !== undefined);
    await worker.ask('task_complete', {
      lease: { task: held.task, attempt: held.attempt, token: held.token },
      result: '1',
    });
  }
  assert.equal((await staying).status, 200);
});

test('A70: an A2A stream ends with its token, though nothing happens in it', async (t) => {
  const { node } = await target(t);
  const streams = {
    SendStreamingMessage: { role: 'ROLE_USER', parts: [{ text: 'x' }] },
    'message/stream': { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'x' }] },
  };
  for (const [method, more] of Object.entries(streams)) {
    const made = await node.call('createToken', '/api/v1/tokens', { body: { name: method, role: 'operator' } });
    const message = { messageId: method.replace('/', '-'), metadata: { handler: 'echo' }, ...more };
    const answer = await fetch(node.url('/a2a'), {
      method: 'POST',
      headers: { authorization: `Bearer ${made.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { message } }),
    });
    assert.equal(answer.status, 200);
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    assert.match(new TextDecoder().decode((await reader.read()).value), /task/);
    await node.call('revokeToken', `/api/v1/tokens/${made.id}`);
    await assert.rejects(async () => {
      while (!(await reader.read()).done);
    }, 'it is cut off');
  }
});

test('A70: an A2A call of a browser that waits ends with the logout', async (t) => {
  const { node } = await target(t);
  for (const token of [node.admin, (await node.token('operator')).token]) {
    const { headers: given } = await node.ask('/ui/login', { token: null, body: { token } });
    const headers = { cookie: String(given.get('set-cookie')).split(';')[0] as string, 'x-leasehold-ui': '1' };
    const tasks = async (): Promise<number> => (await node.ask('/api/v1/tasks')).body.tasks.length;
    const before = await tasks();
    const message = { messageId: token, role: 'ROLE_USER', parts: [{ text: 'x' }], metadata: { handler: 'echo' } };
    const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } };
    const waiting = node.ask('/a2a', { token: null, headers, body });
    await until(async () => (await tasks()) === before + 1);
    assert.equal((await node.ask('/ui/logout', { token: null, headers, body: {} })).status, 200);
    assert.equal((await waiting).status, 401);
  }
});

test('A71: a token tells when it was last used, to about a minute, and a wrong one leaves no trace', async (t) => {
  const { node } = await target(t);
  const { id, token } = await node.token('read');
  const { id: idle } = await node.call('createToken', '/api/v1/tokens', { body: { name: 'idle', role: 'read' } });
  const list = async (): Promise<{ id: number; lastUsedAt?: number }[]> =>
    (await node.call('listTokens', '/api/v1/tokens')).tokens;
  assert.ok((await list()).every(({ lastUsedAt }) => lastUsedAt === undefined));
  const before = Date.now();
  await node.ask('/api/v1/tasks', { token });
  await node.ask('/api/v1/tasks', { token: `${token.slice(0, -1)}_` });
  await until(async () => (await list()).some((one) => one.id === id && one.lastUsedAt !== undefined));
  const seen = await list();
  assert.ok((seen.find((one) => one.id === id)?.lastUsedAt ?? 0) >= before - 1000);
  assert.equal(seen.find((one) => one.id === idle)?.lastUsedAt, undefined);
});
