import assert from 'node:assert/strict';
import { test } from 'node:test';
import { traceOf, traceparent } from './trace.ts';

test('the digits of an id are its trace id, and the second half of them its first span id', () => {
  const parent = traceOf('task_01a1e27f-a835-7000-8000-000005e4347b');
  assert.deepEqual(parent, { traceId: '01a1e27fa83570008000000005e4347b', spanId: '8000000005e4347b' });
  assert.equal(parent && traceparent(parent), '00-01a1e27fa83570008000000005e4347b-8000000005e4347b-01');
});

test('a text that is no id has no trace', () => {
  for (const text of ['', 'task_', 'task_01a1e27f', '01a1e27f-a835-7000-8000-000005e4347b', `task_${'-'.repeat(36)}`]) {
    assert.equal(traceOf(text), undefined, text);
  }
});
