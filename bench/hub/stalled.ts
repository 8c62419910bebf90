/**
 * What workers that read nothing do to the others and to the node: a tenth of all stop reading while large inputs are offered to
 * them, and one writes logs as fast as it can.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Contender } from '../contenders/contender.ts';
import { HUB } from '../contenders/hub/hub.ts';
import { readPlace } from '../contenders/hub/place.ts';
import { WARM } from '../jobs/latency.ts';
import type { Measure, Row, World } from '../measures/measure.ts';
import { run } from '../processes.ts';
import { Crowd } from './crowd.ts';
import type { FloodArgs, FloodVerbs } from './flood-child.ts';
import { Helper } from './line.ts';
import type { LoadArgs, LoadVerbs } from './load-child.ts';
import { NodeProcess } from './node.ts';
import type { HubOptions } from './options.ts';
import type { StalledArgs, StalledVerbs } from './stalled-child.ts';
import { FLOOD, LARGE } from './words.ts';

const WITHOUT = 'stalled without';
const WITH = 'stalled with';

const rows = {
  without: { label: 'push to start, all workers read, p50', key: WITHOUT, unit: 'ms', percentile: 50 },
  withoutWorst: { label: '… p99', key: WITHOUT, unit: 'ms', percentile: 99 },
  with: { label: 'push to start, a tenth reads nothing and one floods, p50', key: WITH, unit: 'ms', percentile: 50 },
  withWorst: { label: '… p99', key: WITH, unit: 'ms', percentile: 99 },
  growth: { label: '… growth of the node (RSS)', key: 'stalled growth', unit: 'MB' },
  bound: { label: '… its bound: 2 MiB for each that reads nothing, and 256', key: 'stalled bound', unit: 'MB' },
  logs: { label: '… logs stored', key: 'stalled logs', unit: 'MB/s' },
} as const satisfies Record<string, Row>;

const MIB = 1024 * 1024;
/** Of one task: four of them are the 1 MiB that one answer carries at most. */
const INPUT = 256 * 1024 - 20;
/** For each that reads nothing: more than what may lie here for it. */
const TASKS_EACH = 10;
/** An answer, and what may lie unread before nothing more is begun (`server/workers/worker-connection.ts`). */
const PER_STALLED = 2 * MIB;
/** What a node takes that stores logs and reads large inputs as fast as it can. */
const BESIDES = 256 * MIB;
const PER_SECOND = 50;
const SECONDS = 20;
const SAMPLE_MS = 250;
const SLOTS = 8;
/** Besides what is waited for any child: the store is flooded meanwhile. */
const PATIENCE_MS = 240_000;

export function stalled({ workers }: HubOptions): Measure {
  return {
    name: 'stalled',
    only: [HUB],
    rows: Object.values(rows),
    async round(world: World, contender: Contender) {
      const place = await world.fresh();
      const node = await NodeProcess.start(place);
      const { address, admin } = node;
      const few = Math.max(1, Math.floor(workers / 10));
      const slow = new Helper<StalledVerbs>('./stalled-child.ts', args(LARGE));
      const noisy = new Helper<FloodVerbs>('./flood-child.ts', args(FLOOD));
      const load = new Helper<LoadVerbs>('./load-child.ts', { store: readPlace(place).store } satisfies LoadArgs);
      const crowd = new Crowd(place, node, { slots: SLOTS });
      await Promise.all([slow.ask('join', { count: few }), crowd.join(workers - few)]);
      await load.ask('push', { queue: FLOOD, handler: FLOOD, count: 1, bytes: 0 });
      await noisy.ask('join');
      world.samples(contender, WITHOUT, await pushed());

      // Before: half a gigabyte that another process writes to the same file is no part of what is asked here.
      await load.ask('push', { queue: LARGE, handler: LARGE, count: few * TASKS_EACH, bytes: INPUT });
      const watch = new MemoryWatch(node);
      await watch.start();
      await slow.ask('stall');
      await noisy.ask('start');
      const from = performance.now();
      world.samples(contender, WITH, await pushed());
      const logs = (await noisy.ask('stop')) / 1e6 / ((performance.now() - from) / 1000);
      world.record(contender, rows.growth, (await watch.growth()) / 1e6);
      world.record(contender, rows.bound, (few * PER_STALLED + BESIDES) / 1e6);
      world.record(contender, rows.logs, logs);
      await Promise.all([crowd.kill(), slow.kill(), noisy.kill(), load.kill()]);
      await node.kill();

      function args(queue: string): StalledArgs & FloodArgs {
        return { address, admin, queue };
      }

      /** What tasks that are pushed at an even pace take to start, in ms. */
      async function pushed(): Promise<readonly number[]> {
        const seconds = world.quick ? SECONDS / 4 : SECONDS;
        const pushes = PER_SECOND * seconds;
        const args = { pushes, everyMs: 1000 / PER_SECOND };
        await run(contender, 'send', node.in(place), args, PATIENCE_MS);
        const samples: number[] = [];
        while (samples.length < pushes + WARM) {
          samples.push(...(await crowd.samples()));
          await delay(SAMPLE_MS);
        }
        return samples.slice(WARM);
      }
    },
  };
}

/** The most that the node has grown by while it is watched. */
class MemoryWatch {
  readonly #node: NodeProcess;
  #before = 0;
  #most = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(node: NodeProcess) {
    this.#node = node;
  }

  async start(): Promise<void> {
    this.#before = (await this.#node.sample({ settled: true })).rssBytes;
    this.#timer = setInterval(() => void this.#look().catch(() => clearInterval(this.#timer)), SAMPLE_MS);
  }

  async growth(): Promise<number> {
    clearInterval(this.#timer);
    await this.#look();
    return this.#most - this.#before;
  }

  async #look(): Promise<void> {
    this.#most = Math.max(this.#most, (await this.#node.sample()).rssBytes);
  }
}
