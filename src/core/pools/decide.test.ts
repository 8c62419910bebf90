import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { backoffMs, decidePool, type PoolState, type PoolWorker } from './decide.ts';
import { checkPool, type PolicyInput, type PoolSpec } from './pool.ts';

const NOW = 1_000_000;
const pool = (policy: PolicyInput = {}, enabled = true): PoolSpec => checkPool('p', { policy, enabled });
const quiet: PoolState = {
  runnable: 0,
  blocked: 0,
  oldestAgeMs: 0,
  starting: 0,
  workers: [],
  upAt: undefined,
  downAt: undefined,
  failures: 0,
  failedAt: undefined,
};
const state = (wish: Partial<PoolState>): PoolState => ({ ...quiet, ...wish });
let numbers = 0;
const worker = (wish: Partial<PoolWorker> = {}): PoolWorker => {
  numbers += 1;
  return { worker: numbers, running: 0, leaving: false, idleMs: 0, ours: true, ...wish };
};
const busy = (count: number): PoolWorker[] => Array.from({ length: count }, () => worker({ running: 1 }));
const idle = (count: number, idleMs = 0): PoolWorker[] => Array.from({ length: count }, () => worker({ idleMs }));

const decide = (wish: Partial<PoolState>, policy: PolicyInput = {}) => {
  const { want, launch, drain, reasons } = decidePool(state(wish), pool(policy), NOW);
  return { want, launch, drain: drain.length, reasons: reasons.join(' ') };
};

test('an empty queue asks for nobody, and a task that waits for a worker', () => {
  assert.deepEqual(decide({}), { want: 0, launch: 0, drain: 0, reasons: '' });
  assert.deepEqual(decide({ runnable: 1 }), { want: 1, launch: 1, drain: 0, reasons: 'work' });
  assert.deepEqual(decide({ runnable: 3 }, { max: 10 }), { want: 3, launch: 3, drain: 0, reasons: 'work' });
});

test('a busy worker serves none of the tasks that wait, and one that starts or is idle serves one', () => {
  assert.equal(decide({ runnable: 3, workers: busy(3) }).launch, 3);
  assert.equal(decide({ runnable: 3, workers: [...busy(3), ...idle(1)] }).launch, 2);
  assert.equal(decide({ runnable: 3, starting: 2, workers: busy(3) }).launch, 1);
  assert.equal(decide({ runnable: 3, starting: 3 }).launch, 0);
});

test('there are never more than the most, and who leaves still counts', () => {
  assert.deepEqual(decide({ runnable: 100, starting: 1, workers: busy(2) }, { max: 5 }), {
    want: 5,
    launch: 2,
    drain: 0,
    reasons: 'work at_max',
  });
  const leaving = [worker({ running: 1, leaving: true }), worker({ leaving: true })];
  assert.deepEqual(decide({ runnable: 3, workers: [...leaving, ...busy(2)] }, { max: 5 }), {
    want: 5,
    launch: 1,
    drain: 0,
    reasons: 'work at_max',
  });
  assert.equal(decide({ runnable: 9, starting: 9 }, { max: 5 }).launch, 0, 'the most was lowered');
  assert.equal(decide({ runnable: 9 }, { max: 0 }).launch, 0);
});

test('the least number of workers is there without any work', () => {
  assert.deepEqual(decide({}, { min: 2 }), { want: 2, launch: 2, drain: 0, reasons: 'below_min' });
  assert.equal(decide({ workers: idle(2, 1e9) }, { min: 2 }).drain, 0);
  assert.equal(decide({ workers: idle(3, 1e9) }, { min: 2 }).drain, 1);
});

test('work that its limits hold asks for nobody', () => {
  assert.deepEqual(decide({ blocked: 1000 }), { want: 0, launch: 0, drain: 0, reasons: 'limits' });
  assert.equal(decide({ runnable: 1, blocked: 1000 }).launch, 1);
});

test('a worker is there for several tasks, those that it runs among them', () => {
  assert.equal(decide({ runnable: 10 }, { tasksPerWorker: 4 }).launch, 3);
  assert.equal(decide({ runnable: 2, workers: [worker({ running: 2 })] }, { tasksPerWorker: 4 }).launch, 0);
  assert.equal(decide({ runnable: 3, workers: [worker({ running: 2 })] }, { tasksPerWorker: 4 }).launch, 1);
});

test('below the threshold nobody is started beside others; without others, or when a task is late, somebody is', () => {
  const few = { scaleUpThreshold: 5, tasksPerWorker: 1 };
  assert.deepEqual(decide({ runnable: 4, workers: busy(1) }, few), {
    want: 1,
    launch: 0,
    drain: 0,
    reasons: 'below_threshold',
  });
  assert.equal(decide({ runnable: 4 }, few).launch, 4);
  assert.equal(decide({ runnable: 5, workers: busy(1) }, few).launch, 5);
  const late = { ...few, targetWaitMs: 1000 };
  assert.deepEqual(decide({ runnable: 4, oldestAgeMs: 1001, workers: busy(1) }, late).reasons, 'late');
  assert.equal(decide({ runnable: 4, oldestAgeMs: 1001, workers: busy(1) }, late).launch, 4);
  const slow = { tasksPerWorker: 10, targetWaitMs: 1000 };
  assert.equal(decide({ runnable: 4, oldestAgeMs: 1001, workers: busy(1) }, slow).launch, 4);
});

