import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask } from './ask.ts';

test('a template that is tried by itself knows the time, as it does in a machine', () => {
  assert.equal(ask('{{ now }}', 'template', {}, 1_500), 1.5);
  assert.equal(ask('{{ now() }}', 'template', {}, 1_500), 1.5);
  assert.equal(ask('now == timestamp(2)', 'cel', {}, 2_000), true);
});
