/** Attacks on the secrets by which callers come in. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Client } from 'pg';
import { hashOf } from '../../src/operate/secrets.ts';
import type { Route } from '../../src/protocol/route.ts';
import { ROUTES } from '../../src/protocol/routes.ts';
import { type Answer, messagesOf, type NodeScene } from '../support/node-scene.ts';
import { RawWorker } from '../support/raw-worker.ts';
import { RawHttpWorker } from './raw-http-worker.ts';
import { bytes, codeOf, DAY_MS, hire, STORES, target, until } from './scene.ts';

const ALL = Object.entries(ROUTES as Record<string, Route>);
const MINUTE_MS = 60_000;

/** Everything that a thief of the store has, as text. */
const DUMPS: Readonly<Record<keyof typeof STORES, (url: string) => Promise<string>>> = {
  sqlite: async (url) => {
    const file = url.slice('sqlite:'.length);
    return readFileSync(file, 'latin1') + readFileSync(`${file}-wal`, 'latin1');
  },
  postgres: async (url) => {
    const client = new Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query<{ name: string }>(
      `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
        WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')`,
    );
    const texts: string[] = [];
    for (const { name } of rows) {
      const all = await client.query<{ text: string }>(`SELECT row_to_json(x)::text AS text FROM ${name} x`);
      texts.push(...all.rows.map(({ text }) => text));
    }
    await client.end();
    return texts.join('\n');
  },
};

for (const store of ['sqlite', 'postgres'] as const) {
  test(`A1: who steals the store finds no secret in it, only what it was hashed to (${store})`, async (t) => {
    const url = await STORES[store]();
    const { node } = await target(t, { store: url });
    const { token } = await node.token('operator');
    const { secret } = await hire(node, 'box');
    const { code } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'new', code: true } });
    const caller = await node.call('createWorker', '/api/v1/workers', { body: { name: 'caller' } });
    const session = await node.call('registerWorker', '/workers/register', {
      token: caller.secret,
      body: { hostname: 'h', capabilities: ['echo'] },
    });
    const dump = await DUMPS[store](url);
    for (const text of [node.admin, token, secret, caller.secret, code, session.session_token]) {
      assert.ok(!dump.includes(text), text.slice(0, 12));
      assert.ok(!dump.includes(text.slice(12, 40)), 'no part of it either');
    }
    for (const text of [token, secret, caller.secret, code]) assert.ok(dump.includes(hashOf(text)), text.slice(0, 12));
    assert.ok(!dump.includes(hashOf(node.admin)));
    assert.equal((await node.ask('/api/v1/tasks', { token: hashOf(token) })).status, 401, 'a hash is no way in');
  });
}

test('A2: nothing in an answer tells a token that is nearly right from one that never was', async (t) => {
  const { node, set } = await target(t);
  const { token } = await node.token('read', '1m');
  const { secret } = await hire(node, 'box');
  const { code } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'new', code: true } });
  const flip = (text: string, at: number): string =>
    text.slice(0, at) + (text[at] === 'a' ? 'b' : 'a') + text.slice(at + 1);
  set(2 * MINUTE_MS);
  const bad = [
    ...[10, 25, token.length - 1].map((at) => flip(token, at)),
    ...[10, node.admin.length - 1].map((at) => flip(node.admin, at)),
    node.admin.toLowerCase().replace('lh_adm', 'LH_ADM'),
    `${secret}x`,
    code,
    token,
    'x',
  ];
  const answers = await Promise.all(
    bad.map(async (one) => {
      const { status, headers, body } = await node.ask('/api/v1/tasks', { token: one });
      const names = [...headers.keys()].filter((name) => name !== 'date').sort();
      return JSON.stringify([status, names, headers.get('content-length'), body]);
    }),
  );
  assert.equal(new Set(answers).size, 1, answers.join('\n'));
  assert.match(answers[0] as string, /^\[401/);
});

