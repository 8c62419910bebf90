import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { isEngineError } from '../core/errors.ts';
import { refusal } from '../store/conformance/kit/scene.ts';
import { Writer } from '../store/sqlite/file/writer.ts';
import { VirtualWorld } from '../testing.ts';
import { type Node, openNode } from './node.ts';

test('durations may be texts, and the pruner follows them', async (t) => {
  const world = new VirtualWorld();
  const node = await openNode('memory:', {
    world,
    duties: false,
    leaseMs: '45s',
    retentionMs: '7d',
  });
  t.after(() => node.close());
  const { engine, roster } = node;
  assert.deepEqual([engine.leaseMs, engine.retentionMs], [45_000, 7 * 86_400_000]);
  await engine.push({ queue: 'mail', handler: 'send' });
  await roster.tick('pruner');
  const { events, reset } = await engine.store.eventRead({ after: 0, limit: 10 });
  assert.deepEqual([events.length, reset], [1, false]);
});

test('workers beat at a third of a short lease, and get the run timeout', async (t) => {
  const terms = async (options: Parameters<typeof openNode>[1]): Promise<unknown> => {
    const node = await openNode('memory:', { duties: false, ...options });
    t.after(() => node.close());
    return node.terms;
  };
  assert.deepEqual(await terms({}), { heartbeatMs: 10_000, runTimeoutMs: undefined });
  assert.deepEqual(await terms({ heartbeatMs: '2s', taskTimeoutMs: '10m' }), {
    heartbeatMs: 2000,
    runTimeoutMs: 600_000,
  });
  assert.deepEqual(await terms({ leaseMs: '6s' }), { heartbeatMs: 2000, runTimeoutMs: undefined });
});

test('options that make no sense are refused, and the store is closed again', async (t) => {
  const close = t.mock.method(Writer.prototype, 'close');
  for (const [n, options] of [
    { leaseMs: Number.NaN },
    { leaseMs: 'soon' },
    { retentionMs: '7 days' },
    { retentionMs: 0 },
    { dutyMs: Number.NaN },
    { heartbeatMs: 'often' },
    { taskTimeoutMs: -1 },
  ].entries()) {
    assert.equal(await refusal(openNode('memory:', options)), 'INVALID_INPUT', JSON.stringify(options));
    assert.equal(close.mock.callCount(), n + 1, JSON.stringify(options));
  }
});

test('an unknown option is refused before anything is opened', async () => {
  await assert.rejects(openNode('nowhere:', { retention: '7d' } as never), (error) => {
    assert.ok(isEngineError(error, 'UNKNOWN_OPTION'));
    assert.match(error.hint ?? '', /leaseMs, retentionMs/);
    return true;
  });
  assert.equal(await refusal(openNode('memory:', null as never)), 'INVALID_INPUT');
});

test('waiting claims and followers learn at once that the node was closed', async () => {
  const world = new VirtualWorld();
  const node = await openNode('memory:', { world, duties: false });
  const { engine } = node;
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 1 });
  const heard: string[] = [];
  const hear = (who: string, waiting: Promise<unknown>): void =>
    void refusal(waiting).then((code) => heard.push(`${who} ${code}`));
  hear('claim', engine.claim({ worker, max: 1, waitMs: 60_000 }));
  hear(
    'reader',
    (async () => {
      for await (const item of engine.events()) assert.fail(item.kind);
    })(),
  );
  await world.settle();
  assert.deepEqual(heard, []);
  await node.close();
  await world.settle();
  assert.deepEqual(new Set(heard), new Set(['claim STORE_CLOSED', 'reader STORE_CLOSED']));
});

const CLUSTER = {
  role: 'auto',
  address: 'http://127.0.0.1:1',
  version: '0',
  leaderLeaseMs: 30_000,
  leaderRenewMs: 10_000,
  silence: { staleMs: 30_000, deadMs: 120_000 },
} as const;

/** Every duty that a SQLite store needs, in a process that reaches its files. */
const EVERY = ['stager', 'reaper', 'cron', 'pruner', 'auditor', 'triggers', 'artifacts'];

test('a program leaves the duties to the leader of a cluster while there is one, and holds them when there is none', async () => {
  const world = new VirtualWorld();
  const url = `memory:${randomUUID()}`;
  const program = await openNode(url, { world });
  await world.advance(2000);
  assert.deepEqual(program.roster.held(), EVERY);
  const node = await openNode(url, { world }, { id: 'n1', ...CLUSTER });
  assert.equal(node.cluster?.membership.leads, true);
  await world.advance(6000);
  assert.deepEqual([program.roster.held(), node.roster.held()], [[], EVERY]);
  await node.close();
  await world.advance(3000);
  assert.deepEqual(program.roster.held(), EVERY);
  await program.close();
  assert.deepEqual(world.waits, []);
});

test('of several nodes only the leader holds the duties, and the next one gets them when it resigns', async () => {
  const world = new VirtualWorld();
  const url = `memory:${randomUUID()}`;
  const nodes: Node[] = [];
  for (const id of ['n1', 'n2', 'n3']) nodes.push(await openNode(url, { world }, { id, ...CLUSTER }));
  await world.advance(60_000);
  const held = (): readonly (readonly string[])[] => nodes.map(({ roster }) => roster.held());
  assert.deepEqual(held(), [EVERY, [], []]);
  await nodes[0]?.cluster?.membership.resign();
  assert.deepEqual(held(), [[], [], []]);
  await world.advance(2000);
  assert.deepEqual(held().flat(), EVERY);
  assert.equal(held().filter((names) => names.length > 0).length, 1);
  assert.deepEqual(held()[0], [], 'who has resigned does not come back');
  for (const node of nodes) await node.close();
  assert.deepEqual(world.waits, []);
});

test('the terms of duties are never longer than that of the leader', async () => {
  const world = new VirtualWorld();
  const node = await openNode('memory:', { world }, { id: 'n1', ...CLUSTER, leaderLeaseMs: 3000, leaderRenewMs: 1000 });
  await world.advance(100);
  const { now, duties } = await node.engine.store.dutyList();
  assert.equal(duties.length, 1 + EVERY.length);
  for (const { name, until } of duties) assert.ok(until - now <= 3000, `${name}: ${until - now}`);
  await node.close();
});

test('a node that may not lead closes what it has opened', async (t) => {
  const world = new VirtualWorld();
  const url = `memory:${randomUUID()}`;
  const first = await openNode(url, { world }, { id: 'n1', ...CLUSTER });
  const close = t.mock.method(Writer.prototype, 'close');
  assert.equal(await refusal(openNode(url, { world }, { id: 'n2', ...CLUSTER, role: 'leader' })), 'CONFLICT');
  assert.equal(close.mock.callCount(), 1);
  const short = { id: 'n3', ...CLUSTER, leaderLeaseMs: 29_000 };
  assert.equal(await refusal(openNode(url, { world }, short)), 'INVALID_INPUT');
  assert.equal(close.mock.callCount(), 2);
  await first.close();
});
