import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fault } from '../../core/errors.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Grant, Store } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';

const TASK = { queue: 'mail', handler: 'send' } as const;

async function rig(t: TestContext) {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  t.after(() => store.close());
  const engine = new Engine({ store, world });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 1000 });
  const running = async (): Promise<Grant> => {
    await engine.push(TASK);
    const [grant] = await engine.claim({ worker, max: 1 });
    assert.ok(grant);
    return grant;
  };
  /** Nobody reads the feed any more, and no timer of it is left. */
  const quiet = async (): Promise<void> => {
    await world.settle();
    assert.equal(engine.waiting, false, 'somebody still waits for events');
    assert.deepEqual(world.waits, []);
  };
  return { world, store, engine, worker, running, quiet };
}

/** The state of a promise so far. */
function watch(promise: Promise<unknown>): { readonly now: () => string } {
  let state = 'waits';
  promise.then(
    (value) => (state = `came ${(value as { state?: string } | undefined)?.state}`),
    (error: unknown) => (state = `refused ${(error as { code?: string }).code ?? String(error)}`),
  );
  return { now: () => state };
}

/** Makes one call of a verb wait until it is released. */
function hold<V extends 'eventRead' | 'taskGet'>(t: TestContext, store: Store, verb: V) {
  const gate = Promise.withResolvers<void>();
  const real = store[verb].bind(store) as (...args: unknown[]) => Promise<unknown>;
  t.mock.method(store, verb, async (...args: unknown[]) => {
    await gate.promise;
    return real(...args);
  });
  return () => gate.resolve();
}

test('the record comes with the end of the task, and nothing is left behind', async (t) => {
  const { world, engine, running, quiet } = await rig(t);
  const grant = await running();
  const result = engine.finished(grant.task);
  const seen = watch(result);
  await world.advance(5000);
  assert.equal(seen.now(), 'waits');
  await engine.complete(grant, 42);
  await world.settle();
  assert.equal(seen.now(), 'came completed');
  assert.equal((await result).result, '42');
  await quiet();
});

test('the record of a task that ended before comes at once', async (t) => {
  const { engine, running, quiet } = await rig(t);
  for (const end of ['complete', 'cancelled'] as const) {
    const grant = await running();
    await engine[end](grant);
    assert.equal((await engine.finished(grant.task)).task, grant.task);
    await quiet();
  }
});

test('a task that does not exist is not found', async (t) => {
  const { engine, quiet } = await rig(t);
  assert.equal(await refusal(engine.finished(4711)), 'NOT_FOUND');
  await quiet();
});

test('the end of a task in this engine is told before there is an event of it', async (t) => {
  const { world, store, engine, running, quiet } = await rig(t);
  const grant = await running();
  const result = watch(engine.finished(grant.task));
  await world.settle();
  // On Postgres events get their numbers from a duty that another process may hold.
  t.mock.method(store, 'eventRead', ({ after }: { after: number }) =>
    Promise.resolve({ events: [], last: after, reset: false }),
  );
  await engine.complete(grant, 42);
  await world.settle();
  assert.equal(result.now(), 'came completed');
  await quiet();
});

test('a fault at the read of an end that passes is not noticed', async (t) => {
  const { world, store, engine, running, quiet } = await rig(t);
  const grants = [await running(), await running()];
  const results = grants.map(({ task }) => watch(engine.finished(task)));
  await world.settle();
  t.mock.method(store, 'taskGet', () => Promise.reject(fault('STORE_BUSY')), { times: 1 });
  await Promise.all(grants.map((grant) => engine.complete(grant)));
  await world.settle();
  assert.deepEqual(
    results.map((result) => result.now()),
    ['came completed', 'came completed'],
  );
  await quiet();
});

test('however many tasks are waited for, the feed is read once and a hundred tasks together', async (t) => {
  const { world, store, engine, worker, quiet } = await rig(t);
  const pushed = await engine.pushMany(Array.from({ length: 500 }, () => TASK));
  const grants = await engine.claim({ worker, max: 500 });
  const reads = t.mock.method(store, 'eventRead');
  const looks = t.mock.method(store, 'taskGet');
  const results = pushed.map(({ task }) => engine.finished(task));
  await world.settle();
  const before = reads.mock.callCount();
  assert.ok(before <= 4, `the feed was read ${before} times`);
  await Promise.all(grants.map((grant) => engine.complete(grant, 1)));
  assert.equal((await Promise.all(results)).length, 500);
  assert.ok(reads.mock.callCount() - before <= 10, `the feed was read ${reads.mock.callCount()} times`);
  const looked = looks.mock.calls.reduce((sum, { arguments: [{ tasks }] }) => sum + tasks.length, 0);
  assert.ok(looked <= 1000, `tasks were looked at ${looked} times`);
  assert.ok(looks.mock.callCount() <= 15, `in ${looks.mock.callCount()} reads`);
  await quiet();
});

