import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failuresInARow, isBeyond, iterationsOf, type LoopPhase, nextAttempt, type PhaseRecord } from './records.ts';

/** `v+` is a verification that passed. */
function records(text: string): readonly PhaseRecord[] {
  const names: Readonly<Record<string, LoopPhase>> = { i: 'implementation', r: 'review', v: 'verification' };
  const all: PhaseRecord[] = [];
  for (const [one = '', end] of text.split(' ').filter(Boolean)) {
    const phase = names[one] as LoopPhase;
    all.push({ phase, attempt: nextAttempt(all, phase), ok: end === '+' });
  }
  return all;
}

test('attempts are counted for each phase by itself', () => {
  const all = records('i+ r+ v- i+ r+ v+');
  assert.deepEqual(
    all.map(({ attempt }) => attempt),
    [1, 1, 1, 2, 2, 2],
  );
  assert.equal(nextAttempt(all, 'implementation'), 3);
  assert.equal(nextAttempt(all, 'merge'), 1);
});

test('a success ends a row of failures, and other phases do not', () => {
  assert.equal(failuresInARow(records('i+ v- i+ r- v-'), 'verification'), 2);
  assert.equal(failuresInARow(records('i+ v- i+ r- v- i+ v+'), 'verification'), 0);
  assert.equal(failuresInARow(records('i+ v- i+ v+ i+ v-'), 'verification'), 1);
});

test('each phase has a row of its own', () => {
  const all = records('i+ r- v- i+ r- v-');
  assert.deepEqual([failuresInARow(all, 'review'), failuresInARow(all, 'verification')], [2, 2]);
  assert.equal(failuresInARow(records('i+ r- v+ i+ r- v+'), 'verification'), 0);
});

test('a bound of 0 is none', () => {
  assert.equal(isBeyond(100, 0), false);
  assert.deepEqual([isBeyond(2, 3), isBeyond(3, 3), isBeyond(4, 3)], [false, true, true]);
});

test('an iteration is an implementation, whatever came of it', () => {
  assert.equal(iterationsOf(records('i+ v- i- i+ v+')), 3);
});
