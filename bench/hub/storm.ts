/** How long it takes until all workers of a node that was killed are back at its successor, and have work again. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Contender } from '../contenders/contender.ts';
import { HUB } from '../contenders/hub/hub.ts';
import { readPlace } from '../contenders/hub/place.ts';
import { percentile } from '../figures.ts';
import { micros } from '../jobs/line.ts';
import type { Measure, Row, World } from '../measures/measure.ts';
import { Crowd } from './crowd.ts';
import { Helper } from './line.ts';
import type { LoadArgs, LoadVerbs } from './load-child.ts';
import { NodeProcess } from './node.ts';
import type { HubOptions } from './options.ts';

const rows = {
  last: { label: 'node killed: until the last worker works again', key: 'storm last', unit: 's' },
  half: { label: '… until half of them do', key: 'storm p50', unit: 's' },
  most: { label: '… until 95 % do', key: 'storm p95', unit: 's' },
  burst: { label: '… most of them within one 100 ms', key: 'storm burst', unit: '/s' },
  up: { label: '… until the successor listens', key: 'storm up', unit: 's' },
} as const satisfies Record<string, Row>;

/** Each takes one task, and keeps it: so many tasks are so many workers. */
const SLOTS = 1;
const REST_MS = 5000;
const LOOK_MS = 100;
const PATIENCE_MS = 180_000;

export function storm({ workers }: HubOptions): Measure {
  return {
    name: 'storm',
    only: [HUB],
    rows: Object.values(rows),
    async round(world: World, contender: Contender) {
      const place = await world.fresh();
      const node = await NodeProcess.start(place);
      const crowd = new Crowd(place, node, { slots: SLOTS });
      const load = new Helper<LoadVerbs>('./load-child.ts', { store: readPlace(place).store } satisfies LoadArgs);
      await crowd.join(workers);
      await delay(REST_MS);
      const from = micros();
      await node.kill();
      const successor = await NodeProcess.start(place, node);
      world.record(contender, rows.up, (micros() - from) / 1e6);
      await load.ask('push', { queue: readPlace(place).queue, handler: 'hold', count: workers, bytes: 0 });
      const seconds = (await allStarts(crowd, workers)).map((at) => (at - from) / 1e6);
      world.record(contender, rows.last, Math.max(...seconds));
      world.record(contender, rows.half, percentile(seconds, 50) ?? Number.NaN);
      world.record(contender, rows.most, percentile(seconds, 95) ?? Number.NaN);
      world.record(contender, rows.burst, mostWithin(seconds, 0.1) / 0.1);
      await Promise.all([crowd.kill(), load.kill()]);
      await successor.kill();
    },
  };
}

async function allStarts(crowd: Crowd, wanted: number): Promise<readonly number[]> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const starts = await crowd.starts();
    if (starts.length >= wanted) return starts;
    if (performance.now() > deadline) throw new Error(`only ${starts.length} of ${wanted} workers came back`);
    await delay(LOOK_MS);
  }
}

/** The greatest number of them that lie within so many seconds. */
function mostWithin(seconds: readonly number[], span: number): number {
  const sorted = seconds.toSorted((a, b) => a - b);
  let from = 0;
  return sorted.reduce((most, at, i) => {
    while (at - (sorted[from] as number) > span) from++;
    return Math.max(most, i - from + 1);
  }, 0);
}