test('A3: there is no password to guess, and a code cannot be guessed by trying', async (t) => {
  const { node, log } = await target(t);
  const { code } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box', code: true } });
  for (const [name, { path, body }] of ALL) {
    assert.doesNotMatch(path, /password|session/i, name);
    if (body !== undefined) assert.doesNotMatch(JSON.stringify(body.def), /password/i, name);
  }
  for (const authorization of [
    `Basic ${Buffer.from(`admin:${node.admin}`).toString('base64')}`,
    `Digest username="admin"`,
    node.admin,
    `Bearer  ${node.admin}`,
    `Token ${node.admin}`,
  ]) {
    assert.equal((await node.ask('/api/v1/tasks', { token: null, headers: { authorization } })).status, 401);
  }
  const guesses = Array.from({ length: 300 }, (_, n) => `${code.slice(0, -3)}${String(n).padStart(3, '0')}`);
  const answers = await Promise.all(
    guesses
      .filter((guess) => guess !== code)
      .map((guess) => node.ask('/api/v1/workers/enrol', { token: null, body: { code: guess } })),
  );
  assert.deepEqual([...new Set(answers.map(codeOf))], ['401 UNAUTHENTICATED']);
  // A browser comes in by a link or a token, of 256 bits too; who guesses at them is held up besides.
  const { url } = await node.call('createLogin', '/api/v1/logins');
  const right = url.split('#code=')[1] as string;
  assert.match(right, /^lh_login_[\w-]{43}$/);
  const tries: string[] = [];
  for (const guess of guesses.slice(0, 20)) {
    const proof = tries.length % 2 === 0 ? { code: guess } : { token: `lh_adm_${guess}` };
    tries.push(codeOf(await node.ask('/ui/login', { token: null, body: proof })));
  }
  assert.deepEqual(tries, [...Array(10).fill('401 UNAUTHENTICATED'), ...Array(10).fill('429 TOO_MANY')]);
  const other = await node.ask('/ui/login', { token: null, body: { code: right } });
  assert.equal(other.status, 200, 'whoever has a code behind the same address is not locked out by it');
  assert.deepEqual(
    log.filter(({ message }) => message !== 'audit').map(({ message }) => message),
    [],
    'who guesses cannot fill the log',
  );
  assert.deepEqual(
    log.map(({ fields: { action, target: what, outcome } }) => [action, what, outcome].join(' ')),
    ['createWorker box 201', 'createLogin  201', 'login admin 200'],
    'the three lines are of who made the code and the link, and of who came in by it',
  );
  const { secret } = await node.call('enrolWorker', '/api/v1/workers/enrol', { token: null, body: { code } });
  assert.match(secret, /^lh_wrk_[\w-]{43}$/, '256 bits');
});

test('A4: a token in an address is refused by every route, and no line of the log has one, nor any query', async (t) => {
  const { node, log } = await target(t);
  const { token } = await node.token('read');
  const { secret } = await hire(node, 'box');
  for (const [name, { method, path, rpc = false }] of ALL) {
    for (const text of [node.admin, token, 'x']) {
      const asked = `${path.replace(/\{\w+\}/g, '999')}?token=${text}&limit=1`;
      // With a good header, so that the address is all that is wrong.
      const answer = await node.ask(asked, { method, ...(method === 'GET' ? {} : { body: {} }) });
      assert.equal(codeOf(answer), rpc ? '400 -32600' : '400 INVALID_INPUT', name);
      assert.ok(!JSON.stringify(answer.body).includes(text.slice(0, 20)) || text === 'x', name);
      assert.equal(
        (await node.ask(asked, { method, token: null, ...(method === 'GET' ? {} : { body: {} }) })).status,
        400,
      );
    }
  }
  for (const name of ['access_token', 'secret', 'code', 'key']) {
    assert.equal((await node.ask(`/api/v1/tasks?${name}=${token}`)).status, 400, name);
    assert.equal((await node.ask(`/api/v1/tasks?${name}=${token}`, { token: null })).status, 401, 'it is no way in');
  }
  const nowhere = await node.ask(`/nowhere?token=${token}`);
  assert.ok(!JSON.stringify(nowhere.body).includes(token));
  const upgrade =
    'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==';
  const ws = await bytes(t, node, `GET /ws/agent?token=${secret} HTTP/1.1\r\nHost: localhost\r\n${upgrade}`);
  assert.equal(ws.status, 400);
  // Something that is logged: the store fails while a request with a query is answered.
  t.mock.method(node.engine.store, 'taskList', () => Promise.reject(new Error('the disk is gone')));
  assert.equal((await node.ask('/api/v1/tasks?queue=secret-queue')).status, 500);
  const lines = log.map((line) => JSON.stringify(line));
  assert.ok(lines.some((line) => line.includes('a request failed')));
  for (const line of lines) {
    assert.doesNotMatch(line, /\?|secret-queue|lh_(adm|opr|read|wrk|code)_/, line);
  }
});

