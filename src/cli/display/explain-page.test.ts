import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExplanationView } from '../../operate/views.ts';
import { describeExplanation } from './explain-page.ts';
import { testOut } from './test-out.ts';

const NOW = new Date(2026, 4, 4, 13, 0, 0).getTime();
const WHY: ExplanationView = {
  taskId: 'task_1',
  state: 'ready',
  summary: 'The limit openai for alice is full: 2 of 2 are in use.',
  runnable: false,
  reasons: [],
  workers: [],
  limits: [],
  dependencies: [],
};
const page = (why: Partial<ExplanationView>, mode: 'screen' | 'plain' = 'screen'): string =>
  describeExplanation({ ...WHY, ...why }, testOut(mode, 100), NOW).join('\n');

test('the sentence comes first, then limits with what they hold, then who may take the task, then who may not', () => {
  const text = page({
    reasons: ['its queue papers is paused'],
    limits: [
      { name: 'openai', used: 3, cap: 4, holders: ['task_7'], open: true },
      { name: 'openai', key: 'alice', used: 2, cap: 2, holders: ['task_7', 'task_8'], open: false },
      { name: 'calls', used: 1, holders: [], open: false, freesAt: NOW + 5000 },
    ],
    workers: [
      { name: 'laptop', eligible: false, reasons: ['is draining', 'lacks the tag gpu'] },
      { name: 'gpu-1', eligible: true, reasons: [] },
    ],
  });
  assert.equal(
    text,
    [
      'task_1  ○ ready',
      '',
      'The limit openai for alice is full: 2 of 2 are in use.',
      '',
      '  reasons',
      '    ✗  its queue papers is paused',
      '',
      '  limits',
      '    ✓  openai        3 of 4 in use; held by task_7',
      '    ✗  openai:alice  2 of 2 in use; held by task_7, task_8',
      '    ✗  calls         1 in use; nothing starts before 2026-05-04 13:00:05 (in 5s)',
      '',
      '  workers',
      '    ✓  gpu-1   may take it',
      '    ✗  laptop  is draining; lacks the tag gpu',
    ].join('\n'),
  );
});

test('a task that waits for others shows how these stand', () => {
  const text = page({
    state: 'waiting',
    dependencies: [
      { taskId: 'task_7', state: 'running', optional: false },
      { taskId: 'task 8', state: 'gone', optional: true },
    ],
  });
  assert.match(text, / {2}waits for\n {4}● running {2}task_7\n {4}gone {7}task 8 \(optional\)$/);
});

test('a large fleet is cut on a terminal and whole in a pipe', () => {
  const workers = Array.from({ length: 100 }, (_, i) => ({ name: `w${i}`, eligible: false, reasons: ['is disabled'] }));
  assert.match(page({ workers }), / {4}… and 70 more; --json has all$/);
  assert.equal(page({ workers }, 'plain').match(/is disabled/g)?.length, 100);
});

test('nothing that others wrote can reach the terminal', () => {
  const evil = '\u001b]52;c;eA==\u0007\u009b2J\u202e';
  const text = page({
    summary: evil,
    reasons: [evil],
    limits: [{ name: 'l', key: evil, used: 1, holders: [], open: false }],
    workers: [{ name: evil, eligible: false, reasons: [evil] }],
    dependencies: [{ taskId: evil, state: 'ready', optional: false }],
  });
  assert.doesNotMatch(text, /(?!\n)\p{Cc}|[\u202a-\u202e]/u);
});
