/** The particulars of a worker over HTTP: its claims wait in requests of their own, and the node cannot call it. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type NodeScene, nodeScene, type Wire } from '../../../test/support/node-scene.ts';
import { TcpProxy } from '../../../test/support/tcp-proxy.ts';
import { realWorld } from '../../app/world.ts';
import { isEngineError } from '../../core/errors.ts';
import { SILENT } from '../../engine/log.ts';
import { newSecret } from '../../operate/secrets.ts';
import type { Assignment, Hello, Session } from '../../protocol/link.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { HttpLink } from './http-link.ts';

const FOLDER = tempFolder('http-session');
const HELLO: Hello = { name: 'a', incarnation: 'one', slots: 8, tags: [], handlers: ['echo'], queues: undefined };
const NEVER = new AbortController().signal;

async function openSession(t: TestContext, url: string, secret: string, hello: Partial<Hello> = {}): Promise<Session> {
  const session = await new HttpLink({ url, secret, world: realWorld(), log: SILENT }).open({ ...HELLO, ...hello });
  t.after(() => session.close());
  return session;
}

async function secretOf(node: NodeScene, name = 'a'): Promise<string> {
  return (await node.call('createWorker', '/api/v1/workers', { body: { name } })).secret as string;
}

const push = ({ engine }: Pick<NodeScene, 'engine'>, input: unknown = null) =>
  engine.push({ queue: 'work', handler: 'echo', input });

const claim = (session: Session, max = 1, waitMs = 0): Promise<readonly Assignment[]> =>
  session.claim({ max, waitMs, signal: NEVER });

/** A session that the worker "one" has, by requests of its own. */
async function joined(node: NodeScene): Promise<string> {
  const body = { name: 'a', incarnation: 'one', slots: 1, tags: [], handlers: ['echo'] };
  return (await node.call('joinWorker', '/workers/join', { body, token: await secretOf(node) })).session as string;
}

/** A claim waits for work. */
const isAwaited = ({ engine }: NodeScene): boolean => engine.readyLanes.waiters.awaited;

test('after a restart of its node a worker is back with its leases, and what it asked meanwhile is done once', async (t) => {
  const store = `sqlite:${join(FOLDER, 'restart.db')}`;
  const first = await nodeScene(t, { store });
  const { port } = new URL(first.service.address);
  const session = await openSession(t, first.service.address, await secretOf(first));
  for (let i = 0; i < 3; i++) await push(first, i);
  const [a, b, c] = (await claim(session, 3)) as [Assignment, Assignment, Assignment];
  const waiting = claim(session, 1, 60_000);
  while (!isAwaited(first)) await session.cancels();
  await first.service.close();
  // The node is down now.
  const asked = Promise.all([
    session.complete(a, { of: 'a' }),
    session.log(b, [{ seq: 1, at: 5, stream: 'stdout', text: 'said while nobody was there' }]),
    session.renew([b, c]),
  ]);
  const second = await nodeScene(t, { store, port: Number(port) });
  assert.deepEqual((await asked)[2], ['held', 'held']);
  await session.complete(b, { of: 'b' });
  await session.release(c);
  assert.equal((await waiting)[0]?.task, c.task, 'the claim that waited all the while has it again');
  assert.deepEqual(await Promise.all([a, b, c].map(async ({ task }) => (await second.engine.get(task))?.state)), [
    'completed',
    'completed',
    'running',
  ]);
  assert.equal((await second.engine.logs.read(b.task)).length, 1);
  assert.equal((await second.engine.workers.list()).length, 1);
});

