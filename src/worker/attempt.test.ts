import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fault } from '../core/errors.ts';
import type { TaskState } from '../core/task/task.ts';
import type { Assignment, Reusable, Session, TurnEntry, Turned } from '../protocol/link.ts';
import { VirtualWorld } from '../testing.ts';
import { artifactStock } from './artifacts/attempt-artifacts.ts';
import { Attempt, type AttemptOutcome } from './attempt.ts';
import type { Renewal } from './renewal/renewal.ts';
import type { LogSink, Runner, RunOutcome, StopReason } from './runner/runner.ts';

const ASSIGNMENT: Assignment = {
  task: 1,
  attempt: 3,
  id: 'task_x',
  queue: 'q',
  handler: 'h',
  payload: '{}',
  tries: 1,
  maxTries: 3,
  createdAt: 0,
  suspect: false,
  timeoutMs: undefined,
};

const ENTRY: TurnEntry = { key: 'k', kind: 'value', value: 1 };
const REMEMBER = { entries: [ENTRY], then: { go: 'on' } } as const;
const PARK = { entries: [], then: { go: 'park', key: 'w', channel: 'c' } } as const;

/** An attempt between a session and a runner that only take notes. */
function rig(assignment: Partial<Assignment> = {}) {
  const world = new VirtualWorld();
  const calls: string[] = [];
  /** Errors of the next calls of the session. */
  const faults: unknown[] = [];
  const states: TaskState[] = [];
  /** The answer of the next park. */
  const park: { went: Turned['went'] } = { went: 'parked' };
  /** The kept result of an equal task. */
  const kept: { result?: Reusable } = {};
  const call = async (what: string): Promise<void> => {
    calls.push(what);
    if (faults.length > 0) throw faults.shift();
  };
  const text = (value: unknown): string => JSON.stringify(value) ?? 'undefined';
  const session = {
    complete: (_lease, result) => call(`complete ${text(result)}`),
    fail: async (_lease, error, options) => {
      const code = (error as { code?: string } | null)?.code;
      await call(`fail ${code ?? text(error)}${options === undefined ? '' : ` ${text(options)}`}`);
      return states.shift() ?? 'scheduled';
    },
    release: async (_lease, options) => {
      await call(`release${options === undefined ? '' : ` ${text(options)}`}`);
      return states.shift() ?? 'ready';
    },
    cancelled: () => call('cancelled'),
    log: (_lease, entries) => call(`log ${entries.map((entry) => entry.text).join('|')}`),
    turn: async (_lease, { entries, draw, then }) => {
      const keys = entries.map(({ key }) => key);
      await call(['turn', ...keys, ...(then.go === 'park' ? [`park ${then.key}`] : [])].join(' '));
      const mayPark = then.go === 'park' || draw !== undefined;
      return { went: mayPark ? park.went : 'on', entries: keys.map(() => '1') };
    },
    reusable: async () => {
      await call('reusable');
      return kept.result;
    },
    keep: (_lease, result) => call(`keep ${text(result)}`),
  } as Partial<Session> as Session;
  const renewal = {
    hold: () => {
      calls.push('hold');
      return 5;
    },
    bound: (_place: number, _lease: unknown, ms: number) => void calls.push(`bound ${ms}`),
    drop: (place: number) => void calls.push(`drop ${place}`),
  } as unknown as Renewal;
  const end = Promise.withResolvers<RunOutcome>();
  const stops: StopReason[] = [];
  let sink: LogSink | undefined;
  const runner: Runner = {
    isolates: false,
    handlers: ['h'],
    start: async () => {},
    run: (request, into) => {
      calls.push(`run${request.alone ? ' alone' : ''}`);
      sink = into;
      return { ended: end.promise, stop: (why) => void stops.push(why) };
    },
    close: async () => {},
  };
  const attempt = new Attempt(
    { session, renewal, world, ladder: { abortMs: 1, termMs: 1 }, artifacts: artifactStock() },
    { ...ASSIGNMENT, ...assignment },
  );
  return {
    world,
    calls,
    faults,
    states,
    park,
    kept,
    attempt,
    runner,
    end,
    stops,
    say: (line: string) => sink?.line('log', line),
  };
}

