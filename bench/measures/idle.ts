/** What a worker costs that has nothing to do. */
import type { Contender } from '../contenders/contender.ts';
import { run } from '../processes.ts';
import type { Measure, Row, World } from './measure.ts';

const rows = {
  rss: { label: 'memory (RSS), idle worker', key: 'rss idle', unit: 'MB' },
  cpu: { label: 'CPU, idle worker', key: 'cpu idle', unit: 'ms/s' },
} as const satisfies Record<string, Row>;

export const idle: Measure = {
  name: 'idle',
  rows: Object.values(rows),
  async round(world: World, contender: Contender) {
    const { rssMb, cpuMillisPerSecond } = await run(contender, 'idle', world.fresh(), { ms: world.quick ? 300 : 1000 });
    world.record(contender, rows.rss, rssMb);
    world.record(contender, rows.cpu, cpuMillisPerSecond);
  },
};
