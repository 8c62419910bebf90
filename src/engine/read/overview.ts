import { type FreeWorker, type Held, heldBack, type ReadyKind } from '../../core/limits/overview.ts';
import { EMPTY_STATS, type QueueStats } from '../../core/task/event.ts';
import type { FleetMember, FleetSnapshot, Lane, QueueRecord, Store, WorkerRecord } from '../../store/store.ts';
import { candidateOf, placedOf } from '../claim/worker-profiles.ts';

/** The whole cluster at a glance, as numbers. */
export interface OverviewSnapshot {
  /** Calendar time of the store. */
  readonly at: number;
  readonly workers: WorkerCounts;
  readonly slots: { readonly all: number; readonly busy: number };
  readonly tasks: QueueStats;
  readonly held: readonly Held[];
  /** How long the oldest ready task has waited; 0: there is none. */
  readonly oldestAgeMs: number;
}

export interface WorkerCounts {
  readonly online: number;
  readonly draining: number;
  readonly disabled: number;
  /** Names of workers that are not running. */
  readonly offline: number;
}

type OverviewStore = Pick<
  Store,
  'queueList' | 'workerFleet' | 'workerList' | 'clock' | 'laneScan' | 'laneGet' | 'laneDepth' | 'counterGet'
>;

/** The most lanes with ready tasks that are read. Tasks of further lanes are not told apart. */
const MOST_LANES = 1000;
/** The most index entries that are counted, however long the lanes are: a few ms on both stores. */
const MOST_COUNTED = 5000;
const LEAST_EACH = 100;

/** Reads lanes, workers and limits, and never single tasks. */
export async function lookAround(store: OverviewStore, staleMs: number): Promise<OverviewSnapshot> {
  const [queues, fleet, workers, time, scan] = await Promise.all([
    store.queueList(),
    store.workerFleet(),
    store.workerList(),
    store.clock(),
    store.laneScan({ after: 0, limit: MOST_LANES }),
  ]);
  const ids = scan.map(({ id }) => id);
  const most = Math.max(LEAST_EACH, Math.ceil(MOST_COUNTED / Math.max(1, ids.length)));
  const [lanes, depths] = await Promise.all([store.laneGet({ lanes: ids }), store.laneDepth({ lanes: ids, most })]);
  const counted = lanes.flatMap((lane, i) => (lane === undefined ? [] : [{ lane, ready: depths[i]?.ready ?? 0 }]));
  const kinds = kindsOf(queues, counted, most);
  const { now, counters } = await countersOf(store, kinds);
  const live = fleet.members.filter(({ seenAt }) => fleet.now - seenAt <= staleMs);
  const online = live.filter(isOnline);
  const since = Math.min(...depths.map(({ readySince }) => readySince));
  return {
    at: time.calendar,
    workers: countWorkers(live, workers),
    slots: { all: sum(online, ({ slots: all }) => all), busy: sum(online, ({ running }) => running) },
    tasks: totals(queues),
    held: heldBack({ kinds, workers: live.map(freeWorkerOf), counters, now }),
    oldestAgeMs: Number.isFinite(since) ? Math.max(0, Math.floor(time.calendar - since)) : 0,
  };
}

/** The counters of all queues together. */
export function totals(queues: readonly Pick<QueueRecord, 'stats'>[]): QueueStats {
  const all: Record<keyof QueueStats, number> = { ...EMPTY_STATS };
  for (const { stats } of queues) {
    for (const state of Object.keys(all) as (keyof QueueStats)[]) all[state] += stats[state];
  }
  return all;
}

/** How long the oldest ready task has waited, among the first `mostLanes` lanes. */
export async function oldestAge(
  store: Pick<Store, 'laneScan' | 'laneDepth' | 'clock'>,
  mostLanes: number,
): Promise<number> {
  const lanes = (await store.laneScan({ after: 0, limit: mostLanes })).map(({ id }) => id);
  const depths = await store.laneDepth({ lanes, most: 0 });
  const since = Math.min(...depths.map(({ readySince }) => readySince));
  return Number.isFinite(since) ? Math.max(0, Math.floor((await store.clock()).calendar - since)) : 0;
}

interface Counted {
  readonly lane: Lane;
  readonly ready: number;
}

/**
 * How many tasks are ready in each lane. The counter of a queue is exact, but a lane is counted only up to `most`. What the counter has
 * beyond that is divided equally among the lanes that are longer.
 */
function kindsOf(queues: readonly QueueRecord[], lanes: readonly Counted[], most: number): readonly ReadyKind[] {
  const byQueue = Map.groupBy(lanes, ({ lane }) => lane.queue);
  return queues.flatMap(({ name, paused, stats }) => {
    const own = byQueue.get(name) ?? [];
    const long = own.filter(({ ready }) => ready >= most);
    const left = Math.max(0, stats.ready - sum(own, ({ ready }) => ready));
    return own.map(({ lane, ready }) => {
      const index = long.findIndex((one) => one.lane.id === lane.id);
      const more = index === -1 ? 0 : Math.floor(left / long.length) + (index < left % long.length ? 1 : 0);
      return { ...placedOf(lane), lane: lane.id, ready: ready + more, paused, uses: lane.rules?.uses ?? [] };
    });
  });
}

async function countersOf(store: OverviewStore, kinds: readonly ReadyKind[]) {
  const ids = [...new Set(kinds.flatMap(({ uses }) => uses.map(({ counter }) => counter)))];
  if (ids.length === 0) return { now: 0, counters: new Map<number, never>() };
  const { now, counters } = await store.counterGet({ counters: ids });
  return { now, counters: new Map(counters.flatMap((one) => (one === undefined ? [] : [[one.id, one]]))) };
}

function freeWorkerOf(member: FleetMember): FreeWorker {
  return { worker: candidateOf(member), free: member.slots - member.running };
}

function isOnline({ enabled, state }: FleetSnapshot['members'][number]): boolean {
  return enabled && state !== 'draining';
}

function countWorkers(live: readonly FleetMember[], all: readonly WorkerRecord[]): WorkerCounts {
  const online = live.filter(isOnline).length;
  const disabled = live.filter(({ enabled }) => !enabled).length;
  const names = new Set(all.map(({ name }) => name)).difference(new Set(live.map(({ name }) => name)));
  return { online, draining: live.length - online - disabled, disabled, offline: names.size };
}

function sum<T>(items: readonly T[], figure: (item: T) => number): number {
  return items.reduce((all, item) => all + figure(item), 0);
}