async function settled(
  it: ReturnType<typeof rig>,
  ended: RunOutcome,
): Promise<{ outcome: AttemptOutcome; calls: string[] }> {
  const running = it.attempt.run(it.runner, false);
  it.end.resolve(ended);
  it.calls.length = 0;
  const outcome = it.attempt.settle(await running);
  outcome.catch(() => {});
  await it.world.advance(60_000);
  return { outcome: await outcome, calls: it.calls };
}

test('it is held from the claim to its end, and let go once', async () => {
  const it = rig();
  assert.deepEqual(it.calls, ['hold']);
  const running = it.attempt.run(it.runner, true);
  assert.equal(it.attempt.started, true);
  it.end.resolve({ kind: 'done', result: 1 });
  assert.equal(await it.attempt.settle(await running), 'completed');
  assert.deepEqual(it.calls, ['hold', 'run alone', 'complete 1', 'drop 5']);
  await it.attempt.settle({ kind: 'done', result: 2 }).catch(() => {});
  assert.equal(it.calls.filter((call) => call === 'drop 5').length, 1);
});

test('each end is recorded as what it is', async () => {
  const cases: readonly [RunOutcome, TaskState | undefined, string, AttemptOutcome][] = [
    [{ kind: 'done', result: { a: 1 } }, undefined, 'complete {"a":1}', 'completed'],
    [{ kind: 'failed', error: 'no' }, 'scheduled', 'fail "no"', 'retried'],
    [{ kind: 'failed', error: 'no' }, 'failed', 'fail "no"', 'failed'],
    [{ kind: 'failed', error: 'no' }, 'cancelled', 'fail "no"', 'cancelled'],
    [{ kind: 'giveUp', error: 'no' }, 'failed', 'fail "no" {"giveUp":true}', 'failed'],
    [{ kind: 'retryAfter', delayMs: 9, reason: 'r' }, 'scheduled', 'fail "r" {"retryAfterMs":9}', 'retried'],
    [{ kind: 'retryAfter', delayMs: 9, reason: undefined }, 'scheduled', 'fail null {"retryAfterMs":9}', 'retried'],
    [{ kind: 'retryAfter', delayMs: 9, reason: 'r' }, 'cancelled', 'fail "r" {"retryAfterMs":9}', 'cancelled'],
    [{ kind: 'unstarted', error: 'e' }, 'scheduled', 'release {"bounced":true,"delayMs":100}', 'released'],
    [{ kind: 'unstarted', error: 'e' }, 'failed', 'release {"bounced":true,"delayMs":100}', 'failed'],
  ];
  for (const [ended, state, call, outcome] of cases) {
    const it = rig();
    if (state !== undefined) it.states.push(state);
    assert.deepEqual(await settled(it, ended), { outcome, calls: [call, 'drop 5'] });
  }
});

test('what it was stopped for decides over what it returned', async () => {
  const done: RunOutcome = { kind: 'done', result: 1 };
  const failed: RunOutcome = { kind: 'failed', error: 'stopped' };
  const unstarted: RunOutcome = { kind: 'unstarted', error: 'e' };
  const cases: readonly [Exclude<StopReason, 'parked'>, RunOutcome, readonly string[], AttemptOutcome][] = [
    ['cancelled', done, ['cancelled'], 'cancelled'],
    ['cancelled', unstarted, ['cancelled'], 'cancelled'],
    ['timeout', done, ['fail RUN_TIMEOUT'], 'retried'],
    ['timeout', failed, ['fail RUN_TIMEOUT'], 'retried'],
    ['shutdown', failed, ['release'], 'released'],
    ['shutdown', unstarted, ['release'], 'released'],
    ['shutdown', done, ['complete 1'], 'completed'],
    ['lost', done, [], 'lost'],
    ['lost', failed, [], 'lost'],
  ];
  for (const [why, ended, calls, outcome] of cases) {
    const it = rig();
    const running = it.attempt.run(it.runner, false);
    it.attempt.stop(why);
    assert.deepEqual(it.stops, [why]);
    it.end.resolve(ended);
    it.calls.length = 0;
    assert.equal(await it.attempt.settle(await running), outcome, `${why} ${ended.kind}`);
    assert.deepEqual(it.calls, [...calls, 'drop 5']);
  }
});

