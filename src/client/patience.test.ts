import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Pace, Patience, REAL_PACE } from './patience.ts';

/** Time passes by sleeping alone. */
function pace(random: number): Pace & { readonly slept: number[] } {
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
  const own = pace(1);
  const patience = new Patience(own, 10_000);
  while (await patience.wait(undefined));
  assert.deepEqual(own.slept.slice(0, 7), [50, 100, 200, 500, 1000, 2000, 2000]);
  assert.equal(
    own.slept.reduce((sum, ms) => sum + ms, 0),
    10_000,
  );
  const early = pace(0);
  await new Patience(early, 10_000).wait(undefined);
  assert.deepEqual(early.slept, [25], 'half of the pause at least');
});

test('what went well in between is a new beginning', async () => {
  const own = pace(1);
  const patience = new Patience(own, 160);
  assert.deepEqual([await patience.wait(undefined), await patience.wait(undefined)], [true, true]);
  patience.renew();
  assert.deepEqual([await patience.wait(undefined), await patience.wait(undefined)], [true, true]);
  assert.deepEqual([await patience.wait(undefined), await patience.wait(undefined)], [true, false]);
  assert.equal(await new Patience(own, 0).wait(undefined), false, 'no patience, no second try');
});

test('a signal ends the pause with its reason', async () => {
  const stop = new AbortController();
  const waiting = new Patience(REAL_PACE, 1e6).wait(stop.signal);
  stop.abort(new Error('enough'));
  await assert.rejects(waiting, /enough/);
  await assert.rejects(REAL_PACE.sleep(1e6, stop.signal), /enough/);
});
