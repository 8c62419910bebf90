/** How fast waiting no-op tasks are worked off by one process and by four on one store, and what that costs. */
import type { Contender } from '../contenders/contender.ts';
import { drained } from './drained.ts';
import type { Measure, Row, World } from './measure.ts';

const rows = {
  one: { label: 'drain, 1 process', key: 'drain 1', unit: '/s', ratio: 'reference' },
  four: { label: 'drain, 4 processes', key: 'drain 4', unit: '/s', ratio: 'reference' },
  cpuOne: { label: 'CPU per task, 1 process', key: 'cpu 1', unit: 'µs', ratio: 'reference' },
  cpuFour: { label: 'CPU per task, 4 processes', key: 'cpu 4', unit: 'µs', ratio: 'reference' },
  rss: { label: 'memory (RSS) after a drain', key: 'rss busy', unit: 'MB' },
} as const satisfies Record<string, Row>;

/** With a server, its CPU is part of the figures above. */
const serverRows = {
  one: { label: '… of which the server', key: 'server cpu 1', unit: 'µs' },
  four: { label: '… of which the server', key: 'server cpu 4', unit: 'µs' },
} as const satisfies Record<string, Row>;

export function drain({ server }: { readonly server: boolean }): Measure {
  const { one, four, cpuOne, cpuFour, rss } = rows;
  return {
    name: 'drain',
    rows: server ? [one, four, cpuOne, serverRows.one, cpuFour, serverRows.four, rss] : Object.values(rows),
    async round(world: World, contender: Contender) {
      const tasks = world.quick ? contender.drainTasks / 4 : contender.drainTasks;
      const alone = await drained(world, contender, await world.fresh(), { tasks, processes: 1 });
      world.record(contender, one, alone.perSecond);
      world.record(contender, cpuOne, alone.cpuMicros);
      world.record(contender, rss, alone.rssMb);
      const together = await drained(world, contender, await world.fresh(), { tasks, processes: 4 });
      world.record(contender, four, together.perSecond);
      world.record(contender, cpuFour, together.cpuMicros);
      if (!server) return;
      world.record(contender, serverRows.one, alone.serverMicros);
      world.record(contender, serverRows.four, together.serverMicros);
    },
  };
}
