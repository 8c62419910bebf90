import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Grant } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import type { PushRequest } from '../push/push.ts';
import { SCAN_MS } from './ready-lanes.ts';

// Claims that do not wait: what one of them misses, its worker has a poll later.

async function rig(t: TestContext, engines = 1) {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world, housekeeping: false });
  t.after(() => store.close());
  const sides = await Promise.all(
    Array.from({ length: engines }, async (_, i) => {
      const engine = new Engine({ store, world });
      const worker = await engine.workers.register({ name: `w${i}`, incarnation: `i${i}`, slots: 99 });
      return { engine, worker };
    }),
  );
  const [{ engine, worker }] = sides as [(typeof sides)[0]];
  return {
    world,
    store,
    engine,
    worker,
    sides,
    push: async (more: Partial<PushRequest> = {}) => (await engine.push({ queue: 'q', handler: 'h', ...more })).task,
    claim: async (max = 1) => engine.claim({ worker, max }),
  };
}

const tasksOf = (grants: readonly Grant[]): readonly number[] => grants.map(({ task }) => task);

test('a lane that another limit blocks leaves the room that it was let try to the next one, in the same claim', async (t) => {
  const { engine, push, claim } = await rig(t);
  await engine.limits.set('a', { concurrent: 1 });
  await engine.limits.set('b', { concurrent: 1 });
  await push({ handler: 'x', limits: ['a'] });
  await push({ handler: 'y', limits: ['b'] });
  const [x] = (await claim(2)) as [Grant, Grant];
  await push({ handler: 'both', limits: ['a', 'b'], priority: 9 });
  const next = await push({ handler: 'next', limits: ['a'] });
  assert.deepEqual(await claim(2), []);
  await engine.complete(x);
  assert.deepEqual(tasksOf(await claim()), [next]);
});

test('a lane that is empty by now leaves its room to the next one, in the same claim', async (t) => {
  const { engine, store, push, claim } = await rig(t);
  await engine.limits.set('a', { concurrent: 1 });
  await push({ handler: 'x', limits: ['a'] });
  const [x] = (await claim()) as [Grant];
  const gone = await push({ handler: 'gone', limits: ['a'], priority: 9 });
  const next = await push({ handler: 'next', limits: ['a'] });
  assert.deepEqual(await claim(2), []);
  // By another process, which this one does not hear of.
  await store.taskCancel({ tasks: [gone] });
  await engine.complete(x);
  assert.deepEqual(tasksOf(await claim()), [next]);
});

test('what a scan finds is for the claim that began it, though it knew of a lane and so did not wait', async (t) => {
  const { world, store, sides, push, claim } = await rig(t, 2);
  const [, other] = sides as [(typeof sides)[0], (typeof sides)[0]];
  await push({ handler: 'one' });
  await claim();
  const gone = await push({ handler: 'two' });
  await store.taskCancel({ tasks: [gone] });
  await world.advance(SCAN_MS / 2);
  const { task } = await other.engine.push({ queue: 'q', handler: 'three' });
  // The scan takes longer than the looks at what is known.
  const looked = Promise.withResolvers<void>();
  const [laneScan, taskClaim] = [store.laneScan.bind(store), store.taskClaim.bind(store)];
  store.laneScan = (params) => looked.promise.then(() => laneScan(params));
  store.taskClaim = (params) => taskClaim(params).finally(() => setImmediate(looked.resolve));
  assert.deepEqual(tasksOf(await claim()), [task]);
});

/** The same numbers each time. */
function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const LIMITS: readonly PushRequest['limits'][] = [
  [],
  [{ name: 'a', weight: 1 }],
  [{ name: 'a', weight: 2 }],
  ...['k1', 'k2', 'k3'].map((key) => [{ name: 'b', key }]),
  [{ name: 'b', key: 'k1' }, { name: 'a' }],
];

/** Claims, pushes and ends in an order of chance. Whenever a claim finds nothing, so does one that asks every lane there is. */
async function missed(t: TestContext, seed: number, engines: number): Promise<number> {
  const below = chance(seed);
  const { world, store, engine, sides } = await rig(t, engines);
  await engine.limits.set('a', { concurrent: 3 });
  await engine.limits.set('b', { concurrent: 4, perKey: 1 });
  const running: Grant[] = [];
  let count = 0;
  for (let step = 0; step < 120; step++) {
    const { engine: one, worker } = sides[below(engines)] as (typeof sides)[0];
    const what = below(20);
    if (what < 8) {
      const limits = LIMITS[below(LIMITS.length)];
      await one.push({ queue: 'q', handler: `h${below(2)}`, priority: below(3), limits });
    } else if (what < 15) {
      // Of what others do a process may hear with its next scan only.
      if (engines > 1) await world.advance(SCAN_MS / 2);
      const grants = await one.claim({ worker, max: 1 + below(3) });
      running.push(...grants);
      if (grants.length > 0) continue;
      const lanes = (await store.laneScan({ after: 0, limit: 100 })).map(({ id }) => ({ lane: id, max: 1 }));
      const [asked] = await store.taskClaim({ claims: [{ holder: worker, ttlMs: 1e6, max: 1, lanes }] });
      running.push(...(asked?.grants ?? []));
      count += asked?.grants.length ?? 0;
    } else if (running.length > 0) {
      const [grant] = running.splice(below(running.length), 1) as [Grant];
      await one.complete(grant);
    }
  }
  return count;
}

for (const engines of [1, 2]) {
  test(`a claim of ${engines === 1 ? 'the only process' : 'one of two processes'} finds nothing only where nothing could start`, async (t) => {
    for (let seed = 1; seed <= 8; seed++) assert.equal(await missed(t, seed, engines), 0, `seed ${seed}`);
  });
}
