import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { GRACE_MS } from '../../core/placement/rank.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Grant, NewWorker, Store } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { type ClaimOptions, Engine } from '../engine.ts';
import type { PushRequest } from '../push/push.ts';
import { FLOOR, SCAN_MS } from './ready-lanes.ts';

interface Rig {
  readonly world: VirtualWorld;
  readonly store: Store;
  readonly engine: Engine;
  readonly worker: (name: string, more?: Partial<NewWorker>) => Promise<number>;
  readonly push: (more?: Partial<PushRequest>) => Promise<number>;
  readonly claim: (worker: number, options?: Partial<ClaimOptions>) => Promise<readonly Grant[]>;
}

async function rig(t: TestContext): Promise<Rig> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  t.after(() => store.close());
  const engine = new Engine({ store, world });
  let workers = 0;
  return {
    world,
    store,
    engine,
    worker: (name, more = {}) => engine.workers.register({ name, incarnation: `i${++workers}`, slots: 8, ...more }),
    push: async (more = {}) => (await engine.push({ queue: 'mail', handler: 'send', ...more })).task,
    claim: (worker, options = {}) => engine.claim({ worker, max: 1, ...options }),
  };
}

function follow<T>(promise: Promise<T>): () => T | undefined {
  let value: T | undefined;
  void promise.then((answer) => {
    value = answer;
  });
  return () => value;
}

const tasksOf = (grants: readonly Grant[] | undefined): readonly number[] => (grants ?? []).map(({ task }) => task);

test('a task goes only to a worker that its placement allows', async (t) => {
  const { worker, push, claim } = await rig(t);
  const [plain, gpu] = [await worker('plain'), await worker('gpu', { tags: ['gpu=nvidia', 'memory_gb=24'] })];
  const task = await push({ placement: { requires: ['gpu', 'memory_gb>=16'] } });
  const large = await push({ placement: { requires: ['memory_gb>=48'] } });
  const other = await push();
  assert.deepEqual(tasksOf(await claim(plain, { max: 9 })), [other]);
  assert.deepEqual(tasksOf(await claim(gpu, { max: 9 })), [task]);
  assert.ok(large > 0);
});

test('a tag that is given to a worker or taken away counts from its next claim on', async (t) => {
  const { engine, worker, push, claim } = await rig(t);
  const box = await worker('box');
  const task = await push({ placement: { credentials: ['discord'] } });
  assert.deepEqual(await claim(box), []);
  await engine.workers.set({ name: 'box', tags: ['credential:discord'] });
  assert.deepEqual(tasksOf(await claim(box)), [task]);
  await push({ placement: { credentials: ['discord'] } });
  await engine.workers.set({ name: 'box', tags: [] });
  assert.deepEqual(await claim(box), []);
});

test('a worker whose tags another process changed gets nothing by the old ones', async (t) => {
  const { store, worker, push, claim, world } = await rig(t);
  const box = await worker('box', { tags: ['own'] });
  await store.workerSet({ name: 'box', tags: ['gpu'] });
  const first = await push({ placement: { requires: ['gpu'] } });
  assert.deepEqual(tasksOf(await claim(box)), [first]);
  await push({ placement: { requires: ['gpu'] } });
  await store.workerSet({ name: 'box', tags: [] });
  assert.deepEqual(await claim(box), [], 'the claim went by what the worker was');
  assert.deepEqual(await claim(box), []);
  await store.workerSet({ name: 'box', tags: ['gpu'] });
  await world.advance(SCAN_MS);
  assert.equal((await claim(box)).length, 1);
});

test('only these workers, never those: never wins', async (t) => {
  const { worker, push, claim } = await rig(t);
  const [a, b, c] = [await worker('a'), await worker('b'), await worker('c')];
  const task = await push({ placement: { only: ['a', 'b'], never: ['b'] } });
  for (const one of [b, c]) assert.deepEqual(await claim(one), []);
  assert.deepEqual(tasksOf(await claim(a)), [task]);
});

test('a task keeps its placement when it comes back', async (t) => {
  const { engine, worker, push, claim, world } = await rig(t);
  const [plain, gpu] = [await worker('plain'), await worker('gpu', { tags: ['gpu'] })];
  await push({ placement: { requires: ['gpu'] }, retry: { baseMs: 0 } });
  const [grant] = await claim(gpu);
  await engine.fail(grant as Grant, 'no');
  await world.advance(10);
  assert.deepEqual(await claim(plain), []);
  assert.equal((await claim(gpu)).length, 1);
});

