import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunDetailView, RunStepView, RunWaitView } from '../../operate/views.ts';
import { answersTo, describeRun } from './run-page.ts';

const wait = (task: string, more: Partial<RunWaitView>): RunWaitView => ({
  task,
  key: 'w',
  kind: 'signal',
  since: 0,
  ...more,
});

test('the budget of a run is raised once, for all its tasks that wait for it', () => {
  const waits = ['a', 'b'].map((task) => wait(task, { kind: 'budget', key: 'budget:calls' }));
  assert.deepEqual(answersTo({ id: 'root', waits }), ['leasehold runs budget root calls=AMOUNT']);
  assert.deepEqual(answersTo({ id: 'a', root: 'root', waits }), ['leasehold runs budget root calls=AMOUNT']);
});

test('of many waits the first say what to type', () => {
  const waits = Array.from({ length: 40 }, (_, n) => wait(`t${n}`, { channel: `k/${n}` }));
  const answers = answersTo({ id: 'root', waits });
  assert.deepEqual([answers.length, answers[0]], [10, 'leasehold signal k/0 JSON']);
});

test('a run took the time since it was started, and what has not ended goes on', () => {
  const run = {
    id: 'r',
    kind: 'machine',
    title: 'm',
    state: 'waiting',
    queue: 'q',
    handler: 'machine',
    attempt: 3,
    labels: {},
    createdAt: 0,
    startedAt: 8_990,
    summary: 'waits',
    members: {},
    totals: { apiCalls: 0, tokens: 0, cost: 0, agentMs: 0 },
    budgets: [],
    waits: [],
  } as const satisfies RunDetailView;
  const step = { task: 'r', attempt: 3, forkable: false } as const;
  const steps = {
    steps: [
      { ...step, key: 'attempt:3', kind: 'attempt', name: 'whole', began: 1_000, at: 1_000, state: 'waiting' },
      { ...step, key: 's:000001/0', kind: 'child', name: 'short', at: 1_000, ended: 4_000, state: 'completed' },
      { ...step, key: 's:000001/1', kind: 'child', name: 'open', at: 1_000, state: 'running' },
    ] satisfies RunStepView[],
    more: false,
  };
  const out = { paint: (_: unknown, text: string) => text, columns: 100 } as Parameters<typeof describeRun>[2];
  const page = describeRun(run, steps, out, 9_000).join('\n');
  assert.match(page, /whole .* 8\.0s.*waiting/);
  assert.match(page, /short .* 3\.0s.*completed/);
  assert.match(page, /open .* 8\.0s.*running/);
  assert.match(
    describeRun({ ...run, state: 'completed', finishedAt: 9_000 }, steps, out, 9_000).join('\n'),
    /took 9\.0s/,
  );
});
