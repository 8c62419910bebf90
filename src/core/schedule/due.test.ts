import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isEngineError } from '../errors.ts';
import type { MissedPolicy, NextFireTime } from './due.ts';
import { dueFireTimes, fireKey } from './due.ts';

const MINUTE = 60_000;
const YEAR = 365 * 86_400_000;

const everyMinute: NextFireTime = (after) => (Math.floor(after / MINUTE) + 1) * MINUTE;
const fromList =
  (fireTimes: readonly number[]): NextFireTime =>
  (after) =>
    fireTimes.find((fireTime) => fireTime > after);

test('a fire time in the future does not fire and stays the next one', () => {
  for (const policy of ['skip', 'latest', 'all'] as const) {
    assert.deepEqual(dueFireTimes({ nextAt: 2 * MINUTE, now: 2 * MINUTE - 1, policy, next: everyMinute, limit: 5 }), {
      fire: [],
      skipped: undefined,
      nextAt: 2 * MINUTE,
    });
  }
});

test('a fire time fires at its instant under every policy', () => {
  for (const policy of ['skip', 'latest', 'all'] as const) {
    assert.deepEqual(dueFireTimes({ nextAt: MINUTE, now: MINUTE, policy, next: everyMinute, limit: 5 }), {
      fire: [MINUTE],
      skipped: undefined,
      nextAt: 2 * MINUTE,
    });
  }
});

test('all fires each missed fire time, and of more than the limit the latest', () => {
  const all = dueFireTimes({ nextAt: MINUTE, now: 5.5 * MINUTE, policy: 'all', next: everyMinute, limit: 5 });
  assert.deepEqual(all, { fire: [1, 2, 3, 4, 5].map((n) => n * MINUTE), skipped: undefined, nextAt: 6 * MINUTE });
  const some = dueFireTimes({ nextAt: MINUTE, now: 5.5 * MINUTE, policy: 'all', next: everyMinute, limit: 3 });
  assert.deepEqual(some, {
    fire: [3, 4, 5].map((n) => n * MINUTE),
    skipped: { first: MINUTE, before: 3 * MINUTE },
    nextAt: 6 * MINUTE,
  });
});

test('latest fires only the latest missed fire time', () => {
  const due = dueFireTimes({ nextAt: MINUTE, now: 5.5 * MINUTE, policy: 'latest', next: everyMinute, limit: 3 });
  assert.deepEqual(due, {
    fire: [5 * MINUTE],
    skipped: { first: MINUTE, before: 5 * MINUTE },
    nextAt: 6 * MINUTE,
  });
});

test('skip fires a fire time that is late by no more than the grace and drops older ones', () => {
  const at = (now: number, graceMs?: number): unknown =>
    dueFireTimes({
      nextAt: MINUTE,
      now,
      policy: 'skip',
      next: everyMinute,
      limit: 9,
      ...(graceMs === undefined ? {} : { graceMs }),
    });
  const to = (before: number): unknown => ({ first: MINUTE, before });
  assert.deepEqual(at(2 * MINUTE), { fire: [MINUTE, 2 * MINUTE], skipped: undefined, nextAt: 3 * MINUTE });
  assert.deepEqual(at(2 * MINUTE + 1), { fire: [2 * MINUTE], skipped: to(2 * MINUTE), nextAt: 3 * MINUTE });
  assert.deepEqual(at(5 * MINUTE + 1, 0), { fire: [], skipped: to(6 * MINUTE), nextAt: 6 * MINUTE });
  assert.deepEqual(at(5 * MINUTE, 0), { fire: [5 * MINUTE], skipped: to(5 * MINUTE), nextAt: 6 * MINUTE });
});

test('a schedule that has ended has no next fire time', () => {
  const next = fromList([100, 200]);
  for (const policy of ['latest', 'all'] as const) {
    const due = dueFireTimes({ nextAt: 100, now: 500, policy, next, limit: 9 });
    const skipped = policy === 'latest' ? { first: 100, before: 200 } : undefined;
    assert.deepEqual(due, { fire: policy === 'latest' ? [200] : [100, 200], skipped, nextAt: undefined });
  }
  const skipped = dueFireTimes({ nextAt: 100, now: 500, policy: 'skip', next, limit: 9, graceMs: 10 });
  assert.deepEqual(skipped, { fire: [], skipped: { first: 100, before: 501 }, nextAt: undefined });
});

