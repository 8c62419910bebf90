import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAYS, randomOf } from '../../bench/arrivals/days.ts';
import { fixed, ours, thresholdRule } from '../../bench/arrivals/policies.ts';
import { type Outcome, simulate } from '../../bench/arrivals/simulate.ts';

// The simulated days of bench:arrivals, with the decision that the scaler asks for.

const MOST = 20;
const mean = ({ waits }: Outcome): number => waits.reduce((sum, wait) => sum + wait, 0) / waits.length;
const pool = (idleMs: string, life: 'once' | 'stay') =>
  ours(life, { policy: { max: MOST, idleMs: idleMs as '1m' }, worker: { life } });

for (const [name, day] of Object.entries(DAYS)) {
  const arrivals = day(randomOf(7));
  const hours = arrivals.reduce((sum, { takes }) => sum + takes, 0) / 3600;

  test(`on a ${name} day every task is done, by no more workers than the most, which are all gone afterwards`, () => {
    for (const policy of [pool('1m', 'stay'), pool('5m', 'stay'), pool('1m', 'once')]) {
      const outcome = simulate(arrivals, policy);
      assert.equal(outcome.waits.length, arrivals.length);
      assert.ok(outcome.waits.every((wait) => wait >= 0));
      assert.ok(outcome.most <= MOST && outcome.workerHours >= hours);
      assert.equal(outcome.sizes.at(-1)?.[1], 0);
    }
  });

  test(`on a ${name} day tasks wait less than by the rule of a threshold, for fewer worker-hours`, () => {
    const [rule, own] = [thresholdRule(MOST), pool('1m', 'stay')].map((policy) => simulate(arrivals, policy));
    assert.ok(own !== undefined && rule !== undefined);
    assert.ok(mean(own) < mean(rule), `${mean(own)} s and ${mean(rule)} s`);
    assert.ok(own.workerHours < rule.workerHours, `${own.workerHours} h and ${rule.workerHours} h`);
    assert.ok(own.workerHours < simulate(arrivals, fixed(MOST)).workerHours / 2);
  });
}
