import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PRIORITY_MAX } from '../../core/task/task.ts';
import { demandOf, priorityOf } from './demand.ts';
import { type LoopInput, readLoopInput } from './loop-input.ts';
import { FIRST } from './loop-state.ts';
import { checkedBoxes, implementationPrompt, reviewPrompt } from './prompts.ts';

const GIVEN = { workspace: 'main/shop', agent: 'coder', prompt: 'Build a shop.' };

test('the least that a loop needs is a workspace, an agent and what is to be done', () => {
  const { input, problems } = readLoopInput(GIVEN);
  assert.deepEqual(problems, []);
  assert.deepEqual([input?.workspace, input?.agent, input?.reviewAgent], ['main/shop', 'coder', 'coder']);
  const spec = { workspace_root: 'main', agent: { type: 'command' }, review_agent: 'critic', spec_path: 'specs/a.md' };
  assert.deepEqual(readLoopInput(spec).input?.reviewAgent, 'critic');
});

test('all problems are told at once', () => {
  const { input, problems } = readLoopInput({
    workspace: '/etc',
    agent: 3,
    plan_path: '../x',
    config: 'iterations=0',
    zzz: 1,
  });
  assert.equal(input, undefined);
  assert.equal(problems.length, 6);
  for (const field of ['zzz', 'workspace', 'agent', 'plan_path', 'prompt or spec_path', 'iterations'])
    assert.ok(
      problems.some((problem) => problem.startsWith(field)),
      field,
    );
});

test('a run asks for a worker that has its root, and for a place in its workspace', () => {
  assert.deepEqual(demandOf(readLoopInput(GIVEN).input as LoopInput), {
    placement: { requires: ['loop-root=main'], affinity: 'loop:main/shop' },
    limits: [{ name: 'loop.runs' }, { name: 'loop.workspace', key: 'main/shop' }],
  });
});

test('fifo has one priority for all; the newest first stands before all that wait', () => {
  assert.equal(priorityOf('fifo', [3, 9], PRIORITY_MAX), 0);
  assert.equal(priorityOf('newest_first', [], PRIORITY_MAX), 1);
  assert.equal(priorityOf('newest_first', [3, 9, -4], PRIORITY_MAX), 10);
  assert.equal(priorityOf('newest_first', [PRIORITY_MAX], PRIORITY_MAX), PRIORITY_MAX);
});

test('a prompt says what is to be done, how to say that it is done, and what the checks found', () => {
  const { input } = readLoopInput({ ...GIVEN, plan_path: 'plan.md', config: 'context_files=a.md' });
  assert.ok(input !== undefined);
  const prompt = implementationPrompt(input, { ...FIRST, notes: 'make: error', rewrite: 'Try another way.' });
  for (const part of [
    'Build a shop.',
    'plan.md',
    'a.md',
    '<promise>COMPLETE</promise>',
    'make: error',
    'Try another way.',
  ])
    assert.ok(prompt.includes(part), part);
  assert.ok(!implementationPrompt(input, FIRST).includes('The checks failed'));
  assert.match(reviewPrompt(input, { ...FIRST, output: 'I wrote a cart.' }), /I wrote a cart/);
});

test('checked boxes are those of lists', () => {
  assert.equal(checkedBoxes('- [x] a\n  * [X] b\n1. [x] c\n- [ ] d\n[x] e\ntext - [x] f\n-[x] g'), 3);
});