test('time that will change a decision is told', () => {
  const again = (wish: Partial<PoolState>, policy: PolicyInput = {}) =>
    decidePool(state(wish), pool(policy), NOW).againMs;
  assert.equal(
    again({ runnable: 4, oldestAgeMs: 400, workers: busy(1) }, { scaleUpThreshold: 5, targetWaitMs: 1000 }),
    601,
  );
  assert.equal(again({ runnable: 1, upAt: NOW - 300 }, { cooldownUpMs: 1000 }), 700);
  assert.equal(again({ workers: idle(1, 400) }, { idleMs: 1000 }), 600);
  assert.equal(again({ workers: [...idle(1, 2000), ...idle(1, 400)] }, { idleMs: 1000 }), 600);
  assert.equal(again({ workers: [...idle(1, 2000), ...idle(1, 400)] }, { idleMs: 1000, cooldownDownMs: 900 }), 900);
  assert.equal(again({ workers: [...idle(1, 2000), ...idle(1, 400)] }, { idleMs: 1000, min: 1 }), undefined);
  assert.equal(again({ workers: [...idle(1, 2000), ...busy(1)] }, { idleMs: 1000 }), undefined);
  assert.equal(again({ workers: [...idle(1, 2000), ...idle(1, 1000)] }, { idleMs: 1000 }), undefined);
  assert.equal(again({ workers: idle(1, 2000), upAt: NOW - 300 }, { idleMs: 1000, cooldownDownMs: 1000 }), 700);
  const both = { runnable: 1, oldestAgeMs: 400, workers: idle(2, 900) };
  assert.equal(again(both, { idleMs: 1000, targetWaitMs: 1000 }), 100);
  assert.equal(again({ runnable: 1, failures: 2, failedAt: NOW - 500 }), 1500);
  assert.equal(again({ runnable: 9 }, { burst: 2 }), 1000);
  assert.equal(again({ runnable: 2, starting: 2 }), undefined);
});

test('a pause after a change holds back the next one, but not the least number', () => {
  const slow = { cooldownUpMs: 1000, cooldownDownMs: 1000, idleMs: 1000, min: 1 };
  assert.equal(decide({ runnable: 2, upAt: NOW - 999, workers: busy(1) }, slow).reasons, 'work cooldown_up');
  assert.equal(decide({ runnable: 2, upAt: NOW - 1000, workers: busy(1) }, slow).launch, 2);
  assert.equal(decide({ runnable: 2, upAt: NOW - 1 }, slow).launch, 2, 'there are less than the least');
  const spare = { workers: idle(3, 5000) };
  assert.equal(decide({ ...spare, upAt: NOW - 999 }, slow).reasons, 'cooldown_down');
  assert.equal(decide({ ...spare, downAt: NOW - 999 }, slow).drain, 0);
  assert.equal(decide({ ...spare, downAt: NOW - 1000 }, slow).drain, 2);
  assert.equal(decide({ runnable: 2, upAt: NOW + 50_000, workers: busy(1) }, slow).launch, 0, 'the clock was set back');
});

test('after failed starts the next one waits, each time twice as long, and after many of them one is tried', () => {
  assert.deepEqual([0, 1, 2, 3, 7, 8, 999].map(backoffMs), [0, 1000, 2000, 4000, 60_000, 60_000, 60_000]);
  assert.equal(decide({ runnable: 9, failures: 1, failedAt: NOW - 999 }).reasons, 'work backoff');
  assert.equal(decide({ runnable: 9, failures: 2, failedAt: NOW - 2000 }).launch, 9);
  assert.deepEqual(decide({ runnable: 9, failures: 3, failedAt: NOW - 4000 }), {
    want: 9,
    launch: 1,
    drain: 0,
    reasons: 'work probe',
  });
});

test('one check starts no more than its burst', () => {
  assert.deepEqual(decide({ runnable: 9 }, { burst: 4 }), { want: 9, launch: 4, drain: 0, reasons: 'work burst' });
});

test('who has been idle for longest goes first, and nobody goes who is busy, foreign or on the way out', () => {
  const [young, old, foreign, gone] = [
    worker({ idleMs: 2000 }),
    worker({ idleMs: 9000 }),
    worker({ idleMs: 9999, ours: false }),
    worker({ idleMs: 9999, leaving: true }),
  ];
  const workers = [...busy(2), young, old, foreign, gone] as PoolWorker[];
  const drained = (policy: PolicyInput, more: Partial<PoolState> = {}) =>
    decidePool(state({ workers, ...more }), pool({ idleMs: 1000, ...policy }), NOW).drain;
  assert.deepEqual(drained({}), [old?.worker, young?.worker]);
  assert.deepEqual(drained({ min: 4 }), [old?.worker]);
  assert.deepEqual(drained({}, { runnable: 2 }), [old?.worker], 'four are needed for two and two');
  assert.deepEqual(drained({ idleMs: 5000 }), [old?.worker]);
  const same = [worker({ idleMs: 5 }), worker({ idleMs: 5 })];
  assert.deepEqual(drained({ idleMs: 0, min: 1 }, { workers: same }), [same[0]?.worker]);
});

