import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import type { PushRequest } from '../push/push.ts';

async function rig(t: TestContext) {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world, housekeeping: false });
  t.after(() => store.close());
  const engine = new Engine({ store, world });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'w', slots: 99 });
  const push = (count: number, more: Partial<PushRequest> = {}) =>
    engine.pushMany(Array.from({ length: count }, () => ({ queue: 'q', handler: 'h', ...more })));
  const scale = async () => {
    const { runnable, running, blockedByLimit, oldestAgeMs, desired } = await engine.scale('q');
    return { runnable, running, blocked: blockedByLimit, age: oldestAgeMs, desired };
  };
  return { world, store, engine, worker, push, scale };
}

test('a queue could use one slot for each running and each ready task', async (t) => {
  const { world, engine, worker, push, scale } = await rig(t);
  await push(5);
  await engine.pushMany([{ queue: 'other', handler: 'h' }]);
  await push(2, { delay: '1h' });
  world.elapse(3000);
  await push(1, { priority: 9 });
  await engine.claim({ worker, max: 2, queues: ['q'] });
  assert.deepEqual(await scale(), { runnable: 4, running: 2, blocked: 0, age: 3000, desired: 6 });
  await engine.pause('q');
  assert.deepEqual(await scale(), { runnable: 0, running: 2, blocked: 0, age: 0, desired: 2 });
  assert.equal(await refusal(engine.scale('NO NAME')), 'INVALID_INPUT');
});

test('a queue that nobody has pushed to yet could use no slot', async (t) => {
  const { engine } = await rig(t);
  assert.deepEqual(await engine.scale('none'), {
    runnable: 0,
    running: 0,
    blockedByLimit: 0,
    oldestAgeMs: 0,
    desired: 0,
  });
  assert.deepEqual(await engine.queues(), [], 'asking makes no queue');
});

test('tasks that limits block are counted apart: by caps, by keys, by weight, by rate, by a pause', async (t) => {
  const { world, engine, worker, push, scale } = await rig(t);
  await engine.limits.set('all', { concurrent: 3 });
  await push(10, { limits: ['all'] });
  world.elapse(500);
  await push(4);
  assert.deepEqual(await scale(), { runnable: 7, running: 0, blocked: 7, age: 500, desired: 7 });
  await engine.claim({ worker, max: 2 });
  await engine.limits.set('all', { concurrent: 1 });
  const after = await scale();
  assert.equal(after.runnable + after.blocked, 12);
  await engine.limits.set('all', { concurrent: 0 });
  const shut = await scale();
  assert.deepEqual(
    [shut.runnable, shut.blocked, shut.age],
    [shut.runnable, 12 - shut.runnable, 0],
    'the old ones are held back',
  );
  await engine.limits.set('keys', { perKey: 2 });
  for (const key of ['a', 'b', 'c']) await push(5, { queue: 'q2', limits: [{ name: 'keys', key }] });
  const keys = await engine.scale('q2');
  assert.deepEqual([keys.runnable, keys.blockedByLimit], [6, 9]);
  await engine.store.counterPause({ name: 'keys', key: 'b', forMs: 60_000 });
  const paused = await engine.scale('q2');
  assert.deepEqual([paused.runnable, paused.blockedByLimit], [4, 11]);
  await engine.limits.set('heavy', { concurrent: 10 });
  await push(9, { queue: 'q3', limits: [{ name: 'heavy', weight: 4 }] });
  assert.equal((await engine.scale('q3')).runnable, 2);
  await engine.limits.set('slow', { rate: { max: 5, window: '1m', burst: 5 } });
  await push(9, { queue: 'q4', limits: ['slow'] });
  assert.equal((await engine.scale('q4')).runnable, 5);
});

test('lanes that share a limit share its room', async (t) => {
  const { engine, push } = await rig(t);
  await engine.limits.set('all', { concurrent: 4 });
  for (const handler of ['one', 'two', 'three']) await push(3, { handler, limits: ['all'] });
  const { runnable, blockedByLimit } = await engine.scale('q');
  assert.deepEqual([runnable, blockedByLimit], [4, 5]);
});

test('a backlog of a hundred thousand is counted exactly, whichever kind of lane is long, and read only in part', async (t) => {
  const { store, engine, push, scale } = await rig(t);
  await engine.limits.set('all', { concurrent: 7 });
  await push(100_000, { limits: ['all'] });
  await push(30);
  const depth = t.mock.method(store, 'laneDepth');
  const long = await scale();
  assert.deepEqual([long.runnable, long.blocked], [37, 99_993]);
  assert.ok(depth.mock.calls.every((call) => call.arguments[0].most <= 5000));
  await push(50_000, { queue: 'free' });
  await push(20, { queue: 'free', limits: ['all'] });
  const free = await engine.scale('free');
  assert.deepEqual([free.runnable, free.blockedByLimit], [50_007, 13]);
});
