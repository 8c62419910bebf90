import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { BURST, BYTES_PER_MS, Pace } from './output-throttle.ts';

function paceOf(t: TestContext): { pace: Pace; resumed: () => number; pass: (ms: number) => void } {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 0;
  let resumed = 0;
  const pace = new Pace(
    () => resumed++,
    () => now,
  );
  const pass = (ms: number): void => {
    now += ms;
    t.mock.timers.tick(ms);
  };
  return { pace, resumed: () => resumed, pass };
}

test('a burst passes, and what comes after it waits until the time has paid for it', (t) => {
  const { pace, resumed, pass } = paceOf(t);
  assert.equal(pace.spend(BURST), true);
  assert.equal(pace.spend(BYTES_PER_MS * 10), false);
  assert.equal(pace.waiting, true);
  pass(9);
  assert.equal(resumed(), 0);
  pass(1);
  assert.equal(resumed(), 1);
  assert.equal(pace.waiting, false);
});

test('what was read while it waits is owed as well', (t) => {
  const { pace, resumed, pass } = paceOf(t);
  pace.spend(BURST + BYTES_PER_MS * 10);
  pace.spend(BYTES_PER_MS * 10);
  pass(10);
  assert.equal(resumed(), 0);
  pass(10);
  assert.equal(resumed(), 1);
});

test('a debt that is forgiven wakes nobody', (t) => {
  const { pace, resumed, pass } = paceOf(t);
  pace.spend(BURST * 2);
  pace.clear();
  pass(10_000);
  assert.equal(resumed(), 0);
  assert.equal(pace.spend(BURST), true);
});