test('A5: a code is good once, for ten minutes, and gives a secret of its own; a revoked secret ends at once, with its leases', async (t) => {
  const { node, set } = await target(t, { leaseMs: 2000 });
  const make = async (name: string): Promise<string> =>
    (await node.call('createWorker', '/api/v1/workers', { body: { name, code: true } })).code;
  const enrol = (code: string) => node.ask('/api/v1/workers/enrol', { token: null, body: { code } });

  const code = await make('box');
  const race = await Promise.all(Array.from({ length: 8 }, () => enrol(code)));
  assert.deepEqual(
    race.map(({ status }) => status).toSorted((a, b) => a - b),
    [201, ...Array.from({ length: 7 }, () => 401)],
  );
  const late = await make('late');
  set(10 * MINUTE_MS + 1000);
  assert.equal(codeOf(await enrol(late)), '401 UNAUTHENTICATED');
  set(0);
  assert.equal((await node.ask('/api/v1/tasks', { token: await make('other') })).status, 401, 'a code is no token');

  const [{ body: enrolled }] = race.filter(({ status }) => status === 201) as [Answer];
  const { secret } = enrolled as { secret: string };
  const other = await hire(node, 'second');
  assert.notEqual(secret, other.secret);
  // Over HTTP first: it goes before it comes over a socket, for a name has one holder.
  const session = await node.call('registerWorker', '/workers/register', {
    token: secret,
    body: { hostname: 'h', capabilities: ['echo'] },
  });
  await node.call('beatWorker', `/workers/${session.worker_id}/heartbeat`, {
    token: null,
    headers: { 'x-session-token': session.session_token },
    body: { status: 'offline' },
  });
  const worker = await RawWorker.dial(node.service.address);
  await worker.enter({ name: 'box', secret });
  const { task, id } = await node.engine.push({ queue: 'q', handler: 'echo', maxAttempts: 5 });
  const lease = await worker.claimOne();
  assert.equal(lease.task, task);
  await node.call('removeWorker', '/api/v1/workers/box');
  const { code: closed } = await worker.closed;
  assert.equal(closed, 4401);
  const again = await RawWorker.dial(node.service.address);
  assert.equal((await again.refused({ name: 'box', secret })).code, 'UNAUTHENTICATED');
  for (const token of [secret, null]) {
    const done = await node.ask(`/steps/${id}/complete`, {
      token,
      headers: { 'x-session-token': session.session_token },
      body: { lease_token: `${lease.attempt}.${lease.token}`, status: 'completed' },
    });
    assert.equal(codeOf(done), '401 UNAUTHENTICATED');
  }
  const [next] = await other.worker.claim(1, 60_000);
  assert.deepEqual([next?.task, next?.attempt], [task, 2], 'another one has it when the lease has run out');
});

test('A6: while a secret is rotated both are good for as long as was said, and it is told who did it', async (t) => {
  const { node, set, log } = await target(t);
  const operator = await node.token('operator');
  const { worker, secret: old } = await hire(node, 'box');
  const rotate = (grace: string): Promise<{ secret: string }> =>
    node.call('rotateWorker', '/api/v1/workers/box/rotate', { body: { grace }, token: operator.token });
  const comesIn = async (secret: string): Promise<number> =>
    (await node.ask('/workers/register', { token: secret, body: { hostname: 'h', capabilities: ['echo'] } })).status;
  const { secret: next } = await rotate('1h');
  assert.deepEqual(
    [await comesIn(old), await comesIn(next)],
    [409, 409],
    'both are known, and the name has its worker',
  );
  assert.equal(await comesIn(`${next}x`), 401);
  await worker.quiet();
  set(61 * MINUTE_MS);
  assert.equal((await worker.closed).code, 4401, 'its hour is over');
  await until(async () => (await comesIn(old)) === 401);
  await until(async () => (await comesIn(next)) === 200);
  const { secret: last } = await rotate('0s');
  await until(async () => (await comesIn(next)) === 401);
  assert.equal(await comesIn(last), 200);

  const { id } = operator;
  const rotated = await node.call('rotateToken', `/api/v1/tokens/${id}/rotate`, { body: { grace: '1h' } });
  for (const token of [operator.token, rotated.token])
    assert.equal((await node.ask('/api/v1/tasks', { token })).status, 200);
  const told = log.filter(({ message }) => message === 'audit').map(({ fields }) => fields);
  const deeds = told.map(({ action, by, role, target: what, outcome }) => [action, by, role, what, outcome].join(' '));
  assert.ok(deeds.includes('createWorker admin admin box 201'), deeds.join('\n'));
  assert.equal(deeds.filter((deed) => deed === 'rotateWorker a operator operator box 201').length, 2);
  assert.ok(deeds.includes(`rotateToken admin admin ${id} 201`));
  assert.ok(!JSON.stringify(told).includes('lh_'), 'no secret is told');
});