test('the first reason to stop counts, but a lost lease overrides all', async () => {
  const it = rig();
  const running = it.attempt.run(it.runner, false);
  it.attempt.stop('timeout');
  it.attempt.stop('cancelled');
  assert.equal(it.attempt.stopped, 'timeout');
  it.attempt.stop('lost');
  assert.equal(it.attempt.stopped, 'lost');
  it.end.resolve({ kind: 'failed', error: 'x' });
  assert.equal(await it.attempt.settle(await running), 'lost');
});

test('a reason that comes after the end changes nothing', async () => {
  const it = rig();
  const running = it.attempt.run(it.runner, false);
  it.end.resolve({ kind: 'done', result: 'whole' });
  const ended = await running;
  it.attempt.stop('cancelled');
  it.attempt.stop('timeout');
  assert.deepEqual(it.stops, []);
  assert.equal(await it.attempt.settle(ended), 'completed');
});

test('the timeout runs from the start, is known to the renewal, and ends with the run', async () => {
  const it = rig({ timeoutMs: 500 });
  await it.world.advance(10_000);
  const running = it.attempt.run(it.runner, false);
  assert.deepEqual(it.calls, ['hold', 'bound 500', 'run']);
  await it.world.advance(499);
  assert.deepEqual(it.stops, []);
  await it.world.advance(2);
  assert.deepEqual(it.stops, ['timeout']);
  it.end.resolve({ kind: 'failed', error: 'x' });
  await running;
  const quick = rig({ timeoutMs: 500 });
  const fast = quick.attempt.run(quick.runner, false);
  quick.end.resolve({ kind: 'done', result: 1 });
  await fast;
  assert.deepEqual(quick.world.waits, []);
});

test('what was said is shipped before the end is recorded', async () => {
  const it = rig();
  const running = it.attempt.run(it.runner, false);
  it.say('one');
  it.say('two');
  it.end.resolve({ kind: 'done', result: 1 });
  const outcome = it.attempt.settle(await running);
  await it.world.advance(10);
  assert.equal(await outcome, 'completed');
  assert.deepEqual(it.calls.slice(-3), ['log one|two', 'complete 1', 'drop 5']);
});

test('faults that pass are waited out with growing pauses; the lease is held meanwhile', async () => {
  const it = rig();
  it.faults.push(fault('STORE_BUSY'), fault('STORE_FULL'), fault('STORE_UNAVAILABLE'));
  const running = it.attempt.run(it.runner, false);
  it.end.resolve({ kind: 'done', result: 1 });
  const outcome = it.attempt.settle(await running);
  await it.world.settle();
  assert.ok(!it.calls.includes('drop 5'));
  await it.world.advance(1000);
  assert.equal(await outcome, 'completed');
  assert.equal(it.calls.filter((call) => call === 'complete 1').length, 4);
});

test('a lease that is lost meanwhile ends the patience', async () => {
  const it = rig();
  it.faults.push(...Array.from({ length: 100 }, () => fault('STORE_UNAVAILABLE')));
  const running = it.attempt.run(it.runner, false);
  it.end.resolve({ kind: 'done', result: 1 });
  const outcome = it.attempt.settle(await running);
  await it.world.advance(5000);
  it.attempt.stop('lost');
  await it.world.advance(3000);
  assert.equal(await outcome, 'lost');
  assert.equal(it.calls.at(-1), 'drop 5');
});

