import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedTimer } from './shared-timer.ts';

test('each is called once a round, for the first time after a whole one', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const timer = new SharedTimer(1000);
  let now = 0;
  const calls: (readonly [string, number])[] = [];
  const join = (name: string): (() => void) => timer.join(() => void calls.push([name, now]));
  const pass = (ms: number): void => {
    for (let i = 0; i < ms; i += 100) {
      now += 100;
      t.mock.timers.tick(100);
    }
  };
  join('a');
  pass(300);
  const leave = join('b');
  pass(2000);
  leave();
  pass(1000);
  assert.deepEqual(calls, [
    ['a', 1000],
    ['b', 1300],
    ['a', 2000],
    ['b', 2300],
    ['a', 3000],
  ]);
});

test('thousands wake the process as often as one does, and nobody does not at all', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const set = t.mock.method(globalThis, 'setInterval');
  const cleared = t.mock.method(globalThis, 'clearInterval');
  const timer = new SharedTimer(1000);
  const stops = Array.from({ length: 2000 }, () => timer.join(() => {}));
  t.mock.timers.tick(5000);
  assert.equal(set.mock.callCount(), 1);
  for (const stop of stops) stop();
  stops[0]?.();
  assert.equal(cleared.mock.callCount(), 1);
  timer.join(() => {});
  assert.equal(set.mock.callCount(), 2, 'who comes afterwards is called again');
});
