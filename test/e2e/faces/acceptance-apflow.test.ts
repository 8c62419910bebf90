/**
 * apflow: what its own tests say of leadership, leases, cleanup and the registry of nodes (cases 1 to 6), and the
 * integration tests that it names and never had: a coordinator with two workers, a crash, a long task, a restart. Real processes and a
 * real Postgres; time is moved in the rows where a test would have to wait for it.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { type Node, openNode } from '../../../src/app/node.ts';
import { isEngineError } from '../../../src/core/errors.ts';
import { Election } from '../../../src/engine/duties/election.ts';
import { SILENT } from '../../../src/engine/log.ts';
import { EngineOperator } from '../../../src/operate/engine-operator.ts';
import type { DutyTenure, Grant } from '../../../src/store/store.ts';
import { VirtualWorld } from '../../../src/testing.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { ask, ClusterScene, clusterOf, reply, roleOf, type Shown, taskEnds, untilSo } from './cluster-scene.ts';

const TERM_MS = 30_000;
const LEASE_MS = 30_000;
/** For so long after the server has started, the reaper takes nothing back. */
const GRACE_MS = 1000;
/** Several processes and their children, on a host that may be busy. */
const TIMEOUT_MS = 600_000;
/** For nodes that should follow each other while a test waits. */
const SHORT = ['--leader-lease', '2s', '--leader-renew', '600ms', '--lease-duration', '3s'];

interface Ground {
  readonly node: Node;
  /** So much time passes for leases, terms and beats: their times move back instead of the clock forth. */
  readonly pass: (ms: number) => Promise<void>;
}

async function ground(t: TestContext): Promise<Ground> {
  const url = await freshDatabase('accept');
  const node = await openNode(`${url}&schema=a&pool=3`, { duties: false, leaseMs: GRACE_MS });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  t.after(async () => {
    await client.end();
    await node.close();
  });
  return {
    node,
    pass: async (ms) => {
      await client.query('UPDATE a.duty SET until = until - $1 WHERE until > 0', [ms]);
      await client.query('UPDATE a.task SET lease_until = lease_until - $1 WHERE lease_until IS NOT NULL', [ms]);
      await client.query('UPDATE a.cluster_node SET beat_at = beat_at - $1', [ms]);
    },
  };
}

const lead = ({ node }: Ground, holder: string): Promise<DutyTenure | undefined> =>
  node.engine.store.dutyTake({ name: 'leader', holder, ttlMs: TERM_MS });

test('D.3 1: the first node leads and the second is refused; renewals, stale leaders, releases and expiry go as they should', async (t) => {
  const here = await ground(t);
  const { store } = here.node.engine;
  const told = async () => (await new EngineOperator(here.node.engine).call('getCluster')).leader;
  const first = await lead(here, 'a/1');
  assert.ok(first, 'the first node wins');
  assert.equal(await lead(here, 'b/1'), undefined, 'the second is refused');
  assert.equal((await told())?.node, 'a');

  await here.pass(TERM_MS - 5000);
  assert.equal(await store.dutyRenew({ duty: first, ttlMs: TERM_MS }), true, 'a renewal extends');
  assert.ok(((await told())?.expiresInMs ?? 0) > TERM_MS - 5000);
  const forged = { name: 'leader', epoch: first.epoch + 1 };
  assert.equal(await store.dutyRenew({ duty: forged, ttlMs: TERM_MS }), false, 'a wrong token is refused');
  await store.dutyRelease({ duty: forged });
  assert.equal((await told())?.node, 'a', 'nor does a wrong token release');

  await here.pass(TERM_MS + 1000);
  assert.equal(await told(), undefined, 'an expired leader is reported as none');
  assert.equal(await store.dutyRenew({ duty: first, ttlMs: TERM_MS }), false, 'nor can it renew');
  const second = await lead(here, 'b/1');
  assert.equal(second?.epoch, first.epoch + 1, 'a stale leader is replaced, with a new epoch');
  await store.dutyRelease({ duty: second as DutyTenure });
  assert.equal(await told(), undefined);
  assert.ok(await lead(here, 'c/1'), 'a release lets another in');
});

test('D.3 1: of many nodes that try at once one leads, and empty ids are errors', async (t) => {
  const here = await ground(t);
  const all = await Promise.all(Array.from({ length: 20 }, (_, i) => lead(here, `n${i}/1`)));
  assert.equal(all.filter((term) => term !== undefined).length, 1);
  const scene = await ClusterScene.open(t);
  const { code, stdout } = await scene.command('up', '--name', '');
  assert.equal(code, 2);
  assert.match(stdout, /worker name.*"" is not/);
});

