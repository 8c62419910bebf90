import assert from 'node:assert/strict';
import { test } from 'node:test';
import { droppedBefore, logCost, STREAMS } from './log.ts';

test('the numbers that stores write for streams never change', () => {
  assert.deepEqual(STREAMS, ['stdout', 'stderr', 'log', 'progress', 'system']);
});

test('a line takes its bytes, and an empty one takes room as well', () => {
  assert.deepEqual(['', 'abc', 'ü🚂'].map(logCost), [32, 35, 38]);
});

test('a gap in the numbers of an attempt is what was dropped', () => {
  assert.equal(droppedBefore({ attempt: 1, seq: 1 }, undefined), 0);
  assert.equal(droppedBefore({ attempt: 1, seq: 8 }, { attempt: 1, seq: 7 }), 0);
  assert.equal(droppedBefore({ attempt: 1, seq: 8 }, { attempt: 1, seq: 2 }), 5);
  assert.equal(droppedBefore({ attempt: 2, seq: 4 }, { attempt: 1, seq: 9 }), 3);
});
