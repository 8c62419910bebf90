import assert from 'node:assert/strict';
import { test } from 'node:test';
import { full, scaled } from '../../support/scale.ts';
import { Gates, MACHINE_GATES } from '../gates.ts';
import { Run, type RunResult } from '../run.ts';
import { Machines } from './cast.ts';

const STEPS = 300;

const play = async (seed: number): Promise<RunResult> =>
  Run.seed(seed, { minSteps: STEPS, cast: await Machines.of(seed) });

test('a seed with machines replays exactly', async () => {
  for (const seed of [11, 12]) {
    const [first, second] = [await play(seed), await play(seed)];
    assert.equal(first.failure, undefined);
    assert.equal(second.digest, first.digest);
    assert.equal(second.steps, first.steps);
  }
});

test('runs of machines end as if nothing had happened, whatever befalls their processes', {
  timeout: 900_000,
}, async (t) => {
  const gates = new Gates();
  const seeds = scaled(10, 500);
  for (let seed = 1; seed <= seeds; seed++) {
    const { failure, gates: reached } = await play(seed);
    gates.add(reached);
    assert.equal(
      failure?.error.message,
      undefined,
      `npm run sim -- --machines --seed ${seed}\n${failure?.trace.join('\n')}`,
    );
  }
  t.diagnostic(`${seeds} seeds`);
  if (full) assert.deepEqual(gates.missing(MACHINE_GATES), [], 'never reached, so it is not shown');
});
