import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type EngineError, type ErrorCode, isEngineError } from '../core/errors.ts';
import { EMPTY_STATS } from '../core/task/event.ts';
import { refusal } from '../store/conformance/kit/scene.ts';
import { checkBooks, lookAt } from '../store/conformance/kit/snapshot.ts';
import { openSqlite } from '../store/sqlite/open.ts';
import type { Grant, Store } from '../store/store.ts';
import { VirtualWorld } from '../testing.ts';
import { Engine } from './engine.ts';

const TASK = { queue: 'mail', handler: 'send' } as const;

interface Rig {
  readonly world: VirtualWorld;
  readonly store: Store;
  readonly engine: Engine;
  readonly worker: number;
  readonly claim: () => Promise<Grant>;
  /** Pushes and claims. */
  readonly running: (request?: { queue?: string; maxAttempts?: number }) => Promise<Grant>;
}

/** An engine on a store in memory, whose invariants are checked when the test is over. */
async function rig(t: TestContext): Promise<Rig> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  t.after(async () => {
    checkBooks(await lookAt(store));
    await store.close();
  });
  const engine = new Engine({ store, world });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 8 });
  const claim = async (): Promise<Grant> => {
    const [grant] = await engine.claim({ worker, max: 1 });
    assert.ok(grant, 'there was nothing to claim');
    return grant;
  };
  const running: Rig['running'] = async (request) => {
    await engine.push({ ...TASK, ...request });
    return claim();
  };
  return { world, store, engine, worker, claim, running };
}

async function stateOf(engine: Engine, task: number): Promise<string> {
  const record = await engine.get(task);
  return record === undefined ? 'unknown' : `${record.state} ${record.reason} ${record.tries}/${record.attempt}`;
}

test('a task goes from push to completion, and its result is kept', async (t) => {
  const { engine, claim } = await rig(t);
  const pushed = await engine.push({ ...TASK, input: { to: 'a' }, priority: 3, maxAttempts: 5 });
  assert.deepEqual([pushed.state, pushed.fresh], ['ready', true]);
  const grant = await claim();
  assert.deepEqual(
    [grant.task, grant.queue, grant.handler, grant.payload, grant.priority, grant.maxTries],
    [pushed.task, 'mail', 'send', '{"to":"a"}', 3, 5],
  );
  await engine.complete(grant, { sent: true });
  const record = await engine.get(pushed.task);
  assert.deepEqual([record?.state, record?.result], ['completed', '{"sent":true}']);
});

test('the engine reports when a task will be due, so that a sleeping duty can be woken', async (t) => {
  const { engine, claim, world } = await rig(t);
  const due: number[] = [];
  const leases: number[] = [];
  engine.listen({ due: (inMs) => void due.push(inMs), leased: (inMs) => void leases.push(inMs) });
  await engine.push(TASK);
  await engine.push({ ...TASK, delay: 5000 });
  await engine.push({ ...TASK, runAt: world.clock.wall() + 7000 });
  assert.deepEqual(due, [5000, 7000]);
  const grant = await claim();
  assert.deepEqual(leases, [30_000]);
  await engine.release(grant, { delayMs: 900 });
  assert.deepEqual(due, [5000, 7000, 900]);
});

test('a waiting task is cancelled at once, a running one is asked to stop, and its worker sees the request', async (t) => {
  const { engine, running } = await rig(t);
  const grant = await running({ queue: 'a' });
  const waiting = await engine.push({ ...TASK, queue: 'b' });
  assert.equal(await engine.cancel(waiting.task), 'cancelled');
  assert.equal(await engine.cancel(waiting.task), 'finished');
  assert.equal(await engine.cancel(grant.task), 'requested');
  const renewal = await engine.renew(grant);
  assert.ok(renewal.held && renewal.cancelRequested);
  await engine.cancelled(grant);
  assert.equal(await stateOf(engine, grant.task), 'cancelled requested 1/1');
  assert.equal(await refusal(engine.cancel(4711)), 'NOT_FOUND');
});

