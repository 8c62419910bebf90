import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { BURST, BYTES_PER_MS, OutputThrottle } from './output-throttle.ts';

function paceOf(t: TestContext): { throttle: OutputThrottle; resumed: () => number; pass: (ms: number) => void } {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 0;
  let resumed = 0;
  const throttle = new OutputThrottle(
    () => resumed++,
    () => now,
  );
  const pass = (ms: number): void => {
    now += ms;
    t.mock.timers.tick(ms);
  };
  return { throttle, resumed: () => resumed, pass };
}

test('a burst passes, and what comes after it waits until the time has paid for it', (t) => {
  const { throttle, resumed, pass } = paceOf(t);
  assert.equal(throttle.spend(BURST), true);
  assert.equal(throttle.spend(BYTES_PER_MS * 10), false);
  assert.equal(throttle.waiting, true);
  pass(9);
  assert.equal(resumed(), 0);
  pass(1);
  assert.equal(resumed(), 1);
  assert.equal(throttle.waiting, false);
});

test('what was read while it waits is owed as well', (t) => {
  const { throttle, resumed, pass } = paceOf(t);
  throttle.spend(BURST + BYTES_PER_MS * 10);
  throttle.spend(BYTES_PER_MS * 10);
  pass(10);
  assert.equal(resumed(), 0);
  pass(10);
  assert.equal(resumed(), 1);
});

test('a debt that is forgiven wakes nobody', (t) => {
  const { throttle, resumed, pass } = paceOf(t);
  throttle.spend(BURST * 2);
  throttle.clear();
  pass(10_000);
  assert.equal(resumed(), 0);
  assert.equal(throttle.spend(BURST), true);
});
