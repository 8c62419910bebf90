import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REAL_CLOCK, RetryBackoff, type RetryClock } from './retry-backoff.ts';

/** Time passes by sleeping alone. */
function clock(random: number): RetryClock & { readonly slept: number[] } {
  let now = 1000;
  const slept: number[] = [];
  return {
    slept,
    now: () => now,
    random: () => random,
    sleep: async (ms) => {
      slept.push(ms);
      now += ms;
    },
  };
}

test('pauses grow to two seconds, and all of them fit into the time that there is', async () => {
  const own = clock(1);
  const backoff = new RetryBackoff(own, 10_000);
  while (await backoff.wait(undefined));
  assert.deepEqual(own.slept.slice(0, 7), [50, 100, 200, 500, 1000, 2000, 2000]);
  assert.equal(
    own.slept.reduce((sum, ms) => sum + ms, 0),
    10_000,
  );
  const early = clock(0);
  await new RetryBackoff(early, 10_000).wait(undefined);
  assert.deepEqual(early.slept, [25], 'half of the pause at least');
});

test('what went well in between is a new beginning', async () => {
  const own = clock(1);
  const backoff = new RetryBackoff(own, 160);
  assert.deepEqual([await backoff.wait(undefined), await backoff.wait(undefined)], [true, true]);
  backoff.reset();
  assert.deepEqual([await backoff.wait(undefined), await backoff.wait(undefined)], [true, true]);
  assert.deepEqual([await backoff.wait(undefined), await backoff.wait(undefined)], [true, false]);
  assert.equal(await new RetryBackoff(own, 0).wait(undefined), false, 'no patience, no second try');
});

test('a signal ends the pause with its reason', async () => {
  const stop = new AbortController();
  const waiting = new RetryBackoff(REAL_CLOCK, 1e6).wait(stop.signal);
  stop.abort(new Error('enough'));
  await assert.rejects(waiting, /enough/);
  await assert.rejects(REAL_CLOCK.sleep(1e6, stop.signal), /enough/);
});
