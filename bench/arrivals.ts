/**
 * `npm run bench:arrivals`: how long tasks wait and how many worker-hours are paid, by who decides how many workers there are. Simulated days, decided by the
 * function that the scaler asks; nothing here depends on the machine.
 *
 *     node bench/arrivals.ts [--days 20] [--no-record]
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chartOf } from './arrivals/chart.ts';
import { DAYS, randomOf } from './arrivals/days.ts';
import { fixed, ours, type Policy, thresholdRule } from './arrivals/policies.ts';
import { type Outcome, START, simulate } from './arrivals/simulate.ts';
import { appendResults } from './results.ts';

const { values: flags } = parseArgs({
  options: { days: { type: 'string', default: '20' }, record: { type: 'boolean', default: true } },
  allowNegative: true,
});
const days = Number(flags.days);
const MOST = 40;
const POLICIES: readonly Policy[] = [
  fixed(10),
  fixed(MOST),
  thresholdRule(MOST),
  ours('ours', { policy: { max: MOST }, worker: { life: 'stay' } }),
  ours('ours, idle for 5 min', { policy: { max: MOST, idleMs: '5m' }, worker: { life: 'stay' } }),
  ours('ours, a worker a task', { policy: { max: MOST } }),
  ours('ours, four tasks a worker, none late after 2 min', {
    policy: { max: MOST, tasksPerWorker: 4, targetWaitMs: '2m' },
    worker: { life: 'stay' },
  }),
];

const share = (sorted: readonly number[], part: number): number => sorted[Math.floor((sorted.length - 1) * part)] ?? 0;
const time = (seconds: number): string =>
  seconds < 100 ? `${seconds.toFixed(seconds < 10 ? 1 : 0)} s` : `${(seconds / 60).toFixed(seconds < 600 ? 1 : 0)} min`;

const lines = [
  '| arrivals | workers | wait, mean | p50 | p95 | worst | worker-hours a day | of them at work | most at once |',
  '|---|---|---|---|---|---|---|---|---|',
];
const firstDays = new Map<string, Map<string, Outcome>>();
for (const [name, day] of Object.entries(DAYS)) {
  const all = Array.from({ length: days }, (_, seed) => day(randomOf(seed + 1)));
  const work = all.flat().reduce((sum, { takes }) => sum + takes, 0) / 3600;
  const first = new Map<string, Outcome>();
  for (const policy of POLICIES) {
    const outcomes = all.map((arrivals) => simulate(arrivals, policy));
    const [one] = outcomes;
    if (one !== undefined) first.set(policy.name, one);
    const waits = outcomes.flatMap((outcome) => outcome.waits).sort((a, b) => a - b);
    const hours = outcomes.reduce((sum, { workerHours }) => sum + workerHours, 0);
    const mean = waits.reduce((sum, wait) => sum + wait, 0) / waits.length;
    lines.push(
      `| ${[
        name,
        policy.name,
        time(mean),
        time(share(waits, 0.5)),
        time(share(waits, 0.95)),
        time(share(waits, 1)),
        (hours / days).toFixed(1),
        `${((100 * work) / hours).toFixed(0)} %`,
        Math.max(...outcomes.map(({ most }) => most)),
      ].join(' | ')} |`,
    );
  }
  firstDays.set(name, first);
}
const told = `${days} days of each, ${MOST} workers at most, ${START} s from the order of a worker to its first task, tasks of 66 s in the mean. Simulated: the same on any machine`;
console.log(`${told}\n\n${lines.join('\n')}`);
if (flags.record) {
  appendResults('Simulated arrivals', told, lines.join('\n'));
  writeFileSync(join(import.meta.dirname, '../docs/guides/pool-arrivals.svg'), chartOf(firstDays));
}
