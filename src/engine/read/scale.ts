import { allot } from '../../core/limits/limit.ts';
import { type Depth, type LimitedDepth, type Scale, scaleOf } from '../../core/limits/scale.ts';
import type { CounterRecord, Lane, LaneDepth, Store } from '../../store/store.ts';

/** The scale of one queue. */
export interface QueueScale extends Scale {
  /** How long the oldest of the runnable tasks has been ready; 0: there are none. */
  readonly oldestAgeMs: number;
}

type ScaleStore = Pick<Store, 'queueList' | 'laneScan' | 'laneGet' | 'laneDepth' | 'counterGet' | 'clock'>;

/** Of a queue that nobody has pushed to yet. */
export const NO_WORK: QueueScale = { runnable: 0, running: 0, blockedByLimit: 0, desired: 0, oldestAgeMs: 0 };

const PAGE = 1000;
/** The most index entries that are counted for the lanes of a queue, however long they are: a few ms on both stores. */
const MOST_COUNTED = 5000;
const LEAST_EACH = 100;
/** Of a lane that others serve. More than so many count as if they were for anybody. */
const MOST_FOREIGN = 100_000;

/**
 * How many slots a queue could use now. It reads the queue's counter, lanes and limits, and not its tasks.
 * Undefined: there is no such queue. `serves`: only lanes that certain workers may serve are counted.
 */
export async function queueScale(
  store: ScaleStore,
  queue: string,
  serves: (lane: Lane) => boolean = () => true,
): Promise<QueueScale | undefined> {
  const known = (await store.queueList()).find(({ name }) => name === queue);
  if (known === undefined) return undefined;
  const { paused } = known;
  const all = known.stats.ready === 0 || paused ? [] : await readyLanes(store, queue);
  const lanes = all.filter(serves);
  const foreign =
    all.length === lanes.length
      ? 0
      : await readyIn(
          store,
          all.filter((lane) => !serves(lane)),
        );
  const stats = { ...known.stats, ready: Math.max(0, known.stats.ready - foreign) };
  const limited = lanes.filter(isLimited);
  const most = Math.max(LEAST_EACH, Math.ceil(MOST_COUNTED / Math.max(1, limited.length)));
  const depths = await store.laneDepth({ lanes: limited.map(({ id }) => id), most });
  const { rooms, capped } = await roomsOf(store, limited, depths, most);
  const others = lanes.filter((lane) => !isLimited(lane));
  // These lanes are counted only where the limited ones are too long to count. Their age is read in any case.
  const share = capped ? Math.max(LEAST_EACH, Math.ceil(MOST_COUNTED / Math.max(1, others.length))) : 0;
  const free = await store.laneDepth({ lanes: others.map(({ id }) => id), most: share });
  const scale = scaleOf({
    ready: stats.ready,
    running: stats.running,
    paused,
    limited: rooms,
    free: capped ? free.map((depth) => depthOf(depth, share)) : undefined,
  });
  const open = [...free, ...depths.filter((_, i) => (rooms[i] as LimitedDepth).room > 0)];
  return { ...scale, oldestAgeMs: scale.runnable === 0 ? 0 : await ageOf(store, open) };
}

async function readyIn(store: ScaleStore, lanes: readonly Lane[]): Promise<number> {
  const depths = await store.laneDepth({ lanes: lanes.map(({ id }) => id), most: MOST_FOREIGN });
  return depths.reduce((sum, { ready }) => sum + ready, 0);
}

/** How long the oldest of these lanes has had a ready task. */
async function ageOf(store: ScaleStore, depths: readonly LaneDepth[]): Promise<number> {
  const since = depths.reduce((oldest, { readySince }) => Math.min(oldest, readySince), Number.POSITIVE_INFINITY);
  if (since === Number.POSITIVE_INFINITY) return 0;
  return Math.max(0, Math.floor((await store.clock()).calendar - since));
}

async function readyLanes(store: ScaleStore, queue: string): Promise<readonly Lane[]> {
  const found: Lane[] = [];
  for (let after = 0; ; ) {
    const ids = (await store.laneScan({ after, limit: PAGE })).map(({ id }) => id);
    for (const lane of await store.laneGet({ lanes: ids })) if (lane?.queue === queue) found.push(lane);
    after = ids.at(-1) ?? after;
    if (ids.length < PAGE) return found;
  }
}

/** The most lanes that are read for the oldest task of each queue. */
const MOST_LANES = 2000;

/** Since when each queue has had a ready task, in calendar time. With very many lanes only the first are read. */
export async function oldestByQueue(
  store: Pick<Store, 'laneScan' | 'laneGet' | 'laneDepth'>,
): Promise<ReadonlyMap<string, number>> {
  const lanes = (await store.laneScan({ after: 0, limit: MOST_LANES })).map(({ id }) => id);
  const [known, depths] = await Promise.all([store.laneGet({ lanes }), store.laneDepth({ lanes, most: 0 })]);
  const oldest = new Map<string, number>();
  for (const [i, { readySince }] of depths.entries()) {
    const queue = known[i]?.queue;
    if (queue !== undefined && readySince < (oldest.get(queue) ?? Number.POSITIVE_INFINITY))
      oldest.set(queue, readySince);
  }
  return oldest;
}

function isLimited({ rules }: Lane): boolean {
  return (rules?.uses.length ?? 0) > 0;
}

/** How many tasks of each lane the limits let start: what one lane takes, the next one lacks. */
async function roomsOf(
  store: ScaleStore,
  lanes: readonly Lane[],
  depths: readonly LaneDepth[],
  most: number,
): Promise<{ readonly rooms: readonly LimitedDepth[]; readonly capped: boolean }> {
  if (lanes.length === 0) return { rooms: [], capped: false };
  const usesOf = (lane: Lane) => lane.rules?.uses ?? [];
  const ids = [...new Set(lanes.flatMap((lane) => usesOf(lane).map(({ counter }) => counter)))];
  const { now, counters } = await store.counterGet({ counters: ids });
  const known = new Map(counters.flatMap((one) => (one === undefined ? [] : [[one.id, one satisfies CounterRecord]])));
  const counted = depths.map((depth) => depthOf(depth, most));
  const asks = lanes.map((lane, i) => {
    const { ready, capped } = counted[i] as Depth;
    return { lane: lane.id, max: capped ? Number.MAX_SAFE_INTEGER : ready, uses: usesOf(lane) };
  });
  const allotted = allot(asks, known, now);
  return {
    rooms: counted.map((depth, i) => ({ ...depth, room: allotted[i]?.max ?? 0 })),
    capped: counted.some(({ capped }) => capped),
  };
}

function depthOf({ ready }: LaneDepth, most: number): Depth {
  return { ready, capped: ready >= most };
}
