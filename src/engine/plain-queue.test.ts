import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { refusal } from '../store/conformance/kit/scene.ts';
import { openSqlite } from '../store/sqlite/open.ts';
import type { QueueStore } from '../store/store.ts';
import { storeContract, VirtualWorld } from '../testing.ts';
import { Roster } from './duties/roster.ts';
import { Engine } from './engine.ts';
import { wholeStore } from './plain-queue.ts';

/** Every verb that a plain queue needs, and no other. */
const VERBS = {
  laneIntern: true,
  laneGet: true,
  laneScan: true,
  laneDepth: true,
  specIntern: true,
  specGet: true,
  taskPush: true,
  taskClaim: true,
  taskSettle: true,
  taskReturn: true,
  leaseRenew: true,
  leaseCancels: true,
  leaseList: true,
  attemptWorkers: true,
  attemptList: true,
  logAppend: true,
  logRead: true,
  logSize: true,
  leaseOverdue: true,
  leaseReap: true,
  taskStage: true,
  taskExpire: true,
  taskGet: true,
  taskList: true,
  taskCancel: true,
  taskRevive: true,
  taskPrune: true,
  queueStats: true,
  queueList: true,
  queuePause: true,
  statsAudit: true,
  clock: true,
  workerRegister: true,
  workerFleet: true,
  workerBeat: true,
  workerList: true,
  workerReap: true,
  dutyTake: true,
  dutyRenew: true,
  dutyRelease: true,
  dutyList: true,
  eventRead: true,
  eventNumber: true,
  watch: true,
  close: true,
} as const satisfies Record<Exclude<keyof QueueStore, 'capabilities' | 'clusterKey'>, true>;

/** A store with these verbs only. */
async function plainStore(world: VirtualWorld): Promise<QueueStore> {
  const store = await openSqlite({ file: 'memory:', world });
  const verbs = Object.keys(VERBS) as (keyof typeof VERBS)[];
  const own = Object.fromEntries(verbs.map((verb) => [verb, (store[verb] as () => unknown).bind(store)]));
  const capabilities = { ...store.capabilities, name: 'plain', callerTransactions: false, whole: false };
  return { capabilities, clusterKey: store.clusterKey, ...own } as unknown as QueueStore;
}

storeContract({
  name: 'a plain queue',
  open: async ({ world }) => wholeStore(await plainStore(world as VirtualWorld)),
});

async function rig(t: TestContext) {
  const world = new VirtualWorld();
  const store = await plainStore(world);
  const engine = new Engine({ store, world });
  const roster = new Roster({ engine, holder: 'a' });
  t.after(async () => {
    await roster.stop();
    await store.close();
  });
  const worker = await engine.workers.register({
    name: 'w',
    incarnation: 'w',
    slots: 8,
    handlers: ['h'],
    schemas: [{ handler: 'h', schema: '{}' }],
  });
  const claim = async () => {
    const [grant] = await engine.claim({ worker, max: 1 });
    assert.ok(grant);
    return grant;
  };
  return { world, engine, roster, claim };
}

test('the engine pushes, claims, retries, completes, cancels, explains and prunes on a store that is a plain queue', async (t) => {
  const { world, engine, roster, claim } = await rig(t);
  const { task } = await engine.push({ queue: 'q', handler: 'h', input: 1, retry: { baseMs: 1000 }, unique: 'u' });
  assert.equal((await engine.push({ queue: 'q', handler: 'h', input: 1, unique: 'u' })).task, task);
  assert.equal(await engine.fail(await claim(), 'no'), 'scheduled');
  await world.advance(5000);
  await roster.tick('stager');
  const again = await claim();
  assert.deepEqual([again.task, again.attempt, again.tries], [task, 2, 2]);
  await engine.logs.append(again, [{ seq: 1, at: 1, stream: 'log', text: 'here' }]);
  assert.ok((await engine.renew(again)).held);
  const ended = engine.finished(task);
  await engine.complete(again, { done: true });
  assert.equal((await ended).result, '{"done":true}');
  const other = await engine.push({ queue: 'q', handler: 'h', delay: '1h' });
  assert.match((await engine.explain(other.task)).summary, /\S/);
  assert.equal(await engine.cancel(other.task), 'cancelled');
  await engine.retry(other.task);
  await claim();
  await world.advance(60_000);
  await roster.tick('reaper');
  assert.equal((await engine.get(other.task))?.state, 'ready');
  await world.advance(8 * 24 * 3_600_000);
  for (const duty of ['stager', 'reaper', 'cron', 'pruner', 'auditor', 'triggers'] as const) await roster.tick(duty);
  assert.equal(await engine.get(task), undefined, 'it was pruned');
});

test('parts that only a whole store has are refused by name, and change nothing', async (t) => {
  const { engine, claim } = await rig(t);
  await engine.push({ queue: 'q', handler: 'h' });
  const grant = await claim();
  for (const call of [
    () => engine.limits.set('l', { concurrent: 1 }),
    () => engine.turn(grant, { entries: [{ key: 'k', value: 1 }] }),
    () => engine.waits.signal('c', 1),
    () => engine.pushGraph([{ queue: 'q', handler: 'h' }]),
    () => engine.workers.set({ name: 'w', enabled: false }),
  ]) {
    const error = await (call() as Promise<unknown>).then(
      () => undefined,
      (reason: unknown) => reason as Error & { code: string },
    );
    assert.equal(error?.code, 'UNSUPPORTED');
    assert.match(
      error?.message ?? '',
      /A plain store cannot do this: it has no (limits|turns|signals|dependencies|settings of workers)\./,
    );
  }
  assert.equal(
    await refusal(engine.pushIn({ prepare: () => undefined }, [{ queue: 'q', handler: 'h' }])),
    'INVALID_INPUT',
  );
  await engine.complete(grant);
});
