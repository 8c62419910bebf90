import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonIn } from './json-text.ts';

test('nothing written is no value, null is one, and what is not JSON says so', () => {
  assert.deepEqual(jsonIn('  \n'), { ok: true });
  assert.deepEqual(jsonIn('null'), { ok: true, value: null });
  assert.deepEqual(jsonIn(' {"a": [1]} '), { ok: true, value: { a: [1] } });
  const wrong = jsonIn('{"a":');
  assert.ok(!wrong.ok && wrong.problem.startsWith('This is not JSON: '));
});