test('a finished task can be run again, with all its tries', async (t) => {
  const { engine, running, claim } = await rig(t);
  const grant = await running({ maxAttempts: 1 });
  await engine.fail(grant, 'no');
  await engine.retry(grant.task);
  const again = await claim();
  assert.deepEqual([again.task, again.attempt, again.tries], [grant.task, 2, 1]);
  await assert.rejects(engine.retry(grant.task), (error) => {
    assert.ok(isEngineError(error, 'ILLEGAL_TRANSITION'));
    assert.deepEqual(error.details, { kind: 'task', from: 'running', to: 'ready' });
    return true;
  });
  assert.equal(await refusal(engine.retry(4711)), 'NOT_FOUND');
});

test('a queue can be paused and resumed, and its name is checked', async (t) => {
  const { engine, worker } = await rig(t);
  await engine.push(TASK);
  await engine.pause('mail');
  assert.deepEqual(await engine.claim({ worker, max: 1 }), []);
  assert.deepEqual(
    (await engine.queues()).map(({ name, paused }) => [name, paused]),
    [['mail', true]],
  );
  await engine.resume('mail');
  assert.equal((await engine.claim({ worker, max: 1 })).length, 1);
  assert.equal(await refusal(engine.pause('No Name')), 'INVALID_INPUT');
  assert.equal(await refusal(engine.resume('No Name')), 'INVALID_INPUT');
});

test('a pause is told once, also that of another process, when a claim learns of it', async (t) => {
  const { world, engine, worker } = await rig(t);
  const told: string[] = [];
  t.after(engine.listen({ queuePaused: (queue) => void told.push(queue) }));
  await engine.pause('mail');
  await engine.pause('mail');
  assert.deepEqual(told, ['mail']);
  await engine.store.queuePause({ queue: 'letters', paused: true });
  await world.advance(1000);
  await engine.claim({ worker, max: 1 });
  assert.deepEqual(told, ['mail', 'letters']);
});

test('a pause holds although a claim scans while it is being written', async (t) => {
  const { engine, worker, world } = await rig(t);
  await engine.push(TASK);
  await world.advance(2000);
  const claims: Promise<readonly Grant[]>[] = [];
  const pausing = engine.pause('mail');
  claims.push(engine.claim({ worker, max: 1, queues: [] }));
  await pausing;
  await Promise.all(claims);
  assert.deepEqual(await engine.claim({ worker, max: 1 }), []);
});

test('the statistics follow the tasks, and an unknown queue has none', async (t) => {
  const { engine, running } = await rig(t);
  assert.deepEqual(await engine.stats('mail'), EMPTY_STATS);
  const grant = await running();
  await engine.push(TASK);
  await engine.push({ ...TASK, delay: '1h' });
  assert.deepEqual(await engine.stats('mail'), { ...EMPTY_STATS, ready: 1, running: 1, scheduled: 1 });
  await engine.complete(grant);
  assert.deepEqual(await engine.stats('mail'), { ...EMPTY_STATS, ready: 1, scheduled: 1, completed: 1 });
});

test('the feed has the events in order, continues after a number, and follows new ones', async (t) => {
  const { engine, running, world } = await rig(t);
  const grant = await running();
  const control = new AbortController();
  const seen: string[] = [];
  const reading = (async () => {
    for await (const item of engine.events({ after: 1, signal: control.signal })) {
      if (item.kind === 'event') seen.push(`${item.event.seq} ${item.event.change}`);
    }
  })();
  await world.settle();
  assert.deepEqual(seen, ['2 claimed']);
  await engine.complete(grant);
  await world.settle();
  assert.deepEqual(seen, ['2 claimed', '3 completed']);
  await engine.retry(grant.task);
  await engine.cancel(grant.task);
  await world.settle();
  assert.deepEqual(seen, ['2 claimed', '3 completed', '4 revived', '5 cancelled']);
  control.abort();
  await reading;
  assert.deepEqual(world.waits, []);
});

