import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFECTS } from './defects.ts';
import { REGRESSIONS } from './regressions.ts';
import { Run } from './run.ts';

const STEPS = 300;
/** A defect that hides longer than this from the simulator counts as missed. */
const PATIENCE = 400;

/** Seeds that have shown a defect which hides from the first ones, tried before all others. Any change of the engine may end that. */
const SHOWN: Readonly<Record<string, number>> = {
  'cancel-lost-to-reap': 74,
  'checkpoint-replaced': 9,
  'lost-worker-untold': 10,
  'reap-renewed': 22,
  'renew-after-reap': 9,
  'renew-unfenced': 8,
  'return-unfenced': 8,
  'revival-drops-signal': 10,
  'revived-unplanned': 8,
  'setting-unfenced': 26,
  'settle-unfenced': 6,
  'signal-wakes-anything': 52,
  'slot-fires-twice': 34,
  'taken-forgotten': 22,
  'trigger-moved-back': 7,
};

function* seeds(name: string): Generator<number> {
  const shown = SHOWN[name];
  if (shown !== undefined) yield shown;
  for (let seed = 1; seed <= PATIENCE; seed++) yield seed;
}

for (const [name, { what, statements }] of Object.entries(DEFECTS)) {
  // Longer than other tests may take: a machine that is busy tries no more than a seed a second.
  test(`the simulator notices when ${what}`, { timeout: PATIENCE * 2000 }, async (t) => {
    for (const seed of seeds(name)) {
      const { failure } = await Run.seed(seed, { minSteps: STEPS, statements });
      if (failure === undefined) continue;
      t.diagnostic(`${name}: seed ${seed}, ${failure.error.message.slice(0, 120)}`);
      return;
    }
    assert.fail(`${name} was not noticed in ${PATIENCE} seeds`);
  });
}

test('a seed replays exactly', async () => {
  for (const seed of [11, 12, 13]) {
    const first = await Run.seed(seed, { minSteps: STEPS });
    const second = await Run.seed(seed, { minSteps: STEPS });
    assert.equal(first.failure, undefined);
    assert.equal(second.digest, first.digest);
    assert.equal(second.steps, first.steps);
  }
});

test('two seeds differ', async () => {
  const first = await Run.seed(21, { minSteps: STEPS });
  const second = await Run.seed(22, { minSteps: STEPS });
  assert.notEqual(first.digest, second.digest);
});

for (const { seed, found } of REGRESSIONS) {
  test(`seed ${seed} stays clean; it once showed that ${found}`, async () => {
    const { failure } = await Run.seed(seed, { minSteps: STEPS });
    assert.equal(failure?.error.message, undefined, failure?.trace.join('\n'));
  });
}
