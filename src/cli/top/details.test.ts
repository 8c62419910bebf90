import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExplanationView, TaskDetailView } from '../../operate/views.ts';
import type { Paint } from '../display/out.ts';
import { queuePage, taskPage, workerPage } from './details.ts';
import { NOW, testQueue, testTask, testWorker } from './test-model.ts';

const bare: Paint = (_format, text) => text;

const task = (more: Partial<TaskDetailView> = {}): TaskDetailView => ({
  ...testTask('task_1'),
  attempts: [],
  queuePaused: false,
  workersForIt: 1,
  ...more,
});
const why: ExplanationView = {
  taskId: 'task_1',
  state: 'ready',
  summary: 'It waits for the limit openai.',
  runnable: false,
  reasons: [],
  workers: [{ name: 'laptop', eligible: true, reasons: [] }],
  limits: [],
  dependencies: [],
};

test('of a task that has not ended, why it is where it is comes first', () => {
  const lines = taskPage(task({ state: 'ready' }), why, bare)(100, NOW);
  assert.equal(lines[0], why.summary);
  assert.match(lines.join('\n'), /✓ +laptop +may take it[^]*queue +papers/);
});

test('of a task that has ended, how it ended comes first', () => {
  const lines = taskPage(task({ state: 'failed', reason: 'exhausted', error: { message: 'no' } }), why, bare)(100, NOW);
  assert.match(lines[0] ?? '', /failed: all its tries are used up/);
  assert.doesNotMatch(lines.join('\n'), /may take it/);
});

test('the page of a queue has its counts, what holds it back, and its newest tasks', () => {
  const scale = { runnable: 2, running: 1, blocked_by_limit: 3, oldest_age_s: 90, desired: 3 };
  const text = queuePage(
    testQueue('papers', { ready: 5, paused: true }),
    scale,
    [testTask('task_9')],
    bare,
  )(100, NOW).join('\n');
  assert.match(text, /paused: nothing more is started/);
  assert.match(text, /ready +5/);
  assert.match(text, /2 now, 3 held back by limits/);
  assert.match(text, /has waited 1m 30s/);
  assert.match(text, /task_9 +● running/);
});

test('the page of a worker has its processes and what they run, without what a terminal would act on', () => {
  const one = testWorker('gpu', { host: 'box\u001b[2J', pid: 7, currentTasks: ['task_1', 'task_2'], tags: ['gpu'] });
  const page = workerPage(
    {
      name: 'gpu',
      enabled: false,
      tags: [],
      workers: 1,
      running: 2,
      carries: ['gpu\u202e'],
      processes: [one],
    },
    bare,
  )(100, NOW);
  const text = page.join('\n');
  assert.match(text, /nothing more: it is disabled/);
  assert.match(text, /box, pid 7/);
  assert.match(text, /runs +task_1\n +task_2/);
  for (const line of page) assert.doesNotMatch(line, /\p{Cc}|\u202e/u);
});

test('the page of a worker says what its name may run and what is permitted to its tasks, if that is bounded', () => {
  const page = (grant: Parameters<typeof workerPage>[0]['grant']): string =>
    workerPage(
      { name: 'gpu', enabled: true, tags: [], grant, workers: 0, running: 0, carries: [], processes: [] },
      bare,
    )(100, NOW).join('\n');
  assert.doesNotMatch(page({}), /may run|permitted/);
  const text = page({ handlers: ['render'], permissions: { channels: ['orders:*\u001b'], reuse: true } });
  assert.match(text, /may run +handlers +render\n +queues +all\n +slots +at most 1000/);
  assert.match(text, /permitted +channels +orders:\*.*\n +reuse +kept results/);
  assert.doesNotMatch(text.replaceAll('\n', ''), /\p{Cc}/u);
});