test('a hundred years of missed minutes cost a few calls per halving, not fifty million', () => {
  const most = { skip: 10, latest: 100, all: 26 * 51 + 60 };
  for (const policy of ['skip', 'latest', 'all'] as const) {
    let calls = 0;
    const next: NextFireTime = (after) => {
      calls += 1;
      return everyMinute(after);
    };
    const now = 100 * YEAR + 1;
    const due = dueFireTimes({ nextAt: MINUTE, now, policy, next, limit: 50 });
    assert.ok(calls <= most[policy], `${policy}: ${calls} calls`);
    assert.equal(due.fire.length, policy === 'all' ? 50 : 1);
    assert.equal(due.fire.at(-1), 100 * YEAR);
    assert.equal(due.nextAt, 100 * YEAR + MINUTE);
  }
});

test('a schedule that does not advance is a bug, never an endless loop', () => {
  const broken: readonly NextFireTime[] = [
    (after) => after,
    (after) => after - 1,
    () => Number.NaN,
    (after) => after + 0.5,
  ];
  for (const next of broken) {
    for (const policy of ['skip', 'latest', 'all'] as const) {
      assert.throws(
        () => dueFireTimes({ nextAt: MINUTE, now: YEAR, policy, next, limit: 1_000 }),
        (error: unknown) => isEngineError(error, 'INTERNAL'),
      );
    }
  }
});

test('a limit below one is a bug, because the schedule would never move', () => {
  for (const limit of [0, -1, Number.NaN, 1.5]) {
    assert.throws(
      () => dueFireTimes({ nextAt: 0, now: 1, policy: 'all', next: everyMinute, limit }),
      (error: unknown) => isEngineError(error, 'INTERNAL'),
    );
  }
});

test('for any schedule and any sequence of wake-ups each policy fires what its definition says, and nothing twice', () => {
  const slotLists = fc.uniqueArray(fc.integer({ min: 1, max: 2_000 }), { minLength: 1, maxLength: 60 });
  const wakeUps = fc.array(fc.integer({ min: 0, max: 2_500 }), { minLength: 1, maxLength: 12 });
  const policies = fc.constantFrom<MissedPolicy>('skip', 'latest', 'all');
  const limits = fc.integer({ min: 1, max: 8 });
  fc.assert(
    fc.property(
      slotLists,
      wakeUps,
      policies,
      limits,
      fc.integer({ min: 0, max: 300 }),
      (list, times, policy, limit, graceMs) => {
        const fireTimes = list.sort((a, b) => a - b);
        const next = fromList(fireTimes);
        const fired: number[] = [];
        let nextAt: number | undefined = fireTimes[0];
        for (const now of times) {
          if (nextAt === undefined) break;
          const before: number = nextAt;
          const due = dueFireTimes({ nextAt: before, now, policy, next, limit, graceMs });
          const missed = fireTimes.filter((fireTime) => fireTime >= before && fireTime <= now);
          const wanted = {
            all: missed.slice(-limit),
            latest: missed.slice(-1),
            skip: missed.filter((fireTime) => fireTime >= now - graceMs).slice(-limit),
          };
          assert.deepEqual(due.fire, wanted[policy]);
          const end = due.skipped?.before ?? before;
          assert.deepEqual(
            due.fire,
            missed.filter((fireTime) => fireTime >= end),
          );
          if (due.skipped !== undefined) assert.ok(due.skipped.first === before && end > before);
          assert.equal(due.nextAt, before > now ? before : next(now));
          fired.push(...due.fire);
          nextAt = due.nextAt;
        }
        assert.deepEqual(
          fired,
          [...new Set(fired)].sort((a, b) => a - b),
        );
      },
    ),
    { numRuns: 500 },
  );
});

test('a fire time has one key, made of the name and the instant', () => {
  assert.equal(fireKey('nightly', Date.UTC(2026, 2, 29, 1, 30)), 'cron:nightly:2026-03-29T01:30:00.000Z');
});
