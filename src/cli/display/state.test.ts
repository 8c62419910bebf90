import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STATES as ALL, REASONS } from '../../core/task/task.ts';
import { reasonWords, STATES, stateText } from './state.ts';
import { widthOf } from './width.ts';

test('every state has a symbol of its own, one column wide', () => {
  assert.deepEqual(new Set(STATES), new Set(ALL));
  const symbols = ALL.map((state) => stateText(state).slice(0, -state.length - 1));
  assert.equal(new Set(symbols).size, ALL.length);
  for (const symbol of symbols) assert.equal(widthOf(symbol), 1);
});

test('every reason but none has words', () => {
  for (const reason of REASONS) assert.equal(reasonWords(reason) === undefined, reason === 'none', reason);
});