test('a worker has no more such tasks at once than their placement allows', async (t) => {
  const { engine, worker, push, claim, world } = await rig(t);
  const [a, b] = [await worker('a'), await worker('b')];
  for (let i = 0; i < 5; i++) await push({ placement: { maxPerWorker: 2 } });
  const held = await claim(a, { max: 9 });
  assert.equal(held.length, 2);
  assert.deepEqual(await claim(a, { max: 9 }), []);
  assert.equal((await claim(b, { max: 9 })).length, 2);
  await engine.complete(held[0] as Grant);
  await world.advance(SCAN_MS);
  assert.equal((await claim(a, { max: 9 })).length, 1);
});

test('of two idle workers the one with the higher priority gets everything, a thousand of a thousand', async (t) => {
  const { engine, worker, push, claim, world } = await rig(t);
  const [low, high] = [await worker('low', { priority: 1 }), await worker('high', { priority: 9 })];
  await engine.profiles.look();
  const got = { low: 0, high: 0 };
  const stop = new AbortController();
  const serve = async (who: 'low' | 'high', id: number): Promise<void> => {
    while (!stop.signal.aborted) {
      for (const grant of await claim(id, { waitMs: 60_000, signal: stop.signal })) {
        got[who]++;
        await engine.complete(grant);
      }
    }
  };
  const served = Promise.all([serve('low', low), serve('high', high)]);
  await world.settle();
  for (let i = 0; i < 1000; i++) {
    await push();
    await world.advance(i % 10);
  }
  assert.deepEqual(got, { low: 0, high: 1000 });
  stop.abort();
  await world.settle();
  await served;
});

test('when the better worker stalls, the other one starts after the grace', async (t) => {
  const { engine, worker, push, claim, world } = await rig(t);
  const low = await worker('low', { priority: 1 });
  await worker('high', { priority: 9 });
  await engine.profiles.look();
  const waiting = follow(claim(low, { waitMs: 60_000 }));
  await world.settle();
  const task = await push();
  await world.advance(GRACE_MS - 1);
  assert.equal(waiting(), undefined);
  await world.advance(101);
  assert.deepEqual(tasksOf(waiting()), [task]);
});

test('a better worker that is full is not waited for', async (t) => {
  const { engine, worker, push, claim, world } = await rig(t);
  const [low, high] = [await worker('low', { priority: 1 }), await worker('high', { priority: 9, slots: 1 })];
  await push();
  assert.equal((await claim(high)).length, 1);
  await engine.profiles.look();
  const task = await push();
  await world.settle();
  assert.deepEqual(tasksOf(await claim(low)), [task]);
});

test('a task with a preference takes any worker after the grace', async (t) => {
  const { engine, worker, push, claim, world } = await rig(t);
  const [spot, paid] = [await worker('spot', { tags: ['spot'] }), await worker('paid')];
  await engine.profiles.look();
  const placement = { prefer: [{ tag: 'spot', weight: 5 }] };
  const first = await push({ placement });
  assert.deepEqual(await claim(paid), []);
  assert.deepEqual(tasksOf(await claim(spot)), [first]);
  const second = await push({ placement });
  await world.advance(GRACE_MS);
  assert.deepEqual(tasksOf(await claim(paid)), [second]);
});

test('a task with an affinity goes to the worker that served its key last', async (t) => {
  const { engine, worker, push, claim, world } = await rig(t);
  const [a, b] = [await worker('a'), await worker('b')];
  const placement = { affinity: 'repo-7' };
  await push({ placement });
  const [grant] = await claim(b);
  await engine.complete(grant as Grant);
  await push({ placement });
  await world.advance(SCAN_MS);
  await push({ placement });
  await engine.profiles.look();
  await engine.readyLanes.refresh();
  const waiting = await claim(a, { max: 1 });
  assert.ok(waiting.length <= 1);
  assert.ok((await claim(b)).length === 1);
});

test('a more urgent task goes first, whatever its lane', async (t) => {
  const { worker, push, claim } = await rig(t);
  const box = await worker('box');
  const order: number[] = [];
  for (const [queue, priority] of [
    ['a', 0],
    ['b', 5],
    ['c', -3],
    ['d', 9],
    ['b', 1],
  ] as const) {
    order[priority + 3] = await push({ queue, priority });
  }
  const expected = order.filter((task) => task !== undefined).toReversed();
  const got: number[] = [];
  for (let i = 0; i < 5; i++) got.push(...tasksOf(await claim(box)));
  assert.deepEqual(got, expected);
});

test('one task in a few comes from the lane that has waited longest, so that nothing starves', async (t) => {
  const { engine, worker, claim } = await rig(t);
  const box = await worker('box');
  const request = (queue: string, priority: number, n: number): PushRequest[] =>
    Array.from({ length: n }, () => ({ queue, handler: 'h', priority }));
  await engine.pushMany([...request('urgent', 9, 400), ...request('lowly', -9, 40)]);
  const queues: string[] = [];
  for (let i = 0; i < 320; i++) {
    const [grant] = await claim(box);
    queues.push((grant as Grant).queue);
    await engine.complete(grant as Grant);
  }
  const lowly = queues.filter((queue) => queue === 'lowly').length;
  assert.ok(lowly >= 320 / (FLOOR + 2) && lowly <= 320 / (FLOOR - 2), `${lowly} of 320`);
});