test('D.3 2: whether a node leads turns false by local time alone when its lease has passed', async (t) => {
  const { node } = await ground(t);
  const world = new VirtualWorld();
  const roster = { start: () => {}, stop: () => Promise.resolve() };
  const times = { leaseMs: TERM_MS, renewMs: TERM_MS / 3 };
  const { store } = node.engine;
  const election = new Election({ store, world, log: SILENT, holder: 'a/1', roster, ...times });
  assert.equal(await election.stand(), true);
  world.elapse(TERM_MS - 1001);
  assert.equal(election.leads, true);
  world.elapse(1);
  // Nothing was asked of the database, which still has it as the leader.
  assert.equal(election.leads, false);
  const { now, duties } = await store.dutyList();
  assert.ok(duties.some(({ name, holder, until }) => name === 'leader' && holder === 'a/1' && until > now));
  await election.resign();
});

test('D.3 3: auto leads if it can, else it works; leader fails to start; worker and observer never lead; who cannot renew is demoted', {
  timeout: TIMEOUT_MS,
}, async (t) => {
  const scene = await ClusterScene.open(t);
  const [first, worker, observer] = [
    scene.up('first', [...SHORT, '--no-worker']),
    scene.up('worker', [...SHORT, '--no-worker', '--role', 'worker']),
    scene.up('observer', [...SHORT, '--role', 'observer']),
  ];
  const address = await first.address();
  const watching = await observer.address();
  await worker.address();
  await untilSo(
    () => clusterOf(address),
    ({ leader, nodes }) => leader?.node === 'first' && nodes.length === 3,
  );
  const second = scene.up('second', [...SHORT, '--no-worker']);
  await second.address();
  assert.equal(await roleOf(address, 'second'), 'worker', 'auto works where another one leads');

  const third = scene.up('third', [...SHORT, '--role', 'leader']);
  assert.equal((await third.ended).code, 1, third.stdout);
  assert.match(third.stderr, /first at http:\/\/127\.0\.0\.1:\d+ leads this cluster already/);
  assert.match(third.stderr, /--role auto/);

  await t.test('an observer answers questions, refuses writes and runs nothing', async () => {
    const refused = await reply(watching, '/api/v1/tasks', { queue: 'echo', input: {} });
    assert.equal(refused.status, 403);
    assert.match(await refused.text(), /READ_ONLY/);
    const { id } = await ask<Shown>(address, '/api/v1/tasks', { queue: 'echo', input: {} });
    assert.equal((await ask<Shown>(watching, `/api/v1/tasks/${id}`)).state, 'ready');
    const { workers } = await ask<{ workers: readonly unknown[] }>(watching, '/api/v1/workers');
    assert.deepEqual(workers, [], 'it has brought no worker');
  });

  await t.test('a leader whose renewal is refused is demoted, and elected again later', async () => {
    const client = new pg.Client({ connectionString: scene.url });
    await client.connect();
    await client.query(
      "UPDATE leasehold.duty SET holder = 'usurper/1', epoch = epoch + 1, until = leasehold.now_ms() + 3000 WHERE name = 'leader'",
    );
    await client.end();
    await first.says(/this node leads no longer/);
    await untilSo(
      () => clusterOf(address),
      ({ leader }) => leader?.node === 'first' || leader?.node === 'second',
    );
  });

  await t.test('when the leader is killed the other candidate leads, and neither worker nor observer', async () => {
    const { leader } = await clusterOf(watching);
    const [victim, next] = leader?.node === 'first' ? [first, 'second'] : [second, 'first'];
    victim.child.kill('SIGKILL');
    const seen = await untilSo(
      () => clusterOf(watching),
      (cluster) => cluster.leader?.node === next,
    );
    const { epoch } = seen.leader as { epoch: number };
    assert.ok(epoch > (leader?.epoch ?? 0));
    await untilSo(
      () => clusterOf(watching),
      ({ duties }) => duties.length === 8 && duties.every(({ holder }) => holder === next),
    );
    assert.equal(await roleOf(watching, 'worker'), 'worker');
    assert.equal(await roleOf(watching, 'observer'), 'observer');
  });
});

