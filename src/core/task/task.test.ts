import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EMPTY_STATS } from './event.ts';
import {
  BIRTHS,
  CHANGES,
  type Change,
  isFinal,
  isLegal,
  PRIORITY_MAX,
  PRIORITY_MIN,
  REASONS,
  STATES,
  type TaskState,
  TRANSITIONS,
} from './task.ts';

/** Written out by hand, so that a slip in the table shows: `change: from → to`. */
const LEGAL = `
  created: ∅ → ready
  created: ∅ → scheduled
  created: ∅ → waiting
  claimed: ready → running
  completed: running → completed
  failed: running → failed
  failed: waiting → failed
  cancelled: ready → cancelled
  cancelled: running → cancelled
  cancelled: scheduled → cancelled
  cancelled: waiting → cancelled
  retried: running → ready
  retried: running → scheduled
  released: running → ready
  released: running → scheduled
  expired: running → ready
  expired: running → scheduled
  expired: running → failed
  expired: running → cancelled
  staged: scheduled → ready
  revived: completed → ready
  revived: completed → waiting
  revived: failed → ready
  revived: failed → waiting
  revived: cancelled → ready
  revived: cancelled → waiting
  cancel_requested: running → running
  parked: running → waiting
  woken: waiting → ready
  woken: waiting → scheduled
  timed_out: ready → failed
  timed_out: scheduled → failed
  budget_warned: running → running
`
  .trim()
  .split(/\n\s*/);

const name = (change: Change, from: TaskState | undefined, to: TaskState): string =>
  `${change}: ${from ?? '∅'} → ${to}`;

test('of all changes, states before and states after, exactly the listed ones are legal', () => {
  const found: string[] = [];
  let tried = 0;
  for (const change of CHANGES) {
    for (const from of [undefined, ...STATES]) {
      for (const to of STATES) {
        tried++;
        if (isLegal(change, from, to)) found.push(name(change, from, to));
      }
    }
  }
  assert.equal(tried, 15 * 8 * 7);
  assert.deepEqual(found.sort(), LEGAL.toSorted());
});

test('the table has a rule for every change but the creation, and names states only', () => {
  assert.deepEqual(Object.keys(TRANSITIONS).sort(), CHANGES.filter((change) => change !== 'created').sort());
  for (const { from, to } of Object.values(TRANSITIONS)) {
    for (const state of [...from, ...to]) assert.ok(STATES.includes(state));
  }
});

test('only a revival leaves a final state', () => {
  for (const change of CHANGES) {
    for (const from of STATES.filter(isFinal)) {
      const ways = STATES.filter((to) => isLegal(change, from, to));
      assert.deepEqual(ways, change === 'revived' ? ['ready', 'waiting'] : []);
    }
  }
});

test('every state can be reached from a creation, and a final state from every state', () => {
  const next = (from: TaskState): readonly TaskState[] =>
    STATES.filter((to) => CHANGES.some((change) => isLegal(change, from, to)));
  const reach = (start: readonly TaskState[]): Set<TaskState> => {
    const seen = new Set(start);
    for (const state of seen) for (const to of next(state)) seen.add(to);
    return seen;
  };
  assert.deepEqual([...reach(BIRTHS)].sort(), STATES.toSorted());
  for (const state of STATES) assert.ok([...reach([state])].some(isFinal));
});

test('completed, failed and cancelled are final, and nothing else is', () => {
  assert.deepEqual(STATES.filter(isFinal), ['completed', 'failed', 'cancelled']);
});

test('the numbers that stores write never change: states, changes and reasons keep their positions', () => {
  assert.deepEqual(STATES, ['ready', 'running', 'scheduled', 'waiting', 'completed', 'failed', 'cancelled']);
  assert.deepEqual(CHANGES, [
    'created',
    'claimed',
    'completed',
    'failed',
    'cancelled',
    'retried',
    'released',
    'expired',
    'staged',
    'revived',
    'cancel_requested',
    'parked',
    'woken',
    'timed_out',
    'budget_warned',
  ]);
  assert.deepEqual(REASONS, [
    'none',
    'exhausted',
    'undeliverable',
    'gave_up',
    'requested',
    'dependency',
    'timeout',
    'replaced',
  ]);
});

test('empty statistics have a zero for each state', () => {
  assert.deepEqual(EMPTY_STATS, Object.fromEntries(STATES.map((state) => [state, 0])));
});

test('priorities fit into 16 bits', () => {
  assert.deepEqual([PRIORITY_MIN, PRIORITY_MAX], [-(2 ** 15), 2 ** 15 - 1]);
});
