import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STREAMS } from './log.ts';

test('the numbers that stores write for streams never change', () => {
  assert.deepEqual(STREAMS, ['stdout', 'stderr', 'log', 'progress', 'system']);
});
