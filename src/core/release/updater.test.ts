import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  beginTrial,
  DEFAULT_TERMS,
  installedState,
  isTriedOut,
  MOST_STARTS,
  mayUpgrade,
  notReached,
  rollBack,
  startTrial,
  trialPassed,
  upgradeFailed,
} from './updater.ts';

const TERMS = { retryMs: 1000, pinMs: 60_000 };
const RELEASE = { version: '0.2.0', minVersion: '0.1.0' };
const first = installedState('0.1.0', '0.1.0');

test('a trial that passes leaves nothing behind but the release', () => {
  const tried = startTrial(beginTrial({ ...first, failures: 2, problem: 'x' }, RELEASE));
  assert.deepEqual(tried.trial, { previous: '0.1.0', starts: 1 });
  assert.equal(tried.version, '0.2.0');
  assert.deepEqual(trialPassed(tried), { version: '0.2.0', newest: '0.2.0', floor: '0.1.0', failures: 0 });
});

test('a trial that fails goes back once, and its release may come again', () => {
  const back = rollBack(beginTrial(first, RELEASE), 'it did not connect', 5000, TERMS);
  assert.deepEqual(back, {
    version: '0.1.0',
    newest: '0.1.0',
    floor: '0.1.0',
    failures: 1,
    problem: 'it did not connect',
    notBefore: 6000,
  });
  // Without a trial there is nothing to go back to.
  assert.equal(rollBack(first, 'x', 0, TERMS).version, '0.1.0');
});

test('the third failure in a row pins the release for a day', () => {
  const [a, b, c] = [1, 2, 3].reduce<(typeof first)[]>(
    (states, n) => [...states, upgradeFailed(states.at(-1) ?? first, `problem ${n}`, 1000 * n, DEFAULT_TERMS)],
    [],
  ) as [typeof first, typeof first, typeof first];
  assert.deepEqual([a.failures, a.notBefore, a.pinned], [1, 61_000, undefined]);
  assert.deepEqual([b.failures, b.notBefore, b.pinned], [2, 122_000, undefined]);
  assert.deepEqual([c.failures, c.notBefore, c.pinned, c.problem], [0, 3000 + 24 * 3_600_000, true, 'problem 3']);
  assert.equal(mayUpgrade(c, 24 * 3_600_000), false);
  assert.equal(mayUpgrade(c, 3000 + 24 * 3_600_000), true);
});

test('a node that is away is tried again, and is no failure of the release', () => {
  const after = notReached({ ...first, failures: 2 }, 'no answer', 1000, TERMS);
  assert.deepEqual([after.failures, after.notBefore], [2, 2000]);
});

test('starts of a trial are counted, and too many without a verdict are one', () => {
  assert.equal(startTrial(first), first);
  assert.equal(isTriedOut(first), false);
  let state = beginTrial(first, RELEASE);
  for (let n = 0; n < MOST_STARTS; n++) {
    assert.equal(isTriedOut(state), false);
    state = startTrial(state);
  }
  assert.equal(isTriedOut(state), true);
  assert.equal(mayUpgrade(state, 0), false);
  assert.equal(mayUpgrade(first, 0), true);
});
