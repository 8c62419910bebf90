import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stepHead } from './step-head.ts';

test('the beginning of a step tells its number, its state and what was passed', () => {
  const step = { n: 3, step: 5, state: 'a "b" \\', via: ['x]', 'y"'], passed: ['z'], out: { n: 1 } };
  const text = JSON.stringify(step);
  const { out: _out, ...head } = step;
  assert.deepEqual(stepHead(text), head);
  assert.deepEqual(stepHead(text.slice(0, text.indexOf('"out"'))), head);
  const { via: _via, passed: _passed, ...bare } = head;
  assert.deepEqual(stepHead(JSON.stringify(bare)), { ...bare, via: [], passed: [] });
});

test('lists that are cut off are left out, and what is no step is none', () => {
  const text = JSON.stringify({ n: 1, step: 1, state: 'a', via: ['x'.repeat(50)] });
  assert.deepEqual(stepHead(text.slice(0, 50)), { n: 1, step: 1, state: 'a', via: [], passed: [] });
  for (const other of ['', '{}', '5', '{"n":1}', '{"n":1,"step":1,"state":"a'])
    assert.equal(stepHead(other), undefined);
});