test('a worker whose node has another secret after its restart enters again, the same, and goes on', async (t) => {
  const store = `sqlite:${join(FOLDER, 'upgrade.db')}`;
  const first = await nodeScene(t, { store });
  const { port } = new URL(first.service.address);
  const session = await openSession(t, first.service.address, await secretOf(first));
  await push(first);
  const [held] = (await claim(session)) as [Assignment];
  await first.service.close();
  // A store whose cluster had no secret when the lease was granted.
  const upgraded = { place: 'another', read: (): string => 'u'.repeat(43) };
  const db = new DatabaseSync(store.slice('sqlite:'.length));
  const key = (db.prepare("SELECT value FROM meta WHERE key = 'cluster_key'").get() as { value: string }).value;
  db.exec("DELETE FROM meta WHERE key = 'cluster_secret'");
  db.close();
  const oldKey = createHmac('sha256', key).update('leases').digest();
  const digest = createHmac('sha256', oldKey).update(`${held.task}/${held.attempt}/a/one`).digest();
  const proof = { task: held.task, attempt: held.attempt, token: digest.subarray(0, 16).toString('base64url') };
  const second = await nodeScene(t, { store, port: Number(port), secret: upgraded });
  await push(second, 'next');
  const [next] = (await claim(session, 1, 5000)) as [Assignment];
  assert.ok(next, 'it has a session again');
  const workers = await second.engine.workers.list();
  assert.deepEqual(
    workers.map(({ name, incarnation }) => [name, incarnation]),
    [['a', 'one']],
  );
  const body = { asked: [{ type: 'lease_renew', n: 1, leases: [proof] }] };
  const { secret } = await second.call('rotateWorker', '/api/v1/workers/a/rotate', { body: { grace: '1h' } });
  const hello = { name: 'a', incarnation: 'one', slots: 1, tags: [], handlers: ['echo'] };
  const again = await second.call('joinWorker', '/workers/join', { body: hello, token: secret as string });
  const headers = { 'x-session-token': again.session as string };
  const { answers } = await second.call('askNode', '/workers/one/ask', { body, token: null as never, headers });
  assert.deepEqual(answers[0].value, ['held'], 'a lease from before keeps its proof');
});

test('a network that is cut again and again costs no lease and no try', async (t) => {
  const node = await nodeScene(t);
  const proxy = await TcpProxy.before(node.service.address);
  t.after(() => proxy.close());
  const session = await openSession(t, proxy.address, await secretOf(node));
  const done = new Set<number>();
  for (let i = 0; i < 20; i++) await push(node, i);
  /** Somewhere on its way, there or back, or before or after that. */
  const cutDuring = async <T>(call: Promise<T>): Promise<T> => {
    await pause(Math.random() * 20);
    proxy.cut();
    return call;
  };
  while (done.size < 20) {
    for (const lease of await cutDuring(claim(session, 3, 1000))) {
      assert.equal(lease.tries, 1);
      assert.ok(!done.has(lease.task), 'a task that was completed came again');
      await cutDuring(session.complete(lease, lease.task));
      done.add(lease.task);
    }
  }
  assert.ok(proxy.count > 3, `${proxy.count} connections`);
  assert.equal((await node.engine.stats('work')).completed, 20);
});

test('what was granted in an answer that never arrived goes back with its try, and comes with the next claim', async (t) => {
  const node = await nodeScene(t, { leaseMs: 3000 });
  const proxy = await TcpProxy.before(node.service.address);
  t.after(() => proxy.close());
  const session = await openSession(t, proxy.address, await secretOf(node));
  const { task: kept } = await push(node);
  const [held] = (await claim(session)) as [Assignment];
  const waiting = claim(session, 1, 60_000);
  while (!isAwaited(node)) await session.cancels();
  // The answer is written, as far as the node can see.
  proxy.goDeaf();
  const { task } = await push(node);
  while ((await node.engine.get(task))?.state !== 'running') await new Promise(setImmediate);
  proxy.heal();
  // It notices the dead network when it sends a request.
  assert.deepEqual(await session.renew([held]), ['held']);
  const [again] = await waiting;
  assert.deepEqual([again?.task, again?.attempt, again?.tries], [task, 2, 1]);
  assert.equal((await node.engine.get(kept))?.state, 'running', 'what it has stays its own');
});

test('a claim that is stopped on its way is not begun, and the newer of two ends the older', async (t) => {
  const node = await nodeScene(t);
  const token = await joined(node);
  const post = (call: string, said: object): Promise<Wire> =>
    node.ask(`/workers/one/${call}`, { body: said, token: null, headers: { 'x-session-token': token } });
  const stopped = await post('ask', { asked: [{ type: 'claim_stop', n: 1, claim: 4 }] });
  assert.deepEqual(stopped.body, { answers: [{ type: 'ok', re: 1 }] });
  await push(node);
  const take = (n: number): Promise<Wire> => post('tasks', { n, max: 1, waitMs: 60_000, holding: held });
  let held: readonly unknown[] = [];
  assert.equal((await take(4)).status, 204);
  const [{ task, attempt, token: proof }] = (await take(5)).body;
  held = [{ task, attempt, token: proof }];
  const older = take(6);
  while (!isAwaited(node)) await new Promise(setImmediate);
  const newer = take(7);
  assert.equal((await older).status, 204);
  await push(node);
  assert.equal((await newer).body.length, 1);
});

