import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Grant, NewClaim, Store } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { type ClaimOptions, Engine } from '../engine.ts';

interface Rig {
  readonly world: VirtualWorld;
  readonly store: Store;
  readonly engine: Engine;
  readonly worker: number;
  /** Every request that went to the store. */
  readonly asked: NewClaim[][];
  readonly claim: (options?: Partial<ClaimOptions>) => Promise<readonly Grant[]>;
  readonly push: (queue: string, handler?: string) => Promise<number>;
}

async function rig(t: TestContext): Promise<Rig> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  t.after(() => store.close());
  const asked: NewClaim[][] = [];
  const taskClaim = store.taskClaim.bind(store);
  store.taskClaim = (params) => {
    asked.push([...params.claims]);
    return taskClaim(params);
  };
  const engine = new Engine({ store, world });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 8 });
  return {
    world,
    store,
    engine,
    worker,
    asked,
    claim: (options = {}) => engine.claim({ worker, max: 1, ...options }),
    push: async (queue, handler = 'h') => (await engine.push({ queue, handler })).task,
  };
}

/** The value of a promise so far. */
function follow<T>(promise: Promise<T>): () => T | undefined {
  let value: T | undefined;
  void promise.then((answer) => {
    value = answer;
  });
  return () => value;
}

/** Turns the clock until the store gets this call the next time, and not a millisecond more. */
async function untilAsked({ store, world }: Rig, verb: 'laneScan' | 'queueList' | 'workerFleet'): Promise<void> {
  let times = 0;
  const original = store[verb].bind(store) as (...args: never[]) => unknown;
  Object.assign(store, {
    [verb]: (...args: never[]) => {
      times++;
      return original(...args);
    },
  });
  for (let ms = 0; times === 0; ms++) {
    assert.ok(ms < 10_000, `${verb} was not asked`);
    await world.advance(1);
  }
  Object.assign(store, { [verb]: original });
  await world.settle();
}

const tasksOf = (grants: readonly Grant[] | undefined): readonly number[] => (grants ?? []).map(({ task }) => task);

test('a claim answers at once with what there is, with the names of queue and handler', async (t) => {
  const { claim, push } = await rig(t);
  const task = await push('mail', 'send');
  const [grant] = await claim();
  assert.ok(grant);
  assert.deepEqual([grant.task, grant.queue, grant.handler, grant.attempt], [task, 'mail', 'send', 1]);
});

test('a claim without a wait answers at once with nothing, and does not call the store', async (t) => {
  const { claim, asked, world } = await rig(t);
  assert.deepEqual(await claim(), []);
  assert.deepEqual(asked, []);
  assert.deepEqual(world.waits, []);
});

test('a claim takes only from the queues and the handlers that it names', async (t) => {
  const { claim, push } = await rig(t);
  await push('mail', 'send');
  const wanted = await push('mail', 'sort');
  const other = await push('post', 'sort');
  assert.deepEqual(tasksOf(await claim({ max: 9, queues: ['mail'], handlers: ['sort'] })), [wanted]);
  assert.deepEqual(await claim({ max: 9, queues: ['mail'], handlers: ['sort'] }), []);
  assert.deepEqual(tasksOf(await claim({ max: 9, queues: ['post'] })), [other]);
  assert.deepEqual(await claim({ max: 9, queues: [] }), []);
});

test('a waiting claim is woken by a push of the same process, without any time passing', async (t) => {
  const { claim, push, world } = await rig(t);
  const waiting = follow(claim({ waitMs: 60_000 }));
  await world.settle();
  assert.equal(waiting(), undefined);
  const task = await push('mail');
  await world.settle();
  assert.deepEqual(tasksOf(waiting()), [task]);
  assert.deepEqual(world.waits, [], 'a timer was left');
});

test('a push that comes while the claim is looking is not missed', async (t) => {
  const { claim, push, world } = await rig(t);
  const waiting = follow(claim({ waitMs: 60_000 }));
  const pushed = push('mail');
  await world.settle();
  assert.deepEqual(tasksOf(waiting()), [await pushed]);
});

