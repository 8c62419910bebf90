import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pause } from './pause.ts';
import type { Timers } from './world.ts';

/** Timers that fire when the test says so. */
function rig(): {
  timers: Timers;
  set: { ms: number; unref: boolean | undefined; fire: () => void }[];
  cancelled: number;
} {
  const it = {
    set: [] as { ms: number; unref: boolean | undefined; fire: () => void }[],
    cancelled: 0,
    timers: {
      after: (ms: number, fire: () => void, options?: { readonly unref?: boolean }) => {
        it.set.push({ ms, unref: options?.unref, fire });
        return () => void it.cancelled++;
      },
      soon: () => assert.fail('nothing is planned for the next turn'),
    },
  };
  return it;
}

test('a pause ends when its time is over, and keeps the process alive unless told otherwise', async () => {
  const it = rig();
  const plain = pause(it.timers, 5);
  const loose = pause(it.timers, 7, { unref: true });
  assert.deepEqual(
    it.set.map(({ ms, unref }) => [ms, unref]),
    [
      [5, false],
      [7, true],
    ],
  );
  for (const { fire } of it.set) fire();
  await Promise.all([plain, loose]);
});

test('a signal ends a pause early, cancels its timer, and keeps no listener of it', async () => {
  const it = rig();
  const stop = new AbortController();
  const waiting = pause(it.timers, 1000, { signal: stop.signal });
  stop.abort();
  await waiting;
  assert.equal(it.cancelled, 1);
  it.set[0]?.fire();
});

test('a pause on a signal that has come already sets no timer', async () => {
  const it = rig();
  await pause(it.timers, 1000, { signal: AbortSignal.abort() });
  assert.deepEqual(it.set, []);
});