test('workers are registered under a checked name, and each start is an incarnation of its own', async (t) => {
  const { engine } = await rig(t);
  await engine.workers.register({ name: 'gpu-1', incarnation: 'j', slots: 2, tags: ['gpu'] });
  assert.deepEqual(
    (await engine.workers.list()).map(({ name, slots, tags }) => [name, slots, tags]),
    [
      ['w', 8, []],
      ['gpu-1', 2, ['gpu']],
    ],
  );
  await assert.rejects(
    async () => engine.workers.register({ name: 'No Name', incarnation: 'k', slots: 1 }),
    (error) => isEngineError(error, 'INVALID_INPUT'),
  );
});

/** What a caller without types may send. */
type Loose = Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>;

const loosely = (engine: Engine): Loose => engine as unknown as Loose;

/** Refused by a rejected promise, with the name of the field or the option. */
async function refused(call: () => Promise<unknown>, code: ErrorCode, named: string): Promise<EngineError> {
  let answer: Promise<unknown>;
  try {
    answer = call();
  } catch (error) {
    return assert.fail(`it threw instead of rejecting: ${String(error)}`);
  }
  const error = await answer.then(
    () => assert.fail(`it was not refused: ${String(call)}`),
    (reason: unknown) => reason,
  );
  assert.ok(isEngineError(error, code), `${String(call)}: ${String(error)}`);
  assert.equal(error.details?.[code === 'UNKNOWN_OPTION' ? 'option' : 'field'], named, String(call));
  return error;
}

test('a bad argument is refused with its field by a rejected promise, and changes nothing', async (t) => {
  const { engine, running, worker, store } = await rig(t);
  const grant = await running();
  const loose = loosely(engine);
  const before = await lookAt(store);
  const worker8 = { name: 'w', incarnation: 'j', slots: 8 };
  const cases: readonly (readonly [string, () => Promise<unknown>])[] = [
    ...['get', 'cancel', 'retry', 'attempts'].flatMap((verb) =>
      [undefined, null, 0, -1, 1.5, Number.NaN, {}].map((task) => ['task', () => loose[verb]?.(task)] as never),
    ),
    ...['renew', 'complete', 'fail', 'release', 'cancelled'].flatMap((verb) => [
      ['lease', () => loose[verb]?.()] as never,
      ['lease', () => loose[verb]?.(null)] as never,
      ['task', () => loose[verb]?.({})] as never,
      ['attempt', () => loose[verb]?.({ task: grant.task })] as never,
      ['attempt', () => loose[verb]?.({ task: grant.task, attempt: Number.NaN })] as never,
    ]),
    ['queue name', () => engine.stats(undefined as never)],
    ['queue name', () => engine.pause(undefined as never)],
    ['queue name', () => engine.resume(undefined as never)],
    ['options', () => engine.claim(undefined as never)],
    ['worker', () => engine.claim({ max: 1 } as never)],
    ['worker', () => engine.claim({ worker: 'w', max: 1 } as never)],
    ['max', () => engine.claim({ worker } as never)],
    ['max', () => engine.claim({ worker, max: 0 })],
    ['max', () => engine.claim({ worker, max: 1001 })],
    ['waitMs', () => engine.claim({ worker, max: 1, waitMs: -1 })],
    ['waitMs', () => engine.claim({ worker, max: 1, waitMs: Number.NaN })],
    ['signal', () => engine.claim({ worker, max: 1, signal: {} as never })],
    ['queues', () => engine.claim({ worker, max: 1, queues: 'mail' as never })],
    ['queue name', () => engine.claim({ worker, max: 1, queues: ['No Name'] })],
    ['handlers', () => engine.claim({ worker, max: 1, handlers: { send: true } as never })],
    ['handler name', () => engine.claim({ worker, max: 1, handlers: [7 as never] })],
    ['query', () => engine.list(undefined as never)],
    ['limit', () => engine.list({} as never)],
    ['limit', () => engine.list({ limit: Number.NaN })],
    ['limit', () => engine.list({ limit: 0 })],
    ['limit', () => engine.list({ limit: 1001 })],
    ['before', () => engine.list({ limit: 1, before: 0.5 })],
    ['queue name', () => engine.list({ limit: 1, queue: 7 as never })],
    ['states', () => engine.list({ limit: 1, states: 'ready' as never })],
    ['states', () => engine.list({ limit: 1, states: ['0) OR (1=1' as never] })],
    ['handlers', () => engine.list({ limit: 1, handlers: 'h' as never })],
    ['handler name', () => engine.list({ limit: 1, handlers: ['NO NAME'] })],
    ['from', () => engine.list({ limit: 1, from: -1 })],
    ['until', () => engine.list({ limit: 1, until: Number.NaN })],
    ['worker', () => engine.workers.register(undefined as never)],
    ['worker name', () => engine.workers.register({ ...worker8, name: 'No Name' })],
    ['slots', () => engine.workers.register({ ...worker8, slots: Number.NaN })],
    ['incarnation', () => engine.workers.register({ name: 'w', slots: 1 } as never)],
    ['tags', () => engine.workers.register({ ...worker8, tags: 'gpu' as never })],
    ['tags', () => engine.workers.register({ ...worker8, tags: [1 as never] })],
    ['request', () => engine.push(null as never)],
    ['request', () => engine.push([] as never)],
    ['requests', () => engine.pushMany({} as never)],
    ['request', () => engine.pushMany([undefined as never])],
    ['after', () => first(engine.events({ after: -1 }))],
    ['signal', () => first(engine.events({ signal: 1 as never }))],
    ['options', () => first(engine.events(null as never))],
  ];
  for (const [field, call] of cases) await refused(call, 'INVALID_INPUT', field);
  await assert.rejects(
    () => engine.pushIn({ prepare: () => {} }, {} as never),
    (error) => isEngineError(error, 'INVALID_INPUT'),
  );
  assert.deepEqual(await lookAt(store), before);
});