test('a release, a retry, a revival and a resume of the same process wake a waiting claim', async (t) => {
  const { claim, push, engine, world } = await rig(t);
  const task = await push('mail');
  const wakes: ((grant: Grant) => Promise<unknown>)[] = [
    (grant) => engine.release(grant),
    (grant) => engine.fail(grant, 'no', { retryAfterMs: 0 }),
    async (grant) => {
      await engine.complete(grant);
      await engine.retry(task);
    },
  ];
  let [grant] = await claim();
  for (const wake of wakes) {
    const waiting = follow(claim({ waitMs: 60_000 }));
    await world.settle();
    assert.ok(grant);
    await wake(grant);
    await world.settle();
    assert.deepEqual(tasksOf(waiting()), [task]);
    [grant] = waiting() ?? [];
  }
  await engine.pause('mail');
  await engine.release(grant as Grant);
  const paused = follow(claim({ waitMs: 60_000 }));
  await world.advance(5000);
  assert.equal(paused(), undefined);
  await engine.resume('mail');
  await world.settle();
  assert.deepEqual(tasksOf(paused()), [task]);
});

test('a waiting claim finds what another process pushed within little more than a second', async (t) => {
  const { claim, store, engine, world } = await rig(t);
  const waiting = follow(claim({ waitMs: 60_000 }));
  await world.advance(3000);
  const other = new Engine({ store, world });
  const { task } = await other.push({ queue: 'mail', handler: 'h' });
  await world.advance(1300);
  assert.deepEqual(tasksOf(waiting()), [task]);
  assert.equal(engine.waiting, false);
});

test('with a hint it finds it without any time passing', async (t) => {
  const { claim, store, engine, world } = await rig(t);
  const waiting = follow(claim({ waitMs: 60_000 }));
  await world.advance(3000);
  assert.equal(engine.waiting, true);
  const other = new Engine({ store, world });
  const { task } = await other.push({ queue: 'mail', handler: 'h' });
  engine.hint();
  await world.settle();
  assert.deepEqual(tasksOf(waiting()), [task]);
});

test('a claim that finds nothing in its time answers with nothing, and leaves no timer', async (t) => {
  const { claim, world } = await rig(t);
  const waiting = follow(claim({ waitMs: 10_000 }));
  await world.advance(9_999);
  assert.equal(waiting(), undefined);
  await world.advance(1);
  assert.deepEqual(waiting(), []);
  assert.deepEqual(world.waits, []);
});

test('an abort ends the wait at once with nothing', async (t) => {
  const { claim, world, engine } = await rig(t);
  const control = new AbortController();
  const waiting = follow(claim({ waitMs: 60_000, signal: control.signal }));
  await world.advance(100);
  control.abort();
  await world.settle();
  assert.deepEqual(waiting(), []);
  assert.deepEqual(world.waits, []);
  assert.equal(engine.waiting, false);
  assert.deepEqual(await claim({ waitMs: 60_000, signal: control.signal }), []);
});

test('a claim that fails leaves no timer behind', async (t) => {
  const { claim, push, store, world } = await rig(t);
  await push('mail');
  await store.close();
  assert.equal(await refusal(claim({ waitMs: 60_000 })), 'STORE_CLOSED');
  assert.deepEqual(world.waits, []);
});

test('a waiting claim with an operation id gets the tasks that come later, and a repeat gets them again', async (t) => {
  const { claim, push, world } = await rig(t);
  const waiting = follow(claim({ waitMs: 60_000, op: 'op-1' }));
  await world.advance(5000);
  assert.equal(waiting(), undefined);
  const task = await push('mail');
  await world.settle();
  assert.deepEqual(tasksOf(waiting()), [task]);
  await push('mail');
  assert.deepEqual(tasksOf(await claim({ op: 'op-1' })), [task]);
});