test('a store that is away stops the run, and what it ended with is recorded all the same', async () => {
  const cases: readonly [RunOutcome, readonly string[], AttemptOutcome][] = [
    [{ kind: 'failed', error: 'stopped' }, ['release'], 'released'],
    [{ kind: 'unstarted', error: 'e' }, ['release'], 'released'],
    [{ kind: 'done', result: 1 }, ['complete 1'], 'completed'],
  ];
  for (const [ended, calls, outcome] of cases) {
    const it = rig();
    const running = it.attempt.run(it.runner, false);
    it.attempt.stop('away');
    assert.deepEqual(it.stops, ['lost']);
    it.end.resolve(ended);
    it.calls.length = 0;
    assert.equal(await it.attempt.settle(await running), outcome);
    assert.deepEqual(it.calls, [...calls, 'drop 5']);
  }
});

test('a refusal is the end of it: the lease is lost, or there is a defect that must be seen', async () => {
  const lost = rig();
  lost.faults.push(fault('LEASE_LOST'));
  assert.equal((await settled(lost, { kind: 'done', result: 1 })).outcome, 'lost');
  const broken = rig();
  broken.faults.push(new TypeError('a defect'));
  await assert.rejects(settled(broken, { kind: 'done', result: 1 }), /a defect/);
  assert.equal(broken.calls.at(-1), 'drop 5');
});

test('a result that cannot be kept gives the task up, with the reason', async () => {
  for (const code of ['INVALID_INPUT', 'TOO_LARGE'] as const) {
    const it = rig();
    it.faults.push(fault(code, { field: 'result' }));
    const { outcome, calls } = await settled(it, { kind: 'done', result: 1 });
    assert.deepEqual([outcome, calls], ['failed', ['complete 1', `fail ${code} {"giveUp":true}`, 'drop 5']]);
  }
});

test('an attempt that was never started is given back, whatever the store makes of it', async () => {
  for (const [state, parting] of [
    ['ready', 'released'],
    ['cancelled', 'cancelled'],
  ] as const) {
    const it = rig();
    it.states.push(state);
    assert.equal(await it.attempt.release(), parting);
    assert.deepEqual(it.calls, ['hold', 'release', 'drop 5']);
  }
  const it = rig();
  it.faults.push(fault('LEASE_LOST'));
  assert.equal(await it.attempt.release(), 'lost');
});

test('a runner that throws did not start it', async () => {
  const it = rig();
  const throwing: Runner = {
    ...it.runner,
    run: () => {
      throw new Error('a defect');
    },
  };
  assert.equal((await it.attempt.run(throwing, false)).kind, 'unstarted');
});

test('once it has parked its lease is let go at once, and nothing more of it counts', async () => {
  for (const how of ['parked', 'cancelled'] as const) {
    const it = rig({ timeoutMs: 5000 });
    it.park.went = how;
    const running = it.attempt.run(it.runner, false);
    it.say('before');
    it.calls.length = 0;
    const parking = it.attempt.session.turn(PARK);
    await it.world.advance(0); // what it said leaves with the next tick
    assert.deepEqual(await parking, { went: how, entries: [] });
    assert.deepEqual(it.calls, ['log before', 'turn park w', 'drop 5']);
    assert.deepEqual([it.attempt.yielded, it.stops], [true, [how]]);
    it.say('after');
    it.attempt.stop('shutdown');
    it.attempt.stop('lost');
    await it.world.advance(60_000);
    assert.deepEqual(it.stops, [how], 'not even its timeout');
    await assert.rejects(it.attempt.session.turn(REMEMBER), { code: 'LEASE_LOST' });
    it.end.resolve({ kind: 'failed', error: 'whatever' });
    assert.equal(await it.attempt.settle(await running), how);
    assert.deepEqual(it.calls, ['log before', 'turn park w', 'drop 5']);
  }
});