test('two fairness keys share equally, though one has fifty placements and the other one', async (t) => {
  const { engine, worker, claim } = await rig(t);
  const box = await worker('box', { tags: Array.from({ length: 50 }, (_, i) => `t${i}`), slots: 100 });
  const requests: PushRequest[] = [];
  for (let i = 0; i < 400; i++) {
    requests.push({ queue: 'q', handler: 'h', fairness: 'many', placement: { requires: [`t${i % 50}`] } });
    requests.push({ queue: 'q', handler: 'h', fairness: 'one', input: 'one' });
  }
  await engine.pushMany(requests);
  let one = 0;
  for (let i = 0; i < 20; i++) {
    const grants = await claim(box, { max: 10 });
    assert.equal(grants.length, 10);
    one += grants.filter(({ payload }) => payload === '"one"').length;
    for (const grant of grants) await engine.complete(grant);
  }
  assert.ok(Math.abs(one - 100) <= 5, `${one} of 200`);
});

test('weights divide turns in proportion', async (t) => {
  const { engine, worker, claim } = await rig(t);
  const box = await worker('box', { slots: 100 });
  const requests: PushRequest[] = [];
  for (let i = 0; i < 300; i++) {
    requests.push({ queue: 'q', handler: 'h', fairness: { key: 'a', weight: 3 }, input: 'a' });
    requests.push({ queue: 'q', handler: 'h', fairness: { key: 'b', weight: 1 }, input: 'b' });
  }
  await engine.pushMany(requests);
  let a = 0;
  for (let i = 0; i < 25; i++) {
    for (const grant of await claim(box, { max: 8 })) {
      if (grant.payload === '"a"') a++;
      await engine.complete(grant);
    }
  }
  assert.ok(Math.abs(a - 150) <= 6, `${a} of 200`);
});

test('a blocked lane slows down no other, and goes on when a task ends', async (t) => {
  const { engine, worker, push, claim, world } = await rig(t);
  const box = await worker('box');
  await engine.limits.set('api', { concurrent: 1 });
  const [first, second] = [await push({ limits: ['api'] }), await push({ limits: ['api'] })];
  const other = await push({ queue: 'other' });
  assert.deepEqual(new Set(tasksOf(await claim(box, { max: 9 }))), new Set([first, other]));
  const waiting = follow(claim(box, { waitMs: 60_000 }));
  await world.settle();
  assert.equal(waiting(), undefined);
  await engine.complete({ task: first, attempt: 1, lane: (await engine.get(first))?.lane as number } as Grant);
  await world.settle();
  assert.deepEqual(tasksOf(waiting()), [second]);
});

test('room that another process gave back is found within a second', async (t) => {
  const { engine, store, worker, push, claim, world } = await rig(t);
  const box = await worker('box');
  await engine.limits.set('api', { concurrent: 1 });
  const [first, second] = [await push({ limits: ['api'] }), await push({ limits: ['api'] })];
  assert.deepEqual(tasksOf(await claim(box, { max: 9 })), [first]);
  const waiting = follow(claim(box, { waitMs: 60_000 }));
  await world.settle();
  await store.taskSettle({ items: [{ task: first, attempt: 1, to: 'completed', reason: 'none' }] });
  await world.advance(SCAN_MS + 1);
  assert.deepEqual(tasksOf(waiting()), [second]);
});

test('a rate lets the next one start when its time has come, and not before', async (t) => {
  const { engine, worker, push, claim, world } = await rig(t);
  const box = await worker('box');
  await engine.limits.set('api', { rate: { max: 6, window: '60s', burst: 1 } });
  const [first, second] = [await push({ limits: ['api'] }), await push({ limits: ['api'] })];
  assert.deepEqual(tasksOf(await claim(box, { max: 9 })), [first]);
  const waiting = follow(claim(box, { waitMs: 60_000 }));
  await world.settle();
  await world.advance(9990);
  assert.equal(waiting(), undefined);
  await world.advance(20);
  assert.deepEqual(tasksOf(waiting()), [second]);
});