test('questions are answered one by one: what is odd or too much is refused, or left for the next time', async (t) => {
  const node = await nodeScene(t);
  const token = await joined(node);
  const ask = (asked: readonly unknown[]): Promise<Wire> =>
    node.ask('/workers/one/ask', { body: { asked }, token: null, headers: { 'x-session-token': token } });
  const mixed = await ask([
    { type: 'cancels', n: 1 },
    { type: 'sing', n: 2 },
    { type: 'task_claim', n: 3, max: 1, waitMs: 0 },
    { type: 'heartbeat', n: 4, state: 'online' },
  ]);
  assert.deepEqual(
    mixed.body.answers.map(({ type, re, error }: Wire) => [re, error?.code ?? type]),
    [
      [1, 'ok'],
      [2, 'INVALID_INPUT'],
      [3, 'INVALID_INPUT'],
      [4, 'ok'],
    ],
  );
  const lease = { task: 1, attempt: 1, token: 'x' };
  const reads = await ask(Array.from({ length: 20 }, (_, i) => ({ type: 'journal', n: i + 1, lease })));
  assert.deepEqual(
    reads.body.answers.map(({ re, error }: Wire) => [re, error.code]),
    Array.from({ length: 8 }, (_, i) => [i + 1, 'LEASE_LOST']),
  );
  for (const bad of [[], Array.from({ length: 501 }, () => ({ type: 'cancels', n: 1 })), [{ type: 'cancels' }], [7]]) {
    assert.equal((await ask(bad)).status, 400);
  }
});

test('many reads at once are all answered, and a wish that no request holds is refused alone', async (t) => {
  const node = await nodeScene(t);
  const session = await openSession(t, node.service.address, await secretOf(node));
  await push(node);
  const [lease] = (await claim(session)) as [Assignment];
  const then = { go: 'on' } as const;
  await session.turn(lease, { entries: [{ key: 'k', kind: 'value', value: 1 }], then });
  const reads = await Promise.all(Array.from({ length: 30 }, () => session.journal(lease)));
  assert.ok(reads.every((found) => found[0]?.value === '1'));
  const spawn = (wish: object) => {
    const child = { queue: 'work', handler: 'echo', ...wish };
    return session.turn(lease, { entries: [{ key: 'c', kind: 'child', child }], then });
  };
  const huge = spawn({ unique: 'é'.repeat(3 * 1024 * 1024) });
  const odd = spawn({ colour: 'red' });
  await assert.rejects(huge, { code: 'TOO_LARGE' });
  await assert.rejects(odd, { code: 'INVALID_INPUT' });
  await session.complete(lease, 'x'.repeat(1_048_576 - 2));
});

test('who is not let in hears why, and a worker that is removed while it works is shut out for good', async (t) => {
  const node = await nodeScene(t);
  const url = node.service.address;
  const secret = await secretOf(node);
  const rejected = async (hello: Partial<Hello>, by = secret): Promise<string> => {
    const error = await openSession(t, url, by, hello).catch((reason: unknown) => reason);
    assert.ok(isEngineError(error), String(error));
    return error.code;
  };
  assert.equal(await rejected({}, newSecret('worker')), 'UNAUTHENTICATED');
  assert.equal(await rejected({}, node.admin), 'FORBIDDEN');
  assert.equal(await rejected({ name: 'b' }), 'FORBIDDEN');
  assert.equal(await rejected({ tags: ['gpu'] }), 'FORBIDDEN');
  assert.equal(await rejected({ slots: 0 }), 'INVALID_INPUT');
  const session = await openSession(t, url, secret);
  const waiting = claim(session, 1, 60_000);
  waiting.catch(() => {});
  await session.cancels();
  await node.call('removeWorker', '/api/v1/workers/a');
  const refused = async (): Promise<unknown> => {
    for (;;) await session.cancels();
  };
  await assert.rejects(refused(), { code: 'UNAUTHENTICATED' });
  assert.ok(isEngineError(await session.over, 'UNAUTHENTICATED'));
  await assert.rejects(waiting, { code: 'UNAUTHENTICATED' });
});

test('what stands in between and answers in its place is no node: it is asked again', async (t) => {
  const node = await nodeScene(t);
  let pages = 0;
  // A proxy whose node is being replaced.
  const between = createServer((_request, response) => {
    pages++;
    response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad Gateway</h1>');
  });
  await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve));
  const { port } = between.address() as AddressInfo;
  const secret = await secretOf(node);
  const opening = openSession(t, `http://127.0.0.1:${port}`, secret);
  while (pages < 3) await new Promise(setImmediate);
  await new Promise<void>((resolve) => {
    between.close(() => resolve());
    between.closeAllConnections();
  });
  const proxy = await TcpProxy.before(node.service.address, port);
  t.after(() => proxy.close());
  assert.deepEqual(await (await opening).cancels(), []);
});