async function first(items: AsyncIterable<unknown>): Promise<unknown> {
  for await (const item of items) return item;
  return undefined;
}

test('a public id in place of a number is refused with a hint how to convert it', async (t) => {
  const { engine, running } = await rig(t);
  const grant = await running();
  const id = engine.idOf(grant);
  for (const call of [
    () => engine.get(id as never),
    () => engine.cancel(id as never),
    () => engine.complete({ task: id as never, attempt: 1 }),
  ]) {
    assert.match((await refused(call, 'INVALID_INPUT', 'task')).hint ?? '', /engine\.parseId/);
  }
  assert.equal((await engine.get(engine.parseId(id)))?.task, grant.task);
  for (const wrong of [undefined, null, 5, '']) {
    assert.throws(
      () => engine.parseId(wrong as never),
      (error) => isEngineError(error, 'INVALID_ID'),
    );
    assert.throws(
      () => engine.idOf({ task: wrong as never, createdAt: -1 }),
      (error) => isEngineError(error, 'INVALID_INPUT'),
    );
  }
});

test('an unknown option is refused by every verb, with a list of the known ones', async (t) => {
  const { engine, running, worker, store } = await rig(t);
  const grant = await running();
  await engine.push({ ...TASK, queue: 'other' });
  const before = await lookAt(store);
  const more = (known: object, wrong: string): never => ({ ...known, [wrong]: 'mail' }) as never;
  const cases: readonly (readonly [string, () => Promise<unknown>, RegExp])[] = [
    ['queue', () => engine.claim(more({ worker, max: 1 }, 'queue')), /queues, handlers/],
    ['retryAfter', () => engine.fail(grant, 'no', more({}, 'retryAfter')), /giveUp, retryAfterMs/],
    ['delay', () => engine.release(grant, more({}, 'delay')), /bounced, delayMs/],
    ['slot', () => engine.workers.register(more({ name: 'w', incarnation: 'j', slots: 1 }, 'slot')), /slots, tags/],
    ['state', () => engine.list(more({ limit: 1 }, 'state')), /queue, states/],
    ['from', () => first(engine.events(more({}, 'from'))), /after, signal/],
    ['windows', () => engine.push({ ...TASK, unique: more({ key: 'a' }, 'windows') }), /key, window/],
  ];
  for (const [option, call, known] of cases) {
    const error = await refused(call, 'UNKNOWN_OPTION', option);
    assert.match(String(error.details?.known), known);
    assert.match(error.hint ?? '', known);
  }
  assert.deepEqual(await lookAt(store), before);
});

