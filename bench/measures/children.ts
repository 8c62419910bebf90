/** Tasks in warm child processes: how many, how soon, and how soon again when one of them is killed. */
import type { Contender } from '../contenders/contender.ts';
import { LIBRARY } from '../contenders/library.ts';
import { run } from '../processes.ts';
import type { Measure, Row, World } from './measure.ts';

const rate = (slots: number): Row => ({
  label: `no-op tasks in child processes, ${slots} slots`,
  key: `children ${slots}`,
  unit: '/s',
});
const latency = { label: 'push to start in a warm child', key: 'children latency', unit: 'ms' } as const;
const replaced = { label: 'child killed to start in the spare', key: 'children replaced', unit: 'ms' } as const;
const percentiles = (row: Row, ...of: readonly number[]): readonly Row[] =>
  of.map((percentile) => ({ ...row, label: `${row.label}, p${percentile}`, percentile }));

const RATES = [4, 8].map((slots) => ({ slots, row: rate(slots) }));
const PUSHES = 100;
const EVERY_MS = 20;
const KILLS = 10;

export const children: Measure = {
  name: 'children',
  only: [LIBRARY],
  rows: [...RATES.map(({ row }) => row), ...percentiles(latency, 50, 95, 99), ...percentiles(replaced, 50, 95)],
  async round(world: World, contender: Contender) {
    for (const { slots, row } of RATES) {
      const args = { slots, thousands: world.quick ? 1 : 5 };
      const { perSecond } = await run(contender, 'childDrain', await world.fresh(), args);
      world.record(contender, row, perSecond);
    }
    const paced = { pushes: world.quick ? PUSHES / 2 : PUSHES, everyMs: EVERY_MS };
    world.samples(contender, latency.key, await run(contender, 'childLatency', await world.fresh(), paced));
    const kills = { kills: world.quick ? 3 : KILLS, restMs: 700 };
    world.samples(contender, replaced.key, await run(contender, 'childReplace', await world.fresh(), kills));
  },
};
