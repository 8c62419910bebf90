import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { NewWorker } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import type { PushRequest } from '../push/push.ts';
import { lookAround, oldestAge } from './overview.ts';

const STALE_MS = 30_000;

async function rig(t: TestContext) {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world, housekeeping: false });
  t.after(() => store.close());
  const engine = new Engine({ store, world });
  let workers = 0;
  const worker = (name: string, more: Partial<NewWorker> = {}): Promise<number> =>
    engine.workers.register({ name, incarnation: `i${++workers}`, slots: 2, ...more });
  const push = (count: number, more: Partial<PushRequest> = {}) =>
    engine.pushMany(Array.from({ length: count }, () => ({ queue: 'q', handler: 'h', ...more })));
  const look = () => lookAround(store, STALE_MS);
  return { world, store, engine, worker, push, look };
}

test('an empty store has nothing, and nothing waits', async (t) => {
  const { look } = await rig(t);
  const { workers, slots, tasks, held, oldestAgeMs } = await look();
  assert.deepEqual(workers, { online: 0, draining: 0, disabled: 0, offline: 0 });
  assert.deepEqual([slots, held, oldestAgeMs], [{ all: 0, busy: 0 }, [], 0]);
  assert.equal(
    Object.values(tasks).reduce((a, b) => a + b),
    0,
  );
});

test('workers are counted by state, and those that are gone once by name', async (t) => {
  const { world, engine, store, worker, look } = await rig(t);
  await worker('silent');
  await worker('twice');
  world.elapse(STALE_MS + 1);
  await worker('twice');
  await worker('here');
  const drains = await worker('drains');
  await engine.workers.beat({ worker: drains, state: 'draining' });
  const gone = await worker('gone');
  await engine.workers.beat({ worker: gone, state: 'offline' });
  await worker('off', { slots: 9 });
  await engine.workers.set({ name: 'off', enabled: false });
  assert.equal((await store.workerList()).length, 7);
  const { workers, slots } = await look();
  assert.deepEqual(workers, { online: 2, draining: 1, disabled: 1, offline: 2 });
  assert.deepEqual(slots, { all: 4, busy: 0 });
});

test('waiting tasks are explained by limits, placement, pauses and slots, all at once', async (t) => {
  const { world, engine, worker, push, look } = await rig(t);
  const w = await worker('w', { slots: 5 });
  await engine.limits.set('claude', { concurrent: 2 });
  await push(3, { queue: 'runs' });
  assert.equal((await engine.claim({ worker: w, max: 3, queues: ['runs'] })).length, 3);
  await push(31, { limits: ['claude'] });
  await push(9, { placement: { requires: ['gpu'] } });
  await push(4, { queue: 'held' });
  await engine.pause('held');
  world.elapse(5000);
  await push(6, { handler: 'other' });
  const { held, slots, tasks, oldestAgeMs } = await look();
  assert.deepEqual(
    held.map(({ text }) => text),
    [
      '29 on limit claude',
      '9 need tag gpu, which no worker has',
      '6 for a free slot',
      '4 in queue held, which is paused',
    ],
  );
  assert.deepEqual([slots, tasks.ready, tasks.running], [{ all: 5, busy: 3 }, 50, 3]);
  assert.equal(oldestAgeMs, 5000);
});

test('a long lane is counted by the counter of its queue, beside short ones', async (t) => {
  const { push, look } = await rig(t);
  await push(6000);
  await push(3, { placement: { requires: ['gpu'] } });
  await push(7, { queue: 'other' });
  const { held } = await look();
  assert.deepEqual(
    held.map(({ why, tasks }) => [why, tasks]),
    [['nobody', 6010]],
  );
});

test('the age of the oldest ready task can be read alone', async (t) => {
  const { world, store, push } = await rig(t);
  assert.equal(await oldestAge(store, 10), 0);
  await push(1);
  world.elapse(1500);
  await push(1, { handler: 'other' });
  assert.equal(await oldestAge(store, 10), 1500);
});
