import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventsOfLoop, type LoopFacts } from './loop-events.ts';
import { type StateEntry, stepsOfLoop } from './steps.ts';

const ended = (n: number, state: string, at: number, out: object, lease = 1): StateEntry => ({
  n,
  state,
  lease,
  at,
  out,
});
const ENTRIES = [
  ended(1, 'prepare', 10, {}),
  ended(2, 'decide', 10, {}),
  ended(3, 'implementation', 20, { status: 'SUCCEEDED', exit_code: 0, output: 'done' }),
  ended(4, 'decide', 20, {}),
  ended(5, 'verification', 20, { last: { status: 'FAILED', exit_code: 3, output: 'no', message: 'make: 3' } }),
  ended(6, 'decide', 21, {}),
];
const STANDING = { n: 7, state: 'implementation', lease: 1, status: 'IN_PROGRESS' as const };
const FACTS: LoopFacts = {
  status: 'RUNNING',
  createdAt: 5,
  startedAt: 6,
  finishedAt: undefined,
  lease: 1,
  n: 7,
  worker: 'w',
  reason: undefined,
  steps: stepsOfLoop(ENTRIES, STANDING, 6),
  pauses: [],
};

test('phases are steps with their attempts, however they tell of their ends', () => {
  const steps = stepsOfLoop(ENTRIES, STANDING, 6);
  assert.deepEqual(
    steps.map(({ phase, status, attempt, exitCode, output, startedAt, endedAt }) => [
      phase,
      status,
      attempt,
      exitCode,
      output,
      startedAt,
      endedAt,
    ]),
    [
      ['implementation', 'SUCCEEDED', 1, 0, 'done', 10, 20],
      ['verification', 'FAILED', 1, 3, 'no', 20, 20],
      ['implementation', 'IN_PROGRESS', 2, undefined, undefined, 21, undefined],
    ],
  );
  assert.deepEqual(stepsOfLoop([], { ...STANDING, state: 'decide' }, 6), [], 'a state that is no phase is no step');
});

test('two events of one millisecond have numbers of their own, in their order', () => {
  const events = eventsOfLoop(FACTS);
  assert.deepEqual(
    events.map(({ type, at }) => `${type} ${at}`),
    [
      'RUN_CREATED 5',
      'RUN_STARTED 6',
      'STEP_STARTED 10',
      'STEP_FINISHED 20',
      'STEP_STARTED 20',
      'STEP_FINISHED 20',
      'STEP_STARTED 21',
    ],
  );
  assert.equal(new Set(events.map(({ id }) => id)).size, events.length);
});

test('the number of an event stays, whatever comes after it', () => {
  const before = eventsOfLoop(FACTS);
  const more = [...ENTRIES, ended(7, 'implementation', 30, { status: 'SUCCEEDED' })];
  const after = eventsOfLoop({
    ...FACTS,
    status: 'FAILED',
    finishedAt: 40,
    n: 8,
    steps: stepsOfLoop(more, undefined, 6),
  });
  assert.deepEqual(
    after.slice(0, before.length).map(({ id, type }) => [id, type]),
    before.map(({ id, type }) => [id, type]),
  );
  assert.deepEqual(
    after.slice(before.length).map(({ type }) => type),
    ['STEP_FINISHED', 'RUN_FAILED'],
  );
});

test('what follows a run that was cancelled and tried again has higher numbers than its end had', () => {
  const cancelled = eventsOfLoop({ ...FACTS, status: 'CANCELED', finishedAt: 25 });
  const again = stepsOfLoop([...ENTRIES, ended(7, 'implementation', 30, { status: 'SUCCEEDED' }, 2)], undefined, 6);
  const last = cancelled.at(-1)?.id ?? 0;
  const later = eventsOfLoop({ ...FACTS, lease: 2, steps: again }).filter(({ id }) => id > last);
  assert.deepEqual(
    later.map(({ type }) => type),
    ['STEP_STARTED', 'STEP_FINISHED'],
  );
});

test('a prompt that was rewritten and a pause are told of', () => {
  const entries = [
    ended(3, 'watchdog', 20, { last: { status: 'SUCCEEDED', signal: 'no_progress', decision: 'rewrite' } }),
  ];
  const pauses = [{ n: 5, lease: 1, from: 22, until: { lease: 2, at: 30 } }];
  const events = eventsOfLoop({ ...FACTS, steps: stepsOfLoop(entries, undefined, 6), pauses });
  assert.deepEqual(
    events.slice(3).map(({ type }) => type),
    ['STEP_FINISHED', 'WATCHDOG_REWRITE', 'RUN_PAUSED', 'RUN_RESUMED'],
  );
});
