/** How fast four worker processes work waiting no-op tasks off: behind a node, beside their store, and a peer's. */
import type { Contender } from '../contenders/contender.ts';
import { HUB } from '../contenders/hub/hub.ts';
import { treeMicros } from '../ground/cpu.ts';
import { drained } from '../measures/drained.ts';
import type { Measure, Row, World } from '../measures/measure.ts';
import { NodeProcess } from './node.ts';
import type { HubOptions } from './options.ts';

const rate: Row = { label: 'no-op tasks, 4 worker processes', key: 'throughput', unit: '/s', ratio: 'reference' };
const cpu: Row = { label: '… CPU per task, all processes', key: 'throughput cpu', unit: 'µs' };
const nodeCpu: Row = { label: '… of which node and servers', key: 'throughput node', unit: 'µs' };

const PROCESSES = 4;

export function throughput({ profile }: HubOptions): Measure {
  return {
    name: 'throughput',
    rows: [rate, cpu, nodeCpu],
    async round(world: World, contender: Contender) {
      const tasks = world.quick ? contender.drainTasks / 4 : contender.drainTasks;
      const place = await world.fresh();
      const node = contender.name === HUB ? await NodeProcess.start(place) : undefined;
      if (profile !== undefined) await node?.ask('profileFrom');
      const serverMicros = (): number => world.ground.serverMicros() + (node === undefined ? 0 : treeMicros(node.pid));
      const found = await drained(
        { ...world, ground: { ...world.ground, serverMicros } },
        contender,
        node?.in(place) ?? place,
        { tasks, processes: PROCESSES },
      );
      world.record(contender, rate, found.perSecond);
      world.record(contender, cpu, found.cpuMicros);
      world.record(contender, nodeCpu, found.serverMicros);
      if (profile !== undefined) await node?.ask('profileInto', { folder: profile, name: 'throughput' });
      await node?.kill();
    },
  };
}