test('several lanes share a claim equally, and the share of a short lane goes to longer ones', async (t) => {
  const { claim, push, asked } = await rig(t);
  for (let n = 0; n < 10; n++) await push('full');
  for (let n = 0; n < 10; n++) await push('also-full');
  await push('nearly-empty');
  const grants = await claim({ max: 12 });
  const count = (queue: string): number => grants.filter((grant) => grant.queue === queue).length;
  assert.equal(grants.length, 12);
  assert.equal(count('nearly-empty'), 1);
  assert.ok(Math.abs(count('full') - count('also-full')) <= 3, `${count('full')} and ${count('also-full')}`);
  assert.equal(asked.length, 2);
  assert.deepEqual(
    asked[0]?.[0]?.lanes.map(({ max }) => max),
    [4, 4, 4],
  );
  assert.deepEqual(
    asked[1]?.[0]?.lanes.map(({ max }) => max),
    [2, 2],
  );
});

test('a single lane is asked once for all tasks', async (t) => {
  const { claim, push, asked } = await rig(t);
  for (let n = 0; n < 30; n++) await push('mail');
  assert.equal((await claim({ max: 20 })).length, 20);
  assert.deepEqual(
    asked.map(([request]) => request?.lanes.map(({ max }) => max)),
    [[20]],
  );
});

test('a lane that came back empty is not asked again', async (t) => {
  const { claim, push, asked } = await rig(t);
  await push('mail');
  await claim({ max: 5 });
  assert.deepEqual(await claim({ max: 5 }), []);
  assert.equal(asked.length, 1);
});

test('claims for one task each serve the lanes in turn', async (t) => {
  const { claim, push } = await rig(t);
  for (const queue of ['a', 'b', 'c']) for (let n = 0; n < 3; n++) await push(queue);
  const order: string[] = [];
  for (let n = 0; n < 9; n++) order.push((await claim())[0]?.queue ?? '');
  assert.deepEqual(order, ['a', 'b', 'c', 'a', 'b', 'c', 'a', 'b', 'c']);
});

test('claims of one turn go to the store together and share the tasks out', async (t) => {
  const { engine, claim, push, asked } = await rig(t);
  const other = await engine.workers.register({ name: 'o', incarnation: 'o', slots: 8 });
  const tasks: number[] = [];
  for (let n = 0; n < 10; n++) tasks.push(await push('mail'));
  const answers = await Promise.all([claim({ max: 3 }), claim({ max: 3 }), claim({ worker: other, max: 9 })]);
  assert.deepEqual(
    asked[0]?.map(({ max }) => max),
    [6, 9],
    'those of one worker as one',
  );
  assert.deepEqual(
    answers.flatMap(tasksOf).toSorted((a, b) => a - b),
    tasks,
  );
});

test('claims of one turn do not take a lane for empty that had more than one of their shares', async (t) => {
  const { claim, engine } = await rig(t);
  await engine.pushMany(Array.from({ length: 400 }, (_, i) => ({ queue: `q${i % 20}`, handler: 'h' })));
  for (let n = 0; n < 8; n++) {
    const answers = await Promise.all([claim({ max: 25 }), claim({ max: 25 })]);
    assert.deepEqual(
      answers.map(({ length }) => length),
      [25, 25],
    );
  }
});

test('a claim that finds a lane empty goes on to the others, without any time passing', async (t) => {
  const { claim, push, asked } = await rig(t);
  await push('a');
  await claim(); // Lane a gave all that it was asked for, and is believed to have more.
  const task = await push('b');
  assert.deepEqual(tasksOf(await claim()), [task]);
  assert.equal(asked.length, 3);
  const many = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((queue) => push(queue)));
  for (let n = 0; n < 6; n++) await claim();
  const last = await push('g');
  assert.deepEqual(tasksOf(await claim()), [last], `after ${many.length} lanes that were emptied`);
});

test('a lane that was asked for less than its share, or not at all, is not taken for empty', async (t) => {
  for (const [lanes, max] of [
    [2, 3],
    [5, 12],
    [3, 2],
    [7, 4],
  ] as const) {
    const { claim, engine } = await rig(t);
    const requests = Array.from({ length: lanes * 10 }, (_, n) => ({ queue: `q${n % lanes}`, handler: 'h' }));
    await engine.pushMany(requests);
    const got: string[] = [];
    while (got.length < requests.length) {
      const grants = await claim({ max });
      assert.equal(grants.length, Math.min(max, requests.length - got.length), `${lanes} lanes, ${max} at a time`);
      got.push(...grants.map(({ queue }) => queue));
      // No lane is served three times before another one is served once.
      const counts = requests.slice(0, lanes).map(({ queue }) => got.filter((name) => name === queue).length);
      if (got.length < (requests.length * 2) / 3) {
        assert.ok(Math.max(...counts) - Math.min(...counts) <= max, `${lanes} lanes, ${max} at a time: ${counts}`);
      }
    }
  }
});