test('D.3 3: the role of a node is overridden and given back while it runs', { timeout: TIMEOUT_MS }, async (t) => {
  const scene = await ClusterScene.open(t);
  const [one, two] = [scene.up('one', [...SHORT, '--slots', '1']), scene.up('two', [...SHORT, '--no-worker'])];
  const [a, b] = [await one.address(), await two.address()];
  await ask(b, '/api/v1/cluster/nodes/one', { role: 'observer' }, 'PATCH');
  await untilSo(
    () => clusterOf(b),
    ({ leader, nodes }) => leader?.node === 'two' && nodes[0]?.role === 'observer',
  );
  assert.equal((await reply(a, '/api/v1/tasks', { queue: 'echo', input: {} })).status, 403);
  const { id } = await ask<Shown>(b, '/api/v1/tasks', { queue: 'echo', input: {} });
  const status = await scene.command('cluster', 'status');
  assert.equal(status.code, 0);
  assert.match(status.stdout, /^one\thealthy\tobserver\tobserver \(started as auto\)\thttp/m);
  assert.match(status.stdout, /^two\thealthy\tleader\tauto\thttp/m);
  assert.equal((await ask<Shown>(b, `/api/v1/tasks/${id}`)).state, 'ready', 'an observer has no worker any more');
  const role = await scene.command('cluster', 'role', 'one', 'auto');
  assert.deepEqual(role, { code: 0, stdout: 'one has the role again that it was started with: auto.\n' });
  assert.equal((await taskEnds(b, id)).state, 'completed', 'its worker is back');
  const unknown = await scene.command('cluster', 'role', 'nobody', 'worker');
  assert.equal(unknown.code, 3);
  assert.match(unknown.stdout, /There are one, two\./);
  assert.equal((await scene.command('cluster', 'role', 'one', 'leader')).code, 0);
});

const claimOne = async ({ node }: Ground, worker: number, task: number): Promise<Grant | undefined> =>
  (await node.engine.claim({ worker, max: 1, task, leaseMs: LEASE_MS }))[0];

test('D.3 4: a lease has one holder, is renewed by it alone, and is replaced when it has expired', async (t) => {
  const here = await ground(t);
  const { engine, roster } = here.node;
  const [a, b] = [
    await engine.workers.register({ name: 'a', incarnation: 'a1', slots: 9 }),
    await engine.workers.register({ name: 'b', incarnation: 'b1', slots: 9 }),
  ];
  const retry = { baseMs: 0, jitter: 0 } as const;
  const { task } = await engine.push({ queue: 'work', handler: 'run', retry });
  const both = await Promise.all([a, b, a, b, a, b].map((worker) => claimOne(here, worker, task)));
  const winners = both.filter((grant) => grant !== undefined);
  assert.equal(winners.length, 1, 'of those who try at once one gets it');
  const lease = winners[0] as Grant;
  assert.equal(await claimOne(here, b, task), undefined, 'a second acquire is refused');
  assert.equal((await engine.renew(lease, LEASE_MS)).held, true);
  const wrong = { ...lease, attempt: lease.attempt + 1 };
  await assert.rejects(engine.release(wrong), (error) => isEngineError(error, 'LEASE_LOST'));
  assert.equal((await engine.get(task))?.state, 'running', 'a release with a wrong token has no effect');

  await here.pass(LEASE_MS + 1000);
  await untilSo(
    () => roster.tick('reaper'),
    (reaped) => reaped === 1,
  );
  assert.equal((await engine.renew(lease, LEASE_MS)).held, false, 'nor can it be renewed once that was acted on');
  const next = await claimOne(here, b, task);
  assert.equal(next?.attempt, lease.attempt + 1, 'an expired lease is replaced');
  await assert.rejects(engine.complete(lease, 1), (error) => isEngineError(error, 'LEASE_LOST'));
  await engine.complete(next as Grant, 2);
});

test('D.3 5: cleanup puts expired tasks back, tells of it, and leaves completed ones alone', async (t) => {
  const here = await ground(t);
  const { engine, roster } = here.node;
  const worker = await engine.workers.register({ name: 'a', incarnation: 'a1', slots: 9 });
  const push = async (): Promise<number> =>
    (await engine.push({ queue: 'work', handler: 'run', retry: { baseMs: 0, jitter: 0 } })).task;
  const [lost, done, kept] = [await push(), await push(), await push()];
  await claimOne(here, worker, lost);
  await engine.complete((await claimOne(here, worker, done)) as Grant, 'fine');
  await here.pass(LEASE_MS + 1000);
  await claimOne(here, worker, kept);
  await untilSo(
    () => roster.tick('reaper'),
    (reaped) => reaped === 1,
  );
  const states = await Promise.all([lost, done, kept].map(async (task) => (await engine.get(task))?.state));
  assert.deepEqual(states, ['ready', 'completed', 'running']);
  await roster.tick('feed');
  const told: [number, string][] = [];
  const { events } = await engine.store.eventRead({ after: 0, limit: 100 });
  for (const event of events) if (event.change === 'expired') told.push([event.task, event.change]);
  assert.deepEqual(told, [[lost, 'expired']], 'and which');
  assert.equal(await roster.tick('reaper'), 0);
});

