import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Seen, scheduling } from './scheduling.ts';
import type { GroundMaker } from './scheduling-grounds.ts';

export const WHAT =
  'random workers, limits, graphs, turns, waits and edits: who may starts, within the limits, and as Explain says';
const STEPS = 120;
/** The same worlds each time; `LEASEHOLD_SEED=$RANDOM` begins elsewhere. */
const FIRST = Number.parseInt(process.env['LEASEHOLD_SEED'] ?? '', 10) || 1;

function nothing(): Seen {
  return {
    grants: 0,
    heldBack: 0,
    edits: 0,
    reaped: 0,
    parked: 0,
    births: 0,
    grandchildren: 0,
    turnsRepeated: 0,
    stoppedBirths: 0,
    signalsTaken: 0,
    signalsKept: 0,
    deadlines: 0,
    doomed: 0,
    cancelledRunning: 0,
    ratesReached: 0,
  };
}

/** So many worlds, one after the other; together they must have met everything that they are about. */
export async function worlds(t: TestContext, make: GroundMaker, count: number): Promise<void> {
  const seen = nothing();
  for (let seed = FIRST; seed < FIRST + count; seed++) await scheduling(await make(seed), seed, STEPS, seen);
  t.diagnostic(`${count} worlds from seed ${FIRST}: ${JSON.stringify(seen)}`);
  assert.ok(seen.grants > count * 10, 'the worlds were too easy');
  for (const [what, times] of Object.entries(seen)) assert.ok(times > 0, `no world ever met: ${what}`);
}

/** The first of so many worlds that goes wrong, and how; undefined: none does. */
export async function firstWrong(make: GroundMaker, count: number): Promise<string | undefined> {
  for (let seed = FIRST; seed < FIRST + count; seed++) {
    try {
      await scheduling(await make(seed), seed, STEPS, nothing());
    } catch (error) {
      return (error as Error).message;
    }
  }
  return undefined;
}