test('a fault in a later round hides no grant of an earlier one', async (t) => {
  const { claim, push, store } = await rig(t);
  const task = await push('a');
  for (let n = 0; n < 5; n++) await push('b');
  const taskClaim = store.taskClaim.bind(store);
  let rounds = 0;
  store.taskClaim = (params) => (++rounds > 1 ? Promise.reject(new Error('gone')) : taskClaim(params));
  const grants = await claim({ max: 6 });
  assert.equal(rounds, 2);
  assert.equal(grants.length, 4);
  assert.ok(tasksOf(grants).includes(task));
  await assert.rejects(claim({ max: 1 }), /gone/);
});

test('a waiting claim that found a lane empty does not sleep while another lane has work', async (t) => {
  const { claim, push, world } = await rig(t);
  await push('a');
  await claim();
  const task = await push('b');
  const waiting = follow(claim({ waitMs: 60_000 }));
  await world.settle();
  assert.deepEqual(tasksOf(waiting()), [task]);
});

test('a paused queue gives nothing, at once in the process that paused it', async (t) => {
  const { claim, push, engine } = await rig(t);
  const task = await push('mail');
  const other = await push('post');
  await engine.pause('mail');
  assert.deepEqual(tasksOf(await claim({ max: 9 })), [other]);
  await engine.resume('mail');
  assert.deepEqual(tasksOf(await claim({ max: 9 })), [task]);
});

test('a pause and a resume by another process hold within a second', async (t) => {
  const { claim, push, store, world } = await rig(t);
  const task = await push('mail');
  await claim({ queues: [] });
  const other = new Engine({ store, world });
  await other.pause('mail');
  await world.advance(1000);
  assert.deepEqual(await claim({ max: 9 }), []);
  await other.resume('mail');
  await world.advance(1000);
  assert.deepEqual(tasksOf(await claim({ max: 9 })), [task]);
});

test('a disabled worker gets nothing, and others get its share', async (t) => {
  const { claim, push, store, engine } = await rig(t);
  const task = await push('mail');
  await store.workerSet({ name: 'w', enabled: false });
  assert.deepEqual(await claim({ max: 9 }), []);
  const next = await engine.workers.register({ name: 'v', incarnation: 'j', slots: 1 });
  assert.deepEqual(await claim({ worker: 4711, max: 9 }), []);
  assert.deepEqual(tasksOf(await claim({ worker: next })), [task], 'it was taken out of the ring');
});

test('a waiting claim finds within a second what a lost hint hid', async (t) => {
  const { claim, world, store } = await rig(t);
  const other = new Engine({ store, world });
  for (let n = 0; n < 20; n++) {
    const waiting = claim({ max: 9, waitMs: 60_000 });
    await world.advance(10 + 37 * n);
    await other.push({ queue: 'mail', handler: 'h' });
    const before = world.clock.monotonic();
    let found: number | undefined;
    void waiting.then(() => {
      found = world.clock.monotonic() - before;
    });
    for (let ms = 0; ms < 1100 && found === undefined; ms += 50) await world.advance(50);
    assert.ok(found !== undefined && found <= 1000, `found after ${found} ms`);
  }
});

test('a large claim is granted in parts, so that no transaction is long', async (t) => {
  const { claim, engine, store } = await rig(t);
  await engine.pushMany(Array.from({ length: 600 }, () => ({ queue: 'mail', handler: 'h' })));
  let most = 0;
  const taskClaim = store.taskClaim.bind(store);
  store.taskClaim = async (params) => {
    const answers = await taskClaim(params);
    most = Math.max(most, answers.flatMap((grants) => grants ?? []).length);
    return answers;
  };
  assert.equal((await claim({ max: 600 })).length, 600);
  assert.ok(most <= 250, `${most} grants in one call`);
});