test('a turn whose draw is refused lets the lease go as a park does, after what was said before', async () => {
  const it = rig();
  const running = it.attempt.run(it.runner, false);
  it.say('before');
  it.calls.length = 0;
  const drawing = it.attempt.session.turn({ ...REMEMBER, draw: [{ unit: 'tokens', amount: 1 }] });
  await it.world.advance(0);
  assert.equal((await drawing).went, 'parked');
  assert.deepEqual(it.calls, ['log before', 'turn k', 'drop 5']);
  assert.deepEqual([it.attempt.yielded, it.stops], [true, ['parked']]);
  it.end.resolve({ kind: 'failed', error: 'whatever' });
  assert.equal(await it.attempt.settle(await running), 'parked');
});

test('who waits for an answer of the store when its lease cannot be kept waits no longer', async () => {
  for (const why of ['lost', 'away'] as const) {
    const it = rig();
    const running = it.attempt.run(it.runner, false);
    it.faults.push(fault('STORE_BUSY'));
    const remembering = it.attempt.session.turn(REMEMBER);
    await it.world.advance(0);
    it.attempt.stop(why);
    await assert.rejects(remembering, { code: 'LEASE_LOST' });
    assert.equal(it.attempt.stopped, why, 'nobody has said that somebody else has it');
    it.end.resolve({ kind: 'failed', error: 'whatever' });
    await running;
  }
});

test('what is there already is no park: the lease is kept', async () => {
  const it = rig();
  it.park.went = 'woken';
  const running = it.attempt.run(it.runner, false);
  await it.attempt.session.turn(PARK);
  assert.equal(it.attempt.yielded, false);
  it.end.resolve({ kind: 'done', result: 1 });
  assert.equal(await it.attempt.settle(await running), 'completed');
});

test('a run that says it has parked, and has not, is not believed', async () => {
  const it = rig();
  const running = it.attempt.run(it.runner, false);
  it.end.resolve({ kind: 'parked' });
  await assert.rejects(it.attempt.settle(await running), { code: 'INTERNAL' });
});

test('a desk tells of a lost lease, and is closed when the run is over', async () => {
  const it = rig();
  const running = it.attempt.run(it.runner, false);
  it.faults.push(fault('LEASE_LOST'));
  await assert.rejects(it.attempt.session.turn(REMEMBER), { code: 'LEASE_LOST' });
  assert.deepEqual(it.stops, ['lost']);
  it.end.resolve({ kind: 'failed', error: 'stopped' });
  assert.equal(await it.attempt.settle(await running), 'lost');
  const other = rig();
  const over = other.attempt.run(other.runner, false);
  other.end.resolve({ kind: 'done', result: 1 });
  await over;
  await assert.rejects(other.attempt.session.turn(REMEMBER), { code: 'LEASE_LOST' });
});

test('one that reuses results looks for one first, and keeps its own before it ends', async () => {
  const it = rig({ reuses: true });
  const running = it.attempt.run(it.runner, false);
  assert.equal(it.attempt.started, true, 'while it looks, too');
  it.end.resolve({ kind: 'done', result: 1 });
  assert.equal(await it.attempt.settle(await running), 'completed');
  assert.deepEqual(it.calls, ['hold', 'reusable', 'run', 'keep 1', 'complete 1', 'drop 5']);
});

test('what was reused is not run, and not kept once more', async () => {
  const it = rig({ reuses: true });
  it.kept.result = { id: 'task_y', result: '{"n":2}' };
  const outcome = it.attempt.settle(await it.attempt.run(it.runner, false));
  await it.world.advance(10);
  assert.equal(await outcome, 'completed');
  assert.deepEqual(it.calls, ['hold', 'reusable', 'log reused the result of task_y', 'complete {"n":2}', 'drop 5']);
});

