/** What workers cost their node that are connected and have nothing to do. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Contender } from '../contenders/contender.ts';
import { HUB } from '../contenders/hub/hub.ts';
import type { Measure, Row, World } from '../measures/measure.ts';
import { number } from '../table.ts';
import { Crowd } from './crowd.ts';
import { NodeProcess } from './node.ts';
import type { Sample } from './node-child.ts';
import type { HubOptions } from './options.ts';
import type { Counts } from './statements.ts';

const rows = {
  rss: { label: 'idle worker: memory of the node (RSS)', key: 'idle rss', unit: 'kB' },
  later: { label: '… of those of the second half', key: 'idle rss later', unit: 'kB' },
  heap: { label: '… heap and buffers', key: 'idle heap', unit: 'kB' },
  cpu: { label: 'all workers idle: CPU of the node, of one core', key: 'idle cpu', unit: '%' },
  statements: { label: '… statements of the node', key: 'idle statements', unit: '/s' },
  added: { label: '… of which there are none without workers', key: 'idle added', unit: '/s' },
  looks: { label: '… looks at `data_version` besides (SQLite)', key: 'idle looks', unit: '/s' },
} as const satisfies Record<string, Row>;

const SLOTS = 8;
/** Beats come each 10 s, and pings as often at most: a measure sees all of them. Claims wait five minutes: it sees none of their returns. */
const WARM_MS = 20_000;
const MEASURED_MS = 30_000;
const LEAVE_MS = 1000;
const LOOK = 'dataVersion';
const MOST_KINDS = 20;

export function idle({ workers, profile }: HubOptions): Measure {
  return {
    name: 'idle',
    only: [HUB],
    rows: Object.values(rows),
    async round(world: World, contender: Contender) {
      const place = await world.fresh();
      const node = await NodeProcess.start(place);
      const warmMs = world.quick ? WARM_MS / 10 : WARM_MS;
      await comeAndGo(place, node, Math.ceil(workers / 20));
      const none = { count: 0, at: await node.sample({ settled: true }) };
      const alone = await asked(node, warmMs);
      const crowd = new Crowd(place, node, { slots: SLOTS });
      await crowd.join(Math.floor(workers / 2));
      await delay(warmMs);
      const half = { count: crowd.count, at: await node.sample({ settled: true }) };
      await crowd.join(workers - half.count);
      await delay(warmMs);
      const all = { count: crowd.count, at: await node.sample({ settled: true }) };
      world.record(
        contender,
        rows.rss,
        perWorker(none, all, ({ rssBytes }) => rssBytes),
      );
      world.record(
        contender,
        rows.later,
        perWorker(half, all, ({ rssBytes }) => rssBytes),
      );
      world.record(
        contender,
        rows.heap,
        perWorker(none, all, ({ heapBytes }) => heapBytes),
      );
      // The collection before has thrown compiled code away, and what it left is marked anew: that is not what idleness costs.
      await delay(warmMs);
      if (profile !== undefined) await node.ask('profileFrom');
      await rest(world, contender, node, { workers, alone });
      if (profile !== undefined) await node.ask('profileInto', { folder: profile, name: `idle-${workers}` });
      await crowd.kill();
      await node.kill();
    },
  };
}

/** Code that is warm and a heap that has grown are not the price of a connection. */
async function comeAndGo(place: string, node: NodeProcess, workers: number): Promise<void> {
  const crowd = new Crowd(place, node, { slots: SLOTS, prefix: 'first' });
  await crowd.join(workers);
  await delay(LEAVE_MS);
  await crowd.kill();
  await delay(LEAVE_MS);
}

async function rest(world: World, contender: Contender, node: NodeProcess, scene: Scene): Promise<void> {
  const { workers, alone } = scene;
  const before = await node.sample();
  const from = performance.now();
  const found = await asked(node, world.quick ? MEASURED_MS / 5 : MEASURED_MS);
  const seconds = (performance.now() - from) / 1000;
  world.record(contender, rows.cpu, ((await node.sample()).cpuMicros - before.cpuMicros) / 1e4 / seconds);
  world.record(contender, rows.statements, found.statements);
  world.record(contender, rows.added, found.statements - alone.statements);
  world.record(contender, rows.looks, found.looks);
  world.note(
    `Statements of the node a second with ${workers} idle workers: ${found.listed}. Without any: ${alone.listed}.`,
  );
}

interface Scene {
  readonly workers: number;
  readonly alone: Asked;
}

/** What the node asks of its store, a second. */
interface Asked {
  readonly statements: number;
  /** Whether others have committed: a read of shared memory, and no statement on data. */
  readonly looks: number;
  /** Those there are most of. */
  readonly listed: string;
}

async function asked(node: NodeProcess, ms: number): Promise<Asked> {
  const before = await node.sample();
  const from = performance.now();
  await delay(ms);
  const after = await node.sample();
  const seconds = (performance.now() - from) / 1000;
  const counts = difference(before.statements, after.statements);
  const all = counts.reduce((sum, [, count]) => sum + count, 0);
  // Its duties alone ask for something each second: a counter that sees nothing is broken.
  if (all === 0) throw new Error('no statement of the node was counted');
  const looks = counts.find(([name]) => name === LOOK)?.[1] ?? 0;
  const listed = counts.slice(0, MOST_KINDS).map(([name, count]) => `\`${name}\` ${number(count / seconds)}`);
  return { statements: (all - looks) / seconds, looks: looks / seconds, listed: listed.join(', ') };
}

interface Moment {
  readonly count: number;
  readonly at: Sample;
}

/** kB for each of those who came between. */
function perWorker(before: Moment, after: Moment, bytes: (sample: Sample) => number): number {
  return (bytes(after.at) - bytes(before.at)) / (after.count - before.count) / 1000;
}

/** What came in between, most first. */
function difference(before: Counts, after: Counts): readonly (readonly [string, number])[] {
  return Object.entries(after)
    .map(([name, count]) => [name, count - (before[name] ?? 0)] as const)
    .filter(([, count]) => count > 0)
    .toSorted((a, b) => b[1] - a[1]);
}