test('more lanes than a claim looks at are all served in the end', async (t) => {
  const { claim, engine, world } = await rig(t);
  const requests = Array.from({ length: 450 }, (_, n) => ({ queue: `q${n}`, handler: 'h' }));
  await engine.pushMany(requests);
  const queues = new Set<string>();
  for (let n = 0; n < 5; n++) {
    for (const grant of await claim({ max: 500 })) queues.add(grant.queue);
    await world.advance(10);
  }
  assert.equal(queues.size, 450);
});

test('a push lets a few of many waiting claims call the store, and one of them gets it', async (t) => {
  const { engine, world, asked, push } = await rig(t);
  const waiting: (() => readonly Grant[] | undefined)[] = [];
  for (let n = 0; n < 300; n++) {
    const worker = await engine.workers.register({ name: `w${n}`, incarnation: `i${n}`, slots: 1 });
    waiting.push(follow(engine.claim({ worker, max: 1, waitMs: 60_000 })));
  }
  await world.advance(5000);
  asked.length = 0;
  const task = await push('mail');
  await world.settle();
  assert.deepEqual(
    waiting.flatMap((one) => tasksOf(one())),
    [task],
  );
  const claims = asked.flat().length;
  assert.ok(claims <= 20, `${claims} claims for one task`);
});

test('as many tasks as waiting claims are all taken, without any time passing', async (t) => {
  const { engine, world } = await rig(t);
  const waiting: (() => readonly Grant[] | undefined)[] = [];
  for (let n = 0; n < 300; n++) {
    const worker = await engine.workers.register({ name: `w${n}`, incarnation: `i${n}`, slots: 1 });
    waiting.push(follow(engine.claim({ worker, max: 1, waitMs: 60_000 })));
  }
  await world.settle();
  await engine.pushMany(Array.from({ length: 300 }, () => ({ queue: 'mail', handler: 'h' })));
  await world.settle();
  assert.equal(new Set(waiting.flatMap((one) => tasksOf(one()))).size, 300);
});

test('work that one claim finds for all is taken by those that can, without more time', async (t) => {
  const scene = await rig(t);
  const { engine, store, world, worker, claim } = scene;
  const others = Array.from({ length: 20 }, () => follow(claim({ queues: ['post'], waitMs: 60_000 })));
  const waiting = follow(engine.claim({ worker, max: 1, queues: ['mail'], waitMs: 60_000 }));
  await world.advance(3000);
  const { task } = await new Engine({ store, world }).push({ queue: 'mail', handler: 'h' });
  await untilAsked(scene, 'laneScan');
  assert.deepEqual(tasksOf(waiting()), [task]);
  assert.ok(others.every((one) => one() === undefined));
});

test('a resume by another process wakes the claims that serve the queue, whichever claim learns of it', async (t) => {
  const scene = await rig(t);
  const { store, world, claim, push } = scene;
  const other = new Engine({ store, world });
  const task = await push('mail');
  await other.pause('mail');
  void Array.from({ length: 20 }, () => claim({ queues: ['post'], waitMs: 60_000 }));
  const waiting = follow(claim({ queues: ['mail'], waitMs: 60_000 }));
  await world.advance(3000);
  assert.equal(waiting(), undefined);
  await other.resume('mail');
  await untilAsked(scene, 'queueList');
  assert.deepEqual(tasksOf(waiting()), [task]);
});

test('a tag that another process gives a worker counts for its waiting claim, whichever claim learns of it', async (t) => {
  const scene = await rig(t);
  const { engine, store, world, claim } = scene;
  const { task } = await engine.push({ queue: 'mail', handler: 'h', placement: { requires: ['gpu'] } });
  const plain = await engine.workers.register({ name: 'plain', incarnation: 'p', slots: 1 });
  void Array.from({ length: 20 }, () => claim({ worker: plain, waitMs: 60_000 }));
  const waiting = follow(claim({ waitMs: 60_000 }));
  await world.advance(3000);
  assert.equal(waiting(), undefined);
  await new Engine({ store, world }).workers.set({ name: 'w', tags: ['gpu'] });
  await untilAsked(scene, 'workerFleet');
  assert.deepEqual(tasksOf(waiting()), [task]);
});
