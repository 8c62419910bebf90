import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { CallBudget } from './budget.ts';

function rig(allowance = { burst: 10, perSecond: 5 }) {
  let now = 0;
  const budget = new CallBudget({ monotonic: () => now }, allowance);
  const may = (caller: string, units = 1): boolean => {
    try {
      budget.spend(caller, units);
      return true;
    } catch (error) {
      assert.ok(isEngineError(error, 'OVERLOADED'));
      return false;
    }
  };
  return { may, pass: (ms: number) => void (now += ms) };
}

test('a caller has so much at once, and some of it back with each second', () => {
  const { may, pass } = rig();
  assert.deepEqual([may('a', 9), may('a'), may('a')], [true, true, false]);
  pass(400);
  assert.deepEqual([may('a', 2), may('a')], [true, false]);
  pass(60_000);
  assert.deepEqual([may('a', 10), may('a')], [true, false], 'no more than that, however long it waited');
});

test('what is refused costs nothing, and nobody pays for another one', () => {
  const { may } = rig();
  assert.deepEqual([may('a', 8), may('a', 3), may('a', 2), may('b', 10)], [true, false, true, true]);
});

test('more than there is at once is for who has it all, and is paid back', () => {
  const { may, pass } = rig();
  assert.equal(may('a', 20), true);
  pass(2000);
  assert.equal(may('a'), false);
  pass(200);
  assert.equal(may('a'), true);
});

test('callers that came once are forgotten, those in debt are not', () => {
  const { may, pass } = rig();
  assert.equal(may('debtor', 10), true);
  for (let i = 0; i < 9_999; i++) assert.equal(may(`c${i}`), true);
  pass(1000);
  assert.equal(may('another'), true);
  assert.equal(may('debtor', 6), false);
  assert.equal(may('debtor', 5), true);
});
