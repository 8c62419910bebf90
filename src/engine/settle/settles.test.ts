import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fault, isEngineError } from '../../core/errors.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { checkBooks, lookAt } from '../../store/conformance/kit/snapshot.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { DutyTenure, Grant, Store } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import type { PushRequest } from '../push/push.ts';

/** Backoffs that a test can foresee: 1 s, 2 s, 4 s. */
const STEADY = { baseMs: 1000, factor: 2, jitter: 0 } as const;
const HOUR = 3_600_000;

interface Rig {
  readonly store: Store;
  readonly engine: Engine;
  readonly claim: () => Promise<Grant>;
  /** Pushes and claims. */
  readonly running: (request?: Partial<PushRequest>) => Promise<Grant>;
  /** Makes due tasks ready, after `ms`. */
  readonly stageAfter: (ms: number) => Promise<number>;
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
  const duty = (await store.dutyTake({ name: 'stager', holder: 'test', ttlMs: 24 * HOUR })) as DutyTenure;
  const claim = async (): Promise<Grant> => {
    const [grant] = await engine.claim({ worker, max: 1 });
    assert.ok(grant, 'there was nothing to claim');
    return grant;
  };
  return {
    store,
    engine,
    claim,
    running: async (request) => {
      await engine.push({ queue: 'mail', handler: 'send', ...request });
      return claim();
    },
    stageAfter: async (ms) => {
      await world.advance(ms);
      const { staged } = await store.taskStage({ duty, limit: 100 });
      engine.hint();
      return staged;
    },
  };
}

const lease = ({ task, attempt }: Grant): { task: number; attempt: number } => ({ task, attempt });

async function stateOf(engine: Engine, task: number): Promise<string> {
  const record = await engine.get(task);
  return record === undefined ? 'unknown' : `${record.state} ${record.reason} ${record.tries}/${record.attempt}`;
}

test('a task may complete without a result', async (t) => {
  const { engine, running } = await rig(t);
  const grant = await running();
  await engine.complete(grant);
  assert.equal((await engine.get(grant.task))?.result, undefined);
});

test('a renewal extends the lease, and answers when it is lost', async (t) => {
  const { engine, running } = await rig(t);
  const grant = await running();
  assert.deepEqual(await engine.renew(grant, HOUR), {
    held: true,
    leaseUntil: grant.leaseUntil - 30_000 + HOUR,
    cancelRequested: false,
  });
  await engine.complete(grant);
  assert.deepEqual(await engine.renew(grant), { held: false });
});

test('a stale attempt gets LEASE_LOST from every verb, with task and attempt, and changes nothing', async (t) => {
  const { engine, running, claim, store } = await rig(t);
  const stale = await running();
  await engine.release(stale);
  await claim();
  const before = await lookAt(store);
  for (const held of [stale, lease(stale)]) {
    for (const act of [
      () => engine.complete(held, 1),
      () => engine.fail(held, new Error('no')),
      () => engine.fail(held, 'no', { giveUp: true }),
      () => engine.fail(held, 'no', { retryAfterMs: 5 }),
      () => engine.cancelled(held),
    ]) {
      await assert.rejects(act(), (error) => {
        assert.ok(isEngineError(error, 'LEASE_LOST'), String(error));
        assert.deepEqual(error.details, { task: stale.task, attempt: 1 });
        return true;
      });
    }
  }
  assert.deepEqual(await lookAt(store), before);
});

test('a task that does not exist is a lost lease too', async (t) => {
  const { engine } = await rig(t);
  const held = { task: 4711, attempt: 1 };
  assert.equal(await refusal(engine.complete(held)), 'LEASE_LOST');
  assert.equal(await refusal(engine.fail(held, 'no')), 'LEASE_LOST');
  assert.equal(await refusal(engine.release(held, { bounced: true })), 'LEASE_LOST');
});

test('a call whose answer was lost may be repeated and has the same result', async (t) => {
  const { engine, running } = await rig(t);
  const done = await running({ queue: 'a' });
  await engine.complete(done, 1);
  await engine.complete(done, 1);
  await engine.complete(lease(done), 1);
  const retried = await running({ queue: 'b', retry: STEADY });
  assert.equal(await engine.fail(retried, 'no'), 'scheduled');
  assert.equal(await engine.fail(retried, 'no'), 'scheduled');
  assert.equal(await engine.fail(lease(retried), 'no'), 'scheduled');
  const failed = await running({ queue: 'c', maxAttempts: 1 });
  assert.equal(await engine.fail(failed, 'no'), 'failed');
  assert.equal(await engine.fail(failed, 'no'), 'failed');
  assert.equal(await engine.fail(lease(failed), 'no'), 'failed');
  const released = await running({ queue: 'd' });
  assert.equal(await engine.release(released, { delayMs: 1 }), 'scheduled');
  assert.equal(await engine.release(lease(released), { delayMs: 1 }), 'scheduled');
});

