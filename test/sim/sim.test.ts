import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REGRESSIONS } from './regressions.ts';
import { Run } from './run.ts';

const STEPS = 300;

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
