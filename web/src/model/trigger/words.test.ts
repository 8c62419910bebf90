import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actionText, countsText, isProblem, outcomeState, outcomeText, sourceText } from './words.ts';

test('what a trigger listens to is said in words', () => {
  assert.equal(
    sourceText({ kind: 'event', on: 'task_finished', states: ['failed'], queues: ['mail'] }),
    'a task ends as failed, in mail',
  );
  assert.equal(sourceText({ kind: 'event', on: 'of_a_later_version' }), 'of_a_later_version');
  assert.equal(sourceText({ kind: 'webhook', path: '/api/v1/hooks/paid' }), 'POST /api/v1/hooks/paid');
  assert.equal(sourceText({ kind: 'file', folder: '/srv', match: '*.pdf' }), 'a file /srv/*.pdf');
  assert.equal(sourceText({ kind: 'manual' }), 'somebody asks for it');
});

test('what a trigger does is said in words', () => {
  const action = (of: object): string => actionText({ kind: 'manual', ...of });
  assert.equal(action({ push: { queue: 'orders' } }), 'push a task to orders');
  assert.equal(action({ push: { queue: 'orders', handler: 'bill' } }), 'push a task to orders for bill');
  assert.equal(action({ run: { workflow: 'ingest' }, execution: 'process' }), 'run ingest, by a process');
  assert.equal(action({ run: { graph: {} } }), 'run a graph of its own');
  assert.equal(action({ check: 'papers' }), 'check the pool papers');
});

test('what became of a delivery has the detail that the node gives', () => {
  assert.equal(outcomeText({ outcome: 'pushed', state: 'running' }), 'started');
  assert.equal(outcomeText({ outcome: 'failed', detail: 'no such pool' }), 'nothing was started: no such pool');
  assert.equal(outcomeText({ outcome: 'later' }), 'later');
});

test('a delivery whose task has failed is a problem as well', () => {
  assert.equal(isProblem({ outcome: 'pushed', state: 'failed' }), true);
  assert.equal(isProblem({ outcome: 'refused' }), true);
  assert.equal(isProblem({ outcome: 'pushed', state: 'running' }), false);
  assert.equal(isProblem({ outcome: 'done' }), false);
  assert.equal(outcomeState({ outcome: 'pushed' }), 'completed', 'its task was pruned');
});

test('deliveries are counted by what became of them, the most first', () => {
  const all = ['refused', 'pushed', 'pushed', 'stopped'].map((outcome) => ({ outcome }));
  assert.equal(countsText(all), '2 started, 1 kept out by a limit or a key, 1 stopped');
});