test('a failed task comes back after its backoff, and fails for good when its tries are used up', async (t) => {
  const { engine, running, claim, stageAfter } = await rig(t);
  const first = await running({ maxAttempts: 3, retry: STEADY });
  assert.equal(await engine.fail(first, new Error('first')), 'scheduled');
  assert.equal(await stageAfter(999), 0);
  assert.equal(await stageAfter(1), 1);
  assert.equal(await engine.fail(await claim(), new Error('second')), 'scheduled');
  assert.equal(await stageAfter(1999), 0);
  assert.equal(await stageAfter(1), 1);
  assert.equal(await engine.fail(await claim(), new Error('third')), 'failed');
  assert.equal(await stateOf(engine, first.task), 'failed exhausted 3/3');
  const record = await engine.get(first.task);
  assert.equal((JSON.parse(record?.result ?? '{}') as Error).message, 'third');
  const attempts = await engine.attempts(first.task);
  assert.deepEqual(
    attempts.map(({ attempt, outcome, error }) => [attempt, outcome, (JSON.parse(error ?? '{}') as Error).message]),
    [
      [1, 'retried', 'first'],
      [2, 'retried', 'second'],
    ],
  );
});

test('a lease without the budget of its grant gets it from the record', async (t) => {
  const { engine, running } = await rig(t);
  const grant = await running({ maxAttempts: 1 });
  assert.equal(await engine.fail(lease(grant), 'no'), 'failed');
});

test('the default backoff is spread at random', async (t) => {
  const { engine, running } = await rig(t);
  const waits = new Set<number>();
  for (let n = 0; n < 20; n++) {
    const grant = await running({ queue: `q${n}` });
    await engine.fail(grant, 'no');
    const record = await engine.get(grant.task);
    waits.add((record?.runAt ?? 0) - (record?.createdAt ?? 0));
  }
  assert.ok(waits.size > 10);
  assert.ok([...waits].every((ms) => ms > 500 && ms <= 1000));
});

test('a handler that gives up fails the task at once, whatever tries are left', async (t) => {
  const { engine, running } = await rig(t);
  const grant = await running({ maxAttempts: 9 });
  assert.equal(await engine.fail(grant, 'no', { giveUp: true }), 'failed');
  assert.equal(await stateOf(engine, grant.task), 'failed gave_up 1/1');
});

test('coming back later costs no try, however often', async (t) => {
  const { engine, running, claim, stageAfter } = await rig(t);
  let grant = await running({ maxAttempts: 2 });
  for (let n = 0; n < 5; n++) {
    assert.equal(await engine.fail(grant, 'slow down', { retryAfterMs: 250 }), 'scheduled');
    assert.equal(await stageAfter(250), 1);
    grant = await claim();
  }
  assert.equal(await stateOf(engine, grant.task), 'running none 1/6');
});

test('a release gives the task and its try back', async (t) => {
  const { engine, running, claim } = await rig(t);
  const grant = await running({ maxAttempts: 1 });
  assert.equal(await engine.release(grant), 'ready');
  assert.equal(await stateOf(engine, grant.task), 'ready none 0/1');
  assert.equal(await engine.release(await claim(), { delayMs: 10 }), 'scheduled');
});

test('a task that bounces twenty times in a row is undeliverable', async (t) => {
  const { engine, running, claim } = await rig(t);
  let grant = await running();
  for (let n = 1; n < 20; n++) {
    assert.equal(await engine.release(n % 2 === 0 ? grant : lease(grant), { bounced: true }), 'ready');
    grant = await claim();
  }
  assert.equal(await engine.release(grant, { bounced: true }), 'failed');
  assert.equal(await stateOf(engine, grant.task), 'failed undeliverable 1/20');
});

test('a start in between resets the count of bounces', async (t) => {
  const { engine, running, claim } = await rig(t);
  let grant = await running();
  for (let n = 0; n < 30; n++) {
    if (n === 15) await engine.fail(grant, 'started', { retryAfterMs: 0 });
    else assert.equal(await engine.release(grant, { bounced: true }), 'ready', `at ${n}`);
    grant = await claim();
  }
});

test('errors of all sorts are stored as they are', async (t) => {
  const { engine, running } = await rig(t);
  const kept = async (error: unknown): Promise<unknown> => {
    const grant = await running({ maxAttempts: 1 });
    await engine.fail(grant, error);
    return JSON.parse((await engine.get(grant.task))?.result ?? '') as unknown;
  };
  const real = (await kept(new TypeError('no'))) as Error;
  assert.deepEqual([real.name, real.message], ['TypeError', 'no']);
  assert.match(real.stack ?? '', /settles\.test/);
  assert.equal(await kept('text'), 'text');
  assert.deepEqual(await kept({ code: 42 }), { code: 42 });
  assert.equal(await kept(undefined), null);
});