test('several may wait for one task, and one that aborts leaves the others', async (t) => {
  const { world, engine, running, quiet } = await rig(t);
  const grant = await running();
  const abort = new AbortController();
  const [one, two, three] = [
    watch(engine.finished(grant.task)),
    watch(engine.finished(grant.task, abort.signal)),
    watch(engine.finished(grant.task)),
  ];
  await world.settle();
  abort.abort('enough');
  await world.settle();
  assert.deepEqual([one.now(), two.now(), three.now()], ['waits', 'refused enough', 'waits']);
  await engine.complete(grant);
  await world.settle();
  assert.deepEqual([one.now(), three.now()], ['came completed', 'came completed']);
  await quiet();
});

test('a waiter that is aborted before or while the wait begins rejects at once, and nothing goes unhandled', async (t) => {
  const { world, store, engine, running, quiet } = await rig(t);
  const { task } = await running();
  const gone = watch(engine.finished(task, AbortSignal.abort('before')));
  const abort = new AbortController();
  const release = hold(t, store, 'eventRead');
  const during = watch(engine.finished(task, abort.signal));
  await world.settle();
  abort.abort('during');
  await world.settle();
  assert.deepEqual([gone.now(), during.now()], ['refused before', 'refused during']);
  release();
  await quiet();
});

test('a waiter that comes when the last one has just left gets a reader of its own', async (t) => {
  const { world, store, engine, running, quiet } = await rig(t);
  const grant = await running();
  const abort = new AbortController();
  const release = hold(t, store, 'eventRead');
  const first = watch(engine.finished(grant.task, abort.signal));
  await world.settle();
  abort.abort('left');
  await world.settle();
  const second = watch(engine.finished(grant.task));
  release();
  await world.settle();
  await engine.complete(grant);
  await world.advance(1000);
  assert.deepEqual([first.now(), second.now()], ['refused left', 'came completed']);
  await quiet();
});

test('a fault of the store that passes is not noticed', async (t) => {
  const { world, store, engine, running, quiet } = await rig(t);
  const grant = await running();
  const result = watch(engine.finished(grant.task));
  await world.settle();
  t.mock.method(store, 'eventRead', () => Promise.reject(fault('STORE_BUSY')), { times: 1 });
  await world.advance(2000);
  assert.equal(result.now(), 'waits');
  await engine.complete(grant);
  await world.settle();
  assert.equal(result.now(), 'came completed');
  await quiet();
});

test('a permanent fault rejects every waiter, and nothing is left behind', async (t) => {
  const { world, store, engine, running, quiet } = await rig(t);
  const [one, two] = [watch(engine.finished((await running()).task)), watch(engine.finished((await running()).task))];
  await world.settle();
  const broken = t.mock.method(store, 'eventRead', () => Promise.reject(fault('STORE_UNAVAILABLE')));
  await world.advance(2000);
  assert.deepEqual([one.now(), two.now()], ['refused STORE_UNAVAILABLE', 'refused STORE_UNAVAILABLE']);
  await quiet();
  broken.mock.restore();
  const grant = await running();
  const again = watch(engine.finished(grant.task));
  await engine.complete(grant);
  await world.advance(1000);
  assert.equal(again.now(), 'came completed');
});

test('a waiter that leaves while the feed is opened again after a fault leaves nothing behind', async (t) => {
  const { world, store, engine, running, quiet } = await rig(t);
  const { task } = await running();
  const abort = new AbortController();
  const result = watch(engine.finished(task, abort.signal));
  await world.settle();
  const gate = Promise.withResolvers<void>();
  const real = store.eventRead.bind(store);
  let calls = 0;
  t.mock.method(store, 'eventRead', async (params: Parameters<Store['eventRead']>[0]) => {
    calls++;
    if (calls === 1) throw fault('STORE_BUSY');
    await gate.promise;
    return real(params);
  });
  await world.advance(2000);
  assert.equal(calls, 2);
  abort.abort('left');
  await world.settle();
  gate.resolve();
  await world.settle();
  assert.equal(result.now(), 'refused left');
  await quiet();
});

test('a fault at the first read rejects only its own waiter', async (t) => {
  const { world, store, engine, running, quiet } = await rig(t);
  const grant = await running();
  const patient = watch(engine.finished(grant.task));
  await world.settle();
  t.mock.method(store, 'taskGet', () => Promise.reject(fault('STORE_BUSY')), { times: 1 });
  assert.equal(await refusal(engine.finished(grant.task)), 'STORE_BUSY');
  assert.equal(patient.now(), 'waits');
  await engine.complete(grant);
  await world.settle();
  assert.equal(patient.now(), 'came completed');
  await quiet();
});

test('waiters get an error when the store is closed', async (t) => {
  const { world, store, engine, running } = await rig(t);
  const result = watch(engine.finished((await running()).task));
  await world.settle();
  await store.close();
  engine.hint();
  await world.settle();
  assert.equal(result.now(), 'refused STORE_CLOSED');
  assert.equal(engine.waiting, false);
});