test('a pool that is off starts nobody and sends home who has no task', () => {
  const workers = [...busy(1), worker(), worker({ leaving: true })];
  const { want, launch, drain, reasons } = decidePool(state({ runnable: 9, workers }), pool({}, false), NOW);
  assert.deepEqual([want, launch, drain, reasons], [0, 0, [workers[1]?.worker], ['off']]);
});

const workers = fc.array(
  fc.record({
    running: fc.nat(3),
    leaving: fc.boolean(),
    idleMs: fc.nat(5000),
    ours: fc.boolean(),
  }),
  { maxLength: 12 },
);
const time = fc.option(fc.integer({ min: NOW - 5000, max: NOW + 100 }), { nil: undefined });
const anyState: fc.Arbitrary<PoolState> = fc
  .record({
    runnable: fc.nat(40),
    blocked: fc.nat(40),
    oldestAgeMs: fc.nat(5000),
    starting: fc.nat(6),
    workers,
    upAt: time,
    downAt: time,
    failures: fc.nat(6),
    failedAt: time,
  })
  .map((one) => ({
    ...one,
    workers: one.workers.map((some, i) => ({ ...some, worker: i + 1, idleMs: some.running > 0 ? 0 : some.idleMs })),
  }));
const anyPool: fc.Arbitrary<PoolSpec> = fc
  .record({
    min: fc.nat(4),
    more: fc.nat(12),
    tasksPerWorker: fc.integer({ min: 1, max: 5 }),
    scaleUpThreshold: fc.nat(8),
    targetWaitMs: fc.option(fc.nat(4000), { nil: undefined }),
    idleMs: fc.nat(4000),
    cooldownUpMs: fc.nat(3000),
    cooldownDownMs: fc.nat(3000),
    burst: fc.integer({ min: 1, max: 10 }),
    enabled: fc.constantFrom(true, true, true, false),
  })
  .map(({ more, enabled, ...policy }) => pool({ ...policy, max: policy.min + more }, enabled));
const each = (holds: (one: PoolState, spec: PoolSpec) => void): void =>
  fc.assert(fc.property(anyState, anyPool, holds), { numRuns: 2000 });

test('whatever is found, a decision starts no more than there is room for, and starts and sends home never at once', () => {
  each((one, spec) => {
    const { launch, drain, want, there } = decidePool(one, spec, NOW);
    assert.ok(launch >= 0 && (launch === 0 || launch + there <= spec.policy.max));
    assert.ok(launch === 0 || drain.length === 0);
    assert.ok(launch <= spec.policy.burst);
    if (spec.enabled) assert.ok(want >= spec.policy.min && want <= spec.policy.max);
  });
});

test('whatever is found, only idle workers of ours are sent home, and those who stay are enough', () => {
  each((one, spec) => {
    const { drain, want } = decidePool(one, spec, NOW);
    const staying = one.workers.filter(({ leaving }) => !leaving);
    for (const id of drain) {
      const sent = staying.find((some) => some.worker === id);
      assert.ok(sent !== undefined && sent.running === 0);
      if (spec.enabled) assert.ok(sent.ours && sent.idleMs >= spec.policy.idleMs);
    }
    assert.equal(new Set(drain).size, drain.length);
    if (drain.length > 0) assert.ok(one.starting + staying.length - drain.length >= want);
  });
});

test('whatever is found, tasks that limits hold change nothing', () => {
  each((one, spec) => {
    const [with_, without] = [decidePool(one, spec, NOW), decidePool({ ...one, blocked: 0 }, spec, NOW)];
    assert.deepEqual([with_.launch, with_.drain, with_.want], [without.launch, without.drain, without.want]);
  });
});

test('whatever is found, more work never means fewer workers', () => {
  each((one, spec) => {
    const more = decidePool({ ...one, runnable: one.runnable + 1 }, spec, NOW);
    // Below the threshold one more task may take away the right to start; that is what a threshold is.
    if (one.runnable > 0 || spec.policy.scaleUpThreshold <= 1) {
      assert.ok(more.want >= decidePool(one, spec, NOW).want);
    }
  });
});

test('whatever is found, a task that waits in a pool without workers is seen to, at once or after a time that is told', () => {
  each((one, spec) => {
    if (!spec.enabled || spec.policy.max === 0 || one.runnable === 0) return;
    const { launch, againMs } = decidePool({ ...one, starting: 0, workers: [] }, spec, NOW);
    assert.ok(launch > 0 || (againMs !== undefined && againMs > 0 && againMs <= 60_000));
  });
});
