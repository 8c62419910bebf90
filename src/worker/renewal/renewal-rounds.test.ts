import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fault } from '../../core/errors.ts';
import type { Lease } from '../../core/task/lease.ts';
import type { RenewalAnswer } from '../../protocol/link.ts';
import { type LeaseNotice, RenewalRounds } from './renewal-rounds.ts';
import { RenewalTable } from './renewal-table.ts';

const LEASE_MS = 3000;

function rig() {
  const table = new RenewalTable(4);
  const notices: LeaseNotice[] = [];
  const renewed: Lease[][] = [];
  const blocked: { task: number; afterMs: number }[] = [];
  let now = 1000;
  let answer: () => Promise<readonly RenewalAnswer[]> | readonly RenewalAnswer[] = () =>
    renewed.at(-1)!.map(() => 'held');
  const rounds = new RenewalRounds({
    table,
    leaseMs: LEASE_MS,
    maxBlockMs: 60_000,
    now: () => now,
    notify: (item) => notices.push(item),
    renewals: {
      renew: async (leases) => {
        renewed.push(leases.map(({ task, attempt }) => ({ task, attempt })));
        return answer();
      },
      blocked: async ({ task }, afterMs) => void blocked.push({ task, afterMs }),
      close: async () => {},
    },
  });
  return {
    table,
    notices,
    renewed,
    blocked,
    hold: (index: number, task: number, deadline = 0) => table.put(index, { task, attempt: 1, since: now, deadline }),
    answers: (fn: typeof answer) => {
      answer = fn;
    },
    /** One look, not waited for. */
    elapse: (ms: number): void => {
      now += ms;
      table.beat(now);
      void rounds.tick();
    },
    /** The loop turns all the while, unless it is blocked. */
    pass: async (ms: number, options: { blocked?: boolean } = {}): Promise<void> => {
      for (let left = ms; left > 0; left -= 250) {
        now += Math.min(250, left);
        if (!options.blocked) table.beat(now);
        await rounds.tick();
      }
    },
  };
}

test('a lease is renewed at a third of its time, all that are due in one call', async () => {
  const { hold, pass, renewed } = rig();
  hold(0, 1);
  hold(2, 2);
  await pass(750);
  assert.deepEqual(renewed, []);
  await pass(250);
  assert.deepEqual(renewed, [
    [
      { task: 1, attempt: 1 },
      { task: 2, attempt: 1 },
    ],
  ]);
  await pass(1000);
  assert.equal(renewed.length, 2);
});

test('an answer that was long under way is followed by another renewal at once, with all that became due meanwhile', async () => {
  const { hold, elapse, renewed, answers, notices } = rig();
  const first = Promise.withResolvers<readonly RenewalAnswer[]>();
  answers(() => first.promise);
  hold(0, 1);
  elapse(1000);
  hold(1, 2);
  for (let i = 0; i < 5; i++) elapse(250);
  assert.equal(renewed.length, 1, 'one call at a time');
  answers(() => ['held', 'held']);
  first.resolve(['held']);
  await new Promise((resolve) => void setImmediate(resolve));
  assert.deepEqual(
    renewed.at(-1)?.map(({ task }) => task),
    [1, 2],
  );
  // Counted from the first call it would be late by now.
  for (let i = 0; i < 7; i++) elapse(250);
  assert.deepEqual(notices, []);
});

test('what is let go is not renewed, and the next lease in its place has its own time', async () => {
  const { hold, pass, renewed, table } = rig();
  hold(0, 1);
  await pass(900);
  table.clear(0);
  hold(0, 5);
  await pass(900);
  assert.deepEqual(renewed, []);
  await pass(250);
  assert.deepEqual(renewed, [[{ task: 5, attempt: 1 }]]);
});

test('a lost lease is told once and left alone from then on; a wish to cancel is told and the lease kept', async () => {
  const { hold, pass, renewed, notices, answers } = rig();
  hold(0, 1);
  hold(1, 2);
  answers(() => (renewed.length === 1 ? ['lost', 'cancel'] : ['held']));
  await pass(2000);
  assert.deepEqual(notices, [
    { task: 1, attempt: 1, kind: 'lost' },
    { task: 2, attempt: 1, kind: 'cancel' },
  ]);
  assert.deepEqual(renewed[1], [{ task: 2, attempt: 1 }]);
});

test('a store that cannot be reached is tried again at each look, and the lease is given up before it could have run out', async () => {
  const { hold, pass, renewed, notices, answers } = rig();
  hold(0, 1);
  answers(() => Promise.reject(fault('STORE_UNAVAILABLE')));
  await pass(2500);
  assert.ok(renewed.length >= 5);
  assert.deepEqual(notices, []);
  await pass(250);
  assert.deepEqual(notices, [{ task: 1, attempt: 1, kind: 'away' }], 'half a second before its end at 3000');
  await pass(2000);
  assert.equal(notices.length, 1);
});

test('a call that hangs is not doubled, and what it holds up is given up in time all the same', async () => {
  const { hold, elapse, renewed, notices, answers } = rig();
  hold(0, 1);
  answers(() => new Promise(() => {}));
  for (let i = 0; i < 11; i++) elapse(250);
  assert.equal(renewed.length, 1);
  assert.deepEqual(notices, [{ task: 1, attempt: 1, kind: 'away' }]);
});

test('who did not even ask in time is late, however well the store is', async () => {
  const { hold, pass, elapse, renewed, notices } = rig();
  hold(0, 1);
  await pass(1250);
  assert.equal(renewed.length, 1);
  elapse(3000);
  assert.deepEqual(notices, [{ task: 1, attempt: 1, kind: 'late' }]);
});

test('a blocked loop keeps its lease until the run timeout, then the attempt is ended for it', async () => {
  const { hold, pass, renewed, notices, blocked } = rig();
  hold(0, 1, 1000 + 9000);
  await pass(9000, { blocked: true });
  assert.ok(renewed.length >= 8, 'three lease times long');
  assert.deepEqual(blocked, []);
  await pass(500, { blocked: true });
  assert.deepEqual(notices, [{ task: 1, attempt: 1, kind: 'blocked' }]);
  assert.deepEqual(blocked, [{ task: 1, afterMs: 9250 }]);
  const before = renewed.length;
  await pass(5000, { blocked: true });
  assert.equal(renewed.length, before, 'nobody renews it any more');
});

test('a loop that turns is trusted with its own timeout: the lease is kept past it while the handler is being stopped', async () => {
  const { hold, pass, notices, blocked } = rig();
  hold(0, 1, 2000);
  await pass(10_000);
  assert.deepEqual([notices, blocked], [[], []]);
});

test('without a run timeout a blocked loop keeps its lease for as long as the worker allows', async () => {
  const { hold, pass, notices } = rig();
  hold(0, 1);
  await pass(60_000, { blocked: true });
  assert.equal(notices.length, 0);
  await pass(500, { blocked: true });
  assert.deepEqual(notices, [{ task: 1, attempt: 1, kind: 'blocked' }]);
});
