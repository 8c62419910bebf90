import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STATES } from '../../core/task/task.ts';
import type { TaskDetailView } from '../../operate/views.ts';
import { describeTask, whatNext } from './task-page.ts';
import { testOut } from './test-out.ts';

const NOW = new Date(2026, 4, 4, 13, 0, 0).getTime();
const TASK: TaskDetailView = {
  id: 'task_1',
  queue: 'papers',
  handler: 'summarise',
  state: 'ready',
  input: { doi: '10.1000/182' },
  priority: 0,
  attempt: 0,
  tries: 0,
  maxAttempts: 3,
  createdAt: NOW - 192_000,
  attempts: [],
  queuePaused: false,
  workersForIt: 1,
  summary: 'The task can run now: laptop may take it.',
  runnable: true,
};
const page = (task: Partial<TaskDetailView>): string =>
  describeTask({ ...TASK, ...task }, testOut('screen', 100), NOW).join('\n');

test('a task that waits says why, and what to do about it', () => {
  assert.equal(
    page({}),
    [
      'task_1',
      '',
      '  state     ○ ready',
      '  why       The task can run now: laptop may take it.',
      '  queue     papers',
      '  handler   summarise',
      '  tries     0 of 3',
      '  created   2026-05-04 12:56:48 (3m 12s ago)',
      '',
      '  input',
      '    {',
      '      "doi": "10.1000/182"',
      '    }',
      '',
      'Next: nothing to do: it runs in a moment',
    ].join('\n'),
  );
  assert.match(page({ runnable: false }), /Next: leasehold tasks explain task_1/);
  assert.match(page({ runnable: false, workersForIt: 0 }), /Next: start a worker that has the handler summarise/);
  assert.match(page({ queuePaused: true }), /papers \(paused\)[^]*Next: leasehold queues resume papers/);
  assert.match(
    page({ state: 'scheduled', runAt: NOW + 5000 }),
    /scheduled: becomes ready in 5s[^]*due +2026-05-04 13:00:05 \(in 5s\)/,
  );
  assert.match(page({ state: 'scheduled', tries: 1, runAt: NOW - 5000 }), /is tried again as soon as a node looks/);
});

test('a task shows where it may run, what it takes of limits and whose turn it uses', () => {
  const text = page({
    placement: {
      requires: ['gpu', 'memory_gb>=16'],
      handlers: ['resize'],
      only: ['laptop'],
      never: ['spot'],
      maxPerWorker: 2,
      version: '>=1.4',
      prefer: [{ tag: 'eu', weight: 5 }],
      affinity: 'repo',
    },
    limits: [{ name: 'openai', key: 'alice', weight: 2, cost: 1500 }, { name: 'db' }],
    fairness: { key: 'alice', weight: 3 },
  });
  const place = 'requires gpu, memory_gb>=16; handlers resize; only laptop; never spot; version >=1.4; ';
  assert.ok(text.includes(`  place     ${place}at most 2 on one worker; prefers eu; with repo\n`), text);
  assert.match(text, /limits {4}openai:alice\*2 \(cost 1500\), db\n {2}fair {6}alice \(weight 3\)\n/);
});

test('a task that runs shows its worker, what is left of its lease and how far it is', () => {
  const running = { state: 'running', tries: 1, attempt: 2, startedAt: NOW - 3000, worker: 'laptop' } as const;
  const text = page({ ...running, leaseExpiresAt: NOW + 12_000, progress: { done: 4 }, cancelRequestedAt: NOW - 1000 });
  for (const part of [
    /● running/,
    /1 of 3 \(attempt 2\)/,
    /worker +laptop/,
    /lease +12s left/,
    /progress +\{"done":4\}/,
    /asked for 1s ago/,
  ]) {
    assert.match(text, part);
  }
  assert.match(page({ ...running, leaseExpiresAt: NOW - 5000 }), /lease +ran out 5s ago/);
});

test('a task that failed shows why, its attempts and its error', () => {
  const error = { name: 'TypeError', message: 'no such paper', stack: 'TypeError: no such paper\n    at run' };
  const text = page({
    state: 'failed',
    reason: 'exhausted',
    error,
    startedAt: NOW - 2000,
    finishedAt: NOW - 1000,
    attempts: [{ attempt: 1, outcome: 'failed', worker: 'laptop', startedAt: NOW - 2000, endedAt: NOW - 1000, error }],
  });
  assert.match(text, /✗ failed: all its tries are used up/);
  assert.match(text, /finished .* \(1s ago\), took 1.0s/);
  assert.match(text, /^ {4}TypeError: no such paper\n {8}at run$/m);
  assert.match(text, /^ {4}1 {2}failed +laptop .* 1\.0s {2}TypeError: no such paper$/m);
  assert.match(text, /Next: leasehold tasks logs task_1\n {6}leasehold tasks retry task_1/);
});

test('nothing that a task holds can reach the terminal', () => {
  const evil = '\u001b]52;c;eA==\u0007\u009b2J\u202e';
  const text = page({
    state: 'failed',
    input: { [evil]: evil },
    error: evil,
    unique: evil,
    summary: evil,
    placement: { affinity: evil },
    limits: [{ name: 'l', key: evil }],
    fairness: { key: evil, weight: 1 },
    worker: evil,
    progress: evil,
    attempts: [{ attempt: 1, outcome: 'failed', worker: evil, error: { message: evil, name: evil } }],
  });
  assert.doesNotMatch(text, /(?!\n)\p{Cc}|[\u202a-\u202e]/u);
});

test('every state has something to do next', () => {
  for (const state of STATES) assert.ok(whatNext({ ...TASK, state }).length > 0, state);
  const waiting = { ...TASK, state: 'waiting' } as const;
  assert.deepEqual(whatNext({ ...waiting, wait: { kind: 'signal', channel: "o'clock \x1b[31m" } }), [
    "leasehold signal 'o'\\''clock ' JSON",
  ]);
  assert.deepEqual(whatNext({ ...waiting, wait: { kind: 'approval', title: 't', actions: ['go', 'reject'] } }), [
    `leasehold reject ${TASK.id}`,
    `leasehold approve ${TASK.id} --action go`,
  ]);
});
