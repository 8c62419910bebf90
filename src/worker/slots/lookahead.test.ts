import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lookahead } from './lookahead.ts';

const after = (slots: number, runMs: number, claimMs = 2): number => {
  const lookahead = new Lookahead(slots, 250);
  for (let i = 0; i < 100; i++) {
    lookahead.ran(runMs);
    lookahead.claimed(claimMs);
  }
  return lookahead.size;
};

test('nothing is claimed ahead before the first run is over: it may take hours', () => {
  assert.equal(new Lookahead(8, 250).size, 0);
});

test('tasks that take no time are claimed ahead up to the bound', () => {
  assert.equal(after(8, 0.01), 250);
});

test('tasks of a millisecond are claimed ahead as many as two claims last', () => {
  assert.equal(after(8, 1), 32);
});

test('tasks that take longer than claims are not claimed ahead', () => {
  assert.equal(after(8, 33), 0);
  assert.equal(after(1, 100), 0);
});

test('one long run among short ones does not empty the look-ahead, many do', () => {
  const lookahead = new Lookahead(8, 250);
  for (let i = 0; i < 100; i++) lookahead.ran(0.01);
  lookahead.ran(1);
  assert.equal(lookahead.size, 250);
  for (let i = 0; i < 50; i++) lookahead.ran(1000);
  assert.equal(lookahead.size, 0);
});

test('what lay too long starts it again from none', () => {
  const lookahead = new Lookahead(8, 250);
  lookahead.ran(0.01);
  assert.equal(lookahead.size, 250);
  lookahead.tooMuch();
  assert.equal(lookahead.size, 0);
});