test('D.3 6: a node registers once, is stale after 30 s and dead after 120 s, and nothing can be asked of one that is not there', async (t) => {
  const here = await ground(t);
  const { engine } = here.node;
  const { store } = engine;
  const operator = new EngineOperator(engine);
  const beat = (id: string) =>
    store.nodeBeat({ id, incarnation: `${id}1`, first: true, wish: 'auto', stand: 'worker' });
  await beat('a');
  await beat('a');
  const health = async () => (await operator.call('getCluster')).nodes.map(({ id, state }) => `${id} ${state}`);
  assert.deepEqual(await health(), ['a healthy']);
  await here.pass(31_000);
  await beat('b');
  assert.deepEqual(await health(), ['a stale', 'b healthy']);
  await here.pass(90_000);
  assert.deepEqual(await health(), ['a dead', 'b stale']);
  await beat('a');
  assert.deepEqual(await health(), ['a healthy', 'b stale']);
  await assert.rejects(operator.call('editNode', { params: { id: 'nobody' }, body: { role: 'worker' } }), (error) =>
    isEngineError(error, 'NOT_FOUND'),
  );
  // What executes is a worker here; a heartbeat of one that nobody knows says so.
  assert.deepEqual(await store.workerBeat({ beats: [{ worker: 4711 }] }), [false]);
});

test('13: a coordinator and two workers, end to end; a worker that crashes, a long task, a coordinator that restarts', {
  timeout: TIMEOUT_MS,
}, async (t) => {
  const scene = await ClusterScene.open(t);
  const coordinator = scene.up('coordinator', [...SHORT, '--no-worker', '--role', 'leader']);
  const address = await coordinator.address();
  const workers = { one: await scene.worker('one', [address]), two: await scene.worker('two', [address]) };
  const push = (input: object): Promise<Shown> => ask<Shown>(address, '/api/v1/tasks', { queue: 'echo', input });

  await t.test('coordinator and two workers, end to end', async () => {
    const pushed = await Promise.all(Array.from({ length: 12 }, (_, n) => push({ n, delay_ms: 300 })));
    const ended = await Promise.all(pushed.map(({ id }) => taskEnds(address, id)));
    assert.deepEqual(
      ended.map(({ state, attempt, result }) => [state, attempt, (result as { n: number }).n]),
      pushed.map((_, n) => ['completed', 1, n]),
    );
    assert.deepEqual(new Set(ended.map(({ worker }) => worker)), new Set(['one', 'two']), 'both had their share');
  });

  await t.test('worker crash during execution: its task runs again elsewhere, with the next attempt', async () => {
    const { id } = await push({ delay_ms: 2500 });
    const { worker: holder } = await untilSo(
      () => ask<Shown>(address, `/api/v1/tasks/${id}`),
      ({ state }) => state === 'running',
    );
    workers[holder as 'one' | 'two'].child.kill('SIGKILL');
    const { state, attempt, tries, worker } = await taskEnds(address, id);
    assert.deepEqual([state, attempt, tries, worker], ['completed', 2, 2, holder === 'one' ? 'two' : 'one']);
  });

  await t.test('long task with lease renewal: several leases long, and one attempt', async () => {
    const { id } = await push({ delay_ms: 10_000 });
    const { state, attempt, tries } = await taskEnds(address, id);
    assert.deepEqual([state, attempt, tries], ['completed', 1, 1]);
  });

  await t.test('coordinator restart recovery: what ran goes on, what waited is done', async () => {
    const running = await push({ delay_ms: 4000 });
    await untilSo(
      () => ask<Shown>(address, `/api/v1/tasks/${running.id}`),
      ({ state }) => state === 'running',
    );
    const waiting = await Promise.all(Array.from({ length: 4 }, (_, n) => push({ n })));
    coordinator.child.kill('SIGKILL');
    await coordinator.ended;
    const again = scene.up('coordinator', [...SHORT, '--no-worker', '--role', 'leader'], Number(new URL(address).port));
    assert.equal(await again.address(), address, 'it leads again at once: its predecessor was itself');
    for (const { id } of [running, ...waiting]) assert.equal((await taskEnds(address, id)).state, 'completed');
    const { leader } = await clusterOf(address);
    assert.equal(leader?.node, 'coordinator');
  });
});