/** Streams of everything that streams. */
async function streams(node: NodeScene, token: string): Promise<readonly Response[]> {
  const { id } = await node.engine.push({ queue: 'q', handler: 'h' });
  const paths = ['/api/v1/events?after=0', `/api/v1/tasks/${id}/logs?follow=1`];
  return Promise.all(paths.map((path) => fetch(node.url(path), { headers: { authorization: `Bearer ${token}` } })));
}

test('A45: every stream that lives by a token ends with it, and is not cut off for the token of somebody else', async (t) => {
  const { node } = await target(t);
  const { id, token } = await node.token('read');
  const other = (await node.call('createToken', '/api/v1/tokens', { body: { name: 'other', role: 'read' } })).token;
  const bad = await streams(node, token);
  const [good] = await streams(node, other);
  assert.ok(bad.every(({ status }) => status === 200));
  const heard = messagesOf(good as Response);
  await heard.next();
  const { worker } = await hire(node, 'box');
  const [secret] = (await node.call('listTokens', '/api/v1/tokens')).tokens.filter(
    (one: { kind: string }) => one.kind === 'secret',
  );
  await node.call('revokeToken', `/api/v1/tokens/${id}`);
  await node.call('revokeToken', `/api/v1/tokens/${secret.id}`);
  // A stream that is cut off has no good end.
  for (const response of bad) await assert.rejects(Array.fromAsync(messagesOf(response)));
  assert.equal((await worker.closed).code, 4401);
  assert.equal((await node.ask('/api/v1/tasks', { token })).status, 401);
  await node.engine.push({ queue: 'q', handler: 'h' });
  assert.equal((await heard.next()).done, false, 'the other one goes on');
  await heard.return(undefined);
});

test('A58: a token ends by the time of the server alone; when that is set, it is told, and workers keep what they have', async (t) => {
  const { node, set, log } = await target(t);
  const { token } = await node.token('read', '1h');
  const status = async (headers: Record<string, string> = {}): Promise<number> =>
    (await node.ask('/api/v1/tasks', { token, headers })).status;
  const { worker } = await hire(node, 'box');
  await node.call('rotateWorker', '/api/v1/workers/box/rotate', { body: { grace: '30d' } });
  const caller = await node.call('createWorker', '/api/v1/workers', { body: { name: 'caller' } });
  await node.call('rotateWorker', '/api/v1/workers/caller/rotate', { body: { grace: '30d' } });
  const session = await node.call('registerWorker', '/workers/register', {
    token: caller.secret,
    body: { hostname: 'h', capabilities: ['echo'] },
  });
  await node.engine.push({ queue: 'q', handler: 'echo' });
  const lease = await worker.claimOne();
  const longAgo = { date: 'Thu, 01 Jan 1970 00:00:00 GMT', 'x-request-time': '0' };
  assert.equal(await status(longAgo), 200);
  set(DAY_MS);
  await until(async () => (await status(longAgo)) === 401);
  assert.deepEqual(
    await worker.told('lease_renew', { leases: [{ task: lease.task, attempt: lease.attempt, token: lease.token }] }),
    ['held'],
  );
  const beat = await node.ask(`/workers/${session.worker_id}/heartbeat`, {
    token: null,
    headers: { 'x-session-token': session.session_token },
    body: { status: 'online' },
  });
  assert.equal(beat.status, 200, 'a session goes on');
  await until(() => log.some(({ message }) => message.startsWith('the clock of this host was set')));
  set(-DAY_MS);
  assert.equal((await node.call('createWorker', '/api/v1/workers', { body: { name: 'x' } })).name, 'x');
  assert.deepEqual(
    await worker.told('lease_renew', { leases: [{ task: lease.task, attempt: lease.attempt, token: lease.token }] }),
    ['held'],
  );
});

test('A6: a worker over plain HTTP whose secret was rotated goes on as the same incarnation with the new one', async (t) => {
  const { node } = await target(t);
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box' } });
  const before = await RawHttpWorker.join(node, { name: 'box', incarnation: 'one', secret });
  assert.deepEqual(await before.claim(), []);
  const { secret: next } = await node.call('rotateWorker', '/api/v1/workers/box/rotate', { body: { grace: '0s' } });
  const after = await RawHttpWorker.join(node, { name: 'box', incarnation: 'one', secret: next });
  await node.engine.push({ queue: 'q', handler: 'echo' });
  assert.equal((await after.claim()).length, 1);
});