test('raising a limit wakes waiting claims', async (t) => {
  const { engine, worker, push, claim, world } = await rig(t);
  const box = await worker('box');
  await engine.limits.set('api', { concurrent: 0 });
  const task = await push({ limits: ['api'] });
  const waiting = follow(claim(box, { waitMs: 60_000 }));
  await world.settle();
  assert.equal(waiting(), undefined);
  await engine.limits.set('api', { concurrent: 1 }, 'ann');
  await world.settle();
  assert.deepEqual(tasksOf(waiting()), [task]);
  assert.deepEqual(
    (await engine.limits.history('api')).map(({ by, limit }) => [by, limit?.concurrent]),
    [
      ['ann', 1],
      ['', 0],
    ],
  );
});

test('many lanes behind one limit take turns, and none is forgotten', async (t) => {
  const { engine, worker, claim, world } = await rig(t);
  const box = await worker('box', { slots: 100 });
  await engine.limits.set('api', { concurrent: 2 });
  const keys = Array.from({ length: 30 }, (_, i) => `k${i}`);
  await engine.pushMany(keys.map((key) => ({ queue: 'q', handler: 'h', limits: [{ name: 'api', key }], input: key })));
  const seen = new Set<string>();
  for (let i = 0; i < 40 && seen.size < 30; i++) {
    const grants = await claim(box, { max: 10, waitMs: 5000 });
    assert.ok(grants.length <= 2);
    for (const grant of grants) {
      seen.add(grant.payload);
      await engine.complete(grant);
    }
    await world.settle();
  }
  assert.equal(seen.size, 30);
});

test('of lanes behind one limit the most urgent goes first, and now and then the one that has waited longest', async (t) => {
  const { engine, worker, push, claim } = await rig(t);
  await engine.limits.set('gpu', { concurrent: 1 });
  const box = await worker('box');
  const behind = (priority: number): Promise<number> =>
    push({ limits: ['gpu'], priority, placement: { affinity: `a${priority}` } });
  const holding = await push({ limits: ['gpu'], placement: { affinity: 'holding' } });
  const [held] = await claim(box);
  assert.equal(held?.task, holding);
  const tasks = [await behind(1), await behind(5), await behind(3), await behind(9)];
  assert.deepEqual(await claim(box, { max: 9 }), []);
  const next = async (): Promise<Grant> => (await claim(box, { max: 9, waitMs: 5000 }))[0] as Grant;
  const order: number[] = [];
  for (let last = held as Grant; order.length < tasks.length; ) {
    await engine.complete(last);
    last = await next();
    order.push(tasks.indexOf(last.task));
    if (order.length === tasks.length) await engine.complete(last);
  }
  assert.deepEqual(order, [3, 1, 2, 0]);

  const urgent = (n: number): Promise<number> =>
    push({ limits: ['gpu'], priority: 9, placement: { affinity: `urgent ${n}` } });
  await urgent(0);
  let running = await next();
  const patient = await behind(1);
  let before = 0;
  for (; running.task !== patient && before < 3 * FLOOR; before++) {
    await urgent(before + 1);
    await claim(box, { max: 9 });
    await engine.complete(running);
    running = await next();
  }
  assert.ok(running.task === patient && before > 1 && before <= 2 * FLOOR, `after ${before}`);
});

test('a limit that does not exist is refused at the push, and so is a task that the limit refuses', async (t) => {
  const { engine, push } = await rig(t);
  assert.equal(await refusal(push({ limits: ['typo'] })), 'NOT_FOUND');
  await engine.limits.set('api', { concurrent: 1, strategy: 'refuse' });
  await push({ limits: ['api'] });
  assert.equal(await refusal(push({ limits: ['api'] })), 'LIMIT_REACHED');
  assert.equal(await refusal(push({ limits: [{ name: 'api', weight: 0 }] })), 'INVALID_INPUT');
  assert.equal(await refusal(push({ placement: { requires: ['>=3'] } })), 'INVALID_INPUT');
  assert.equal(await refusal(engine.limits.remove('typo')), 'NOT_FOUND');
});

test('a handler that must come back later pauses its key and no other', async (t) => {
  const { engine, worker, push, claim, world } = await rig(t);
  const box = await worker('box');
  await engine.limits.set('api', { rate: { max: 1000, window: '1s', burst: 100 } });
  const limits = (key: string) => [{ name: 'api', key }];
  const first = await push({ limits: limits('ann') });
  const [grant] = await claim(box);
  await engine.fail(grant as Grant, 'too many requests', { retryAfterMs: 30_000 });
  assert.equal((await engine.get(first))?.tries, 0);
  const [held, free] = [await push({ limits: limits('ann') }), await push({ limits: limits('bob') })];
  assert.deepEqual(tasksOf(await claim(box, { max: 9 })), [free]);
  const waiting = follow(claim(box, { waitMs: 60_000 }));
  await world.advance(29_000);
  assert.equal(waiting(), undefined);
  await world.advance(1100);
  assert.deepEqual(tasksOf(waiting()), [held]);
});
