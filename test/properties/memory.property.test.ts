import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LEASE_DEFECTS as DEFECTS } from '../sim/defects.ts';
import { full } from '../support/scale.ts';
import { chosenSeed, compare, EVERY, LENGTH } from './compare.ts';
import { Gates, Ground } from './rig.ts';
import { runSteps } from './run.ts';
import { Steps } from './steps.ts';

/** Runs within which a planted defect must be noticed. */
const PATIENCE = 1_000;

/** Of verbs that no operation here calls: logs, bounded waits, claims by number. The simulator calls them, and notices these. */
const OUT_OF_SIGHT: readonly (keyof typeof DEFECTS)[] = [
  'log-unfenced',
  'log-after-the-end',
  'timed-out-early',
  'timed-out-late',
  'number-claims-anything',
];

test('on a store in memory the engine does what the model says, whatever happens', (t) =>
  compare(t, new Ground('memory')));

test('the model notices each planted defect that its operations can meet', {
  skip: full ? false : 'at full scale only',
}, async (t) => {
  const noticed: string[] = [];
  for (const name of (Object.keys(DEFECTS) as (keyof typeof DEFECTS)[]).filter((one) => !OUT_OF_SIGHT.includes(one))) {
    const { what, statements } = DEFECTS[name];
    const ground = new Ground('memory', statements);
    const { seed } = chosenSeed();
    const outcome = await fc.check(
      fc.asyncProperty(new Steps('memory', LENGTH), (steps) => runSteps(ground, steps, new Gates(), { every: EVERY })),
      { numRuns: PATIENCE, seed, endOnFailure: true },
    );
    await ground.remove();
    assert.ok(outcome.failed, `${name} (${what}) was not noticed in ${PATIENCE} runs with seed ${seed}`);
    noticed.push(`${name} in run ${outcome.numRuns}`);
  }
  t.diagnostic(noticed.join(' · '));
});
