import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { StopLadder } from './stop-ladder.ts';

/** A ladder in a time that only `pass` moves. */
function ladderOf(t: TestContext): { ladder: StopLadder; steps: string[]; pass: (ms: number) => void } {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 1000;
  const steps: string[] = [];
  const ladder = new StopLadder(
    (step, why, afterMs) => steps.push(`${step} ${why} ${afterMs}`),
    () => now,
  );
  const pass = (ms: number): void => {
    now += ms;
    t.mock.timers.tick(ms);
  };
  return { ladder, steps, pass };
}

test('abort at once, SIGTERM after abortMs, SIGKILL termMs after that', (t) => {
  const { ladder, steps, pass } = ladderOf(t);
  ladder.stop('timeout', { abortMs: 2000, termMs: 3000 });
  assert.deepEqual(steps, ['abort timeout 0']);
  pass(1999);
  assert.equal(steps.length, 1);
  pass(1);
  assert.deepEqual(steps.slice(1), ['SIGTERM timeout 2000']);
  pass(2999);
  assert.equal(steps.length, 2);
  pass(1);
  assert.deepEqual(steps.slice(2), ['SIGKILL timeout 5000']);
  pass(100_000);
  assert.equal(steps.length, 3);
});

test('a second call may only make it steeper, and the first reason stays', (t) => {
  const { ladder, steps, pass } = ladderOf(t);
  ladder.stop('cancelled', { abortMs: 1000, termMs: 1000 });
  ladder.stop('lost', { abortMs: 5000, termMs: 5000 });
  pass(500);
  ladder.stop('lost', { abortMs: 100, termMs: 100 });
  pass(100);
  pass(100);
  assert.deepEqual(steps, ['abort cancelled 0', 'SIGTERM cancelled 600', 'SIGKILL cancelled 700']);
});

test('a hard stop is one call, without SIGTERM', (t) => {
  const { ladder, steps } = ladderOf(t);
  ladder.stop('shutdown', { abortMs: 0, termMs: 0 });
  assert.deepEqual(steps, ['abort shutdown 0', 'SIGKILL shutdown 0']);
});

test('nothing happens after it is finished', (t) => {
  const { ladder, steps, pass } = ladderOf(t);
  ladder.stop('timeout', { abortMs: 10, termMs: 10 });
  ladder.finish();
  pass(100);
  ladder.stop('shutdown', { abortMs: 0, termMs: 0 });
  assert.deepEqual(steps, ['abort timeout 0']);
});

test('a step of more than 25 days is not due at once', (t) => {
  const { ladder, steps, pass } = ladderOf(t);
  ladder.stop('cancelled', { abortMs: 2 ** 40, termMs: 1 });
  pass(1000);
  assert.deepEqual(steps, ['abort cancelled 0']);
});