test('a lease is from 10 ms to 24 hours long, and may be written as text', async (t) => {
  const { engine, running, worker, store, world } = await rig(t);
  const grant = await running();
  for (const leaseMs of [0, 9, 24 * 3_600_000 + 1, '25h', 'soon', null as never]) {
    await refused(() => engine.renew(grant, leaseMs), 'INVALID_INPUT', 'leaseMs');
    assert.throws(
      () => new Engine({ store, world, leaseMs: leaseMs ?? 1 }),
      (error) => isEngineError(error, 'INVALID_INPUT'),
    );
    if (leaseMs !== null) await refused(() => engine.claim({ worker, max: 1, leaseMs }), 'INVALID_INPUT', 'leaseMs');
  }
  assert.ok((await engine.renew(grant, 10)).held);
  assert.ok((await engine.renew(grant, '24h')).held);
  assert.equal(new Engine({ store, world, leaseMs: '45s' }).leaseMs, 45_000);
});

test('a retention is a duration of a second or more, in milliseconds or as text', async (t) => {
  const { store, world } = await rig(t);
  assert.equal(new Engine({ store, world, retentionMs: '7d' }).retentionMs, 7 * 86_400_000);
  assert.equal(new Engine({ store, world, retentionMs: 1000 }).retentionMs, 1000);
  for (const retentionMs of [Number.NaN, 999, 0, -1, '', '7 days', Number.POSITIVE_INFINITY]) {
    assert.throws(
      () => new Engine({ store, world, retentionMs }),
      (error) => isEngineError(error, 'INVALID_INPUT') && error.details?.field === 'retentionMs',
      String(retentionMs),
    );
  }
  assert.throws(
    () => new Engine({ store, world, retention: '7d' } as never),
    (error) => isEngineError(error, 'UNKNOWN_OPTION'),
  );
});

test('a queue can be paused before it is used, and resuming an unknown one does not make it', async (t) => {
  const { engine, worker } = await rig(t);
  await engine.resume('typo');
  assert.deepEqual(await engine.queues(), []);
  await engine.pause('mail');
  await engine.push(TASK);
  assert.deepEqual(await engine.claim({ worker, max: 1 }), []);
  await engine.resume('mail');
  assert.equal((await engine.claim({ worker, max: 1 })).length, 1);
});

test('calls that are made together share their commits', async (t) => {
  const { engine, store, worker } = await rig(t);
  await engine.push(TASK);
  let pushes = 0;
  const taskPush = store.taskPush.bind(store);
  store.taskPush = (params) => {
    pushes++;
    return taskPush(params);
  };
  await Promise.all(Array.from({ length: 200 }, () => engine.push(TASK)));
  assert.equal(pushes, 1);
  let settles = 0;
  const taskSettle = store.taskSettle.bind(store);
  store.taskSettle = (params) => {
    settles++;
    return taskSettle(params);
  };
  const grants = await engine.claim({ worker, max: 200 });
  await Promise.all(grants.map((grant) => engine.complete(grant)));
  assert.equal(settles, 1);
});

test('work without a hint is found within the poll interval, and bad intervals are refused', async (t) => {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  t.after(() => store.close());
  for (const bad of [{ pollMs: 1 }, { pollMs: '2h' }, { cleanupMs: 0 }, { cleanupMs: 'often' }]) {
    assert.throws(() => new Engine({ store, world, ...bad }), { code: 'INVALID_INPUT' }, JSON.stringify(bad));
  }
  const [quiet, other] = [new Engine({ store, world, pollMs: '5s' }), new Engine({ store, world })];
  const worker = await quiet.workers.register({ name: 'w', incarnation: 'i', slots: 1 });
  let granted = 0;
  const waiting = quiet.claim({ worker, max: 1, waitMs: 60_000 }).then((grants) => (granted = grants.length));
  await world.settle();
  await other.push({ queue: 'mail', handler: 'send' });
  await world.advance(2400);
  assert.equal(granted, 0, 'half of it is the least that a poll waits');
  await world.advance(2600 + 2500);
  await waiting;
  assert.equal(granted, 1);
});
