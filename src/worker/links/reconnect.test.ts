import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TICKS } from '../../protocol/peer-liveness.ts';
import { roundMs } from '../renewal/renewal-rounds.ts';
import { answerMs, pauseMs, renewMs, tickMs, tryMs } from './reconnect.ts';

const here = (leaseMs: number) => ({ leaseMs, away: false });
/** The longest that can be drawn. */
const longest = (): number => 1 - Number.EPSILON;

/** From the last renewal to the next one, if the network is gone for so long in the worst of moments. */
function worstMs(leaseMs: number, goneMs: number): number {
  const noticed = Math.max(goneMs, TICKS * tickMs(leaseMs));
  const back = tryMs(here(leaseMs), 0) + pauseMs(here(leaseMs), 9, longest);
  return renewMs(leaseMs) + roundMs(leaseMs) + noticed + back;
}

/** From here on a lease that was not renewed is taken for lost. */
const lateMs = (leaseMs: number): number => leaseMs - Math.min(1000, leaseMs / 6);

test('a network that is gone for a third of a lease leaves time for its renewal, for half of a lease of fifteen seconds too', () => {
  for (let leaseMs = 4000; leaseMs <= 600_000; leaseMs += 500) {
    assert.ok(worstMs(leaseMs, leaseMs / 3) < lateMs(leaseMs), `a third of ${leaseMs} ms`);
    if (leaseMs >= 15_000) assert.ok(worstMs(leaseMs, leaseMs / 2) < lateMs(leaseMs), `half of ${leaseMs} ms`);
  }
});

test('a question that nobody answers is asked again in time too', () => {
  for (let leaseMs = 7000; leaseMs <= 600_000; leaseMs += 500) {
    const again = answerMs(leaseMs) + pauseMs(here(leaseMs), 9, longest);
    assert.ok(renewMs(leaseMs) + roundMs(leaseMs) + leaseMs / 3 + again < lateMs(leaseMs), `${leaseMs} ms`);
  }
});

test('who has nothing left to save, or was never there, has time', () => {
  assert.deepEqual([tryMs({ leaseMs: 3000, away: true }, 0), tryMs(here(0), 0)], [30_000, 30_000]);
  const pauses = [0, 1, 2, 3, 4, 5, 6, 7].map((tries) => pauseMs({ leaseMs: 3000, away: true }, tries, longest));
  assert.deepEqual(pauses, [100, 500, 1000, 2000, 5000, 10_000, 15_000, 15_000]);
  assert.equal(
    pauseMs(here(0), 9, () => 0),
    0,
  );
});

test('a network that is slow when it is well has three times as long as it took', () => {
  assert.equal(tryMs(here(3000), 700), 2100);
  assert.equal(tryMs(here(3000), 20), 500);
  assert.equal(tryMs(here(3000), 60_000), 30_000);
});