test('an error that cannot be stored as it is still lets the task fail', async (t) => {
  const { engine, running } = await rig(t);
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  const nasty: unknown[] = [
    new Error('a NUL \u0000 in it'),
    new Error('half a pair \ud800'),
    new Error('x'.repeat(3_000_000)),
    circle,
    10n,
    Symbol('no'),
    () => 1,
    new Map(),
    {
      toString: () => {
        throw new Error('not even that');
      },
      toJSON: () => {
        throw new Error('nor that');
      },
    },
  ];
  for (const [n, error] of nasty.entries()) {
    const grant = await running({ queue: `q${n}`, maxAttempts: 2, retry: STEADY });
    assert.equal(await engine.fail(grant, error), 'scheduled', `error ${n}`);
    const [attempt] = await engine.attempts(grant.task);
    assert.equal(typeof (JSON.parse(attempt?.error ?? 'null') as { message: unknown }).message, 'string');
  }
});

test('a result that cannot be stored is refused, and the lease is still held', async (t) => {
  const { engine, running } = await rig(t);
  const grant = await running();
  assert.equal(await refusal(engine.complete(grant, { n: 1n })), 'INVALID_INPUT');
  assert.equal(await refusal(engine.complete(grant, 'x'.repeat(2_000_000))), 'TOO_LARGE');
  assert.equal((await engine.renew(grant)).held, true);
  await engine.complete(grant, 'small');
});

test('the error of a result that is too large names the result', async (t) => {
  const { engine, running } = await rig(t);
  const grant = await running();
  await assert.rejects(engine.complete(grant, 'x'.repeat(2_000_000)), /The result is too large/);
  await assert.rejects(engine.complete(grant, { n: 1n }), /The result is not valid/);
});

test('options that contradict each other or are no flags are refused, and the lease is still held', async (t) => {
  const { engine, running } = await rig(t);
  const grant = await running();
  for (const options of [
    { giveUp: true, retryAfterMs: 5 },
    { giveUp: 'no' },
    { retryAfterMs: 'later' },
    null,
  ] as never[]) {
    assert.equal(await refusal(engine.fail(grant, 'no', options)), 'INVALID_INPUT', JSON.stringify(options));
  }
  for (const options of [{ bounced: 1 }, { delayMs: 'later' }, null] as never[]) {
    assert.equal(await refusal(engine.release(grant, options)), 'INVALID_INPUT', JSON.stringify(options));
  }
  assert.equal((await engine.renew(grant)).held, true);
  assert.equal(await engine.fail(grant, 'no', { giveUp: false, retryAfterMs: 5 }), 'scheduled');
});

test('a task that fails or is released after a cancel request ends as cancelled', async (t) => {
  const { engine, running } = await rig(t);
  const failing = await running({ queue: 'a' });
  await engine.cancel(failing.task);
  assert.equal(await engine.fail(failing, 'stopped'), 'cancelled');
  assert.equal(await engine.fail(failing, 'stopped'), 'cancelled');
  const released = await running({ queue: 'b' });
  await engine.cancel(released.task);
  assert.equal(await engine.release(released), 'cancelled');
});

test('the code of an error is stored with its message, so that a program can tell what failed', async (t) => {
  const { engine, running } = await rig(t);
  const lease = await running();
  await engine.fail(lease, fault('RUN_TIMEOUT', { timeoutMs: 5 }), { giveUp: true });
  const { result } = (await engine.get(lease.task)) ?? {};
  assert.equal((JSON.parse(result ?? '{}') as { code?: string }).code, 'RUN_TIMEOUT');
});

test('of ends that come together each has its own answer, and the good ones are told of', async (t) => {
  const { engine, running } = await rig(t);
  const good = await running();
  const bare = await running();
  const stale = await running();
  const wrong = await running();
  await engine.release(lease(stale));
  const told: (readonly [number, string])[] = [];
  engine.listen({
    settled: ({ task }, state) => told.push([task, state]),
    refused: ({ task }) => told.push([task, 'refused']),
  });
  const answers = await engine.completeMany([
    { lease: good, result: { n: 1 } },
    { lease: lease(bare), result: undefined },
    { lease: stale, result: 2 },
    { lease: wrong, result: 1n },
  ]);
  assert.deepEqual(
    answers.map((error) => (isEngineError(error) ? error.code : error)),
    [undefined, undefined, 'LEASE_LOST', 'INVALID_INPUT'],
  );
  assert.deepEqual(told, [
    [good.task, 'completed'],
    [bare.task, 'completed'],
    [stale.task, 'refused'],
  ]);
  const states = await Promise.all([good, bare, stale, wrong].map(async ({ task }) => (await engine.get(task))?.state));
  assert.deepEqual(states, ['completed', 'completed', 'ready', 'running']);
  assert.equal((await engine.get(good.task))?.result, '{"n":1}');
  await engine.complete(lease(wrong));
});