test('faults are waited out before the run and after it, and each write is made until it is done', async () => {
  const it = rig({ reuses: true });
  it.faults.push(fault('STORE_BUSY'), fault('STORE_UNAVAILABLE'));
  const running = it.attempt.run(it.runner, false);
  await it.world.advance(1000);
  it.faults.push(fault('STORE_BUSY'));
  it.end.resolve({ kind: 'done', result: 1 });
  await it.world.advance(1000);
  const ended = await running;
  assert.equal(it.calls.at(-1), 'keep 1', 'while it still has its slot');
  assert.equal(await it.attempt.settle(ended), 'completed');
  const looks = ['reusable', 'reusable', 'reusable'];
  assert.deepEqual(it.calls, ['hold', ...looks, 'run', 'keep 1', 'keep 1', 'complete 1', 'drop 5']);
});

test('only a result is kept: not a failure, and not what a stopped run has returned', async () => {
  const cases: readonly [RunOutcome, Exclude<StopReason, 'parked'> | undefined, readonly string[]][] = [
    [{ kind: 'failed', error: 'no' }, undefined, ['fail "no"']],
    [{ kind: 'giveUp', error: 'no' }, undefined, ['fail "no" {"giveUp":true}']],
    [{ kind: 'retryAfter', delayMs: 9, reason: 'r' }, undefined, ['fail "r" {"retryAfterMs":9}']],
    [{ kind: 'done', result: 1 }, 'cancelled', ['cancelled']],
    [{ kind: 'done', result: 1 }, 'timeout', ['fail RUN_TIMEOUT']],
    [{ kind: 'done', result: 1 }, 'lost', []],
    [{ kind: 'done', result: 1 }, 'shutdown', ['keep 1', 'complete 1']],
  ];
  for (const [ended, why, calls] of cases) {
    const it = rig({ reuses: true });
    const running = it.attempt.run(it.runner, false);
    await it.world.settle();
    if (why !== undefined) it.attempt.stop(why);
    it.end.resolve(ended);
    it.calls.length = 0;
    await it.attempt.settle(await running);
    assert.deepEqual(it.calls, [...calls, 'drop 5'], `${ended.kind} ${why}`);
  }
});

test('one that is stopped while it looks for a result goes back, or ends as it was asked to', async () => {
  for (const [why, calls] of [
    ['cancelled', ['cancelled']],
    ['shutdown', ['release']],
    ['lost', []],
  ] as const) {
    const it = rig({ reuses: true });
    it.faults.push(...Array.from({ length: 100 }, () => fault('STORE_UNAVAILABLE')));
    const running = it.attempt.run(it.runner, false);
    await it.world.advance(500);
    it.attempt.stop(why);
    it.faults.length = 0;
    const ended = await running;
    it.calls.length = 0;
    await it.attempt.settle(ended);
    await it.world.advance(60_000);
    assert.deepEqual(it.calls, [...calls, 'drop 5'], why);
  }
});

test('a lease that is lost when its result is kept is lost, and nothing more is said for it', async () => {
  const it = rig({ reuses: true });
  const running = it.attempt.run(it.runner, false);
  await it.world.settle();
  it.calls.length = 0;
  it.faults.push(fault('LEASE_LOST'));
  it.end.resolve({ kind: 'done', result: 1 });
  assert.equal(await it.attempt.settle(await running), 'lost');
  assert.deepEqual(it.calls, ['keep 1', 'drop 5']);
});

test('a result that cannot be kept for others cannot be the result of the task either', async () => {
  const it = rig({ reuses: true });
  const running = it.attempt.run(it.runner, false);
  await it.world.settle();
  it.calls.length = 0;
  it.faults.push(fault('TOO_LARGE', { field: 'result' }), fault('TOO_LARGE', { field: 'result' }));
  it.states.push('failed');
  it.end.resolve({ kind: 'done', result: 1 });
  assert.equal(await it.attempt.settle(await running), 'failed');
  assert.deepEqual(it.calls, ['keep 1', 'keep 1', 'fail TOO_LARGE {"giveUp":true}', 'drop 5']);
});
