import { roomOf } from '../../core/limits/limit.ts';
import type { WorkerGrant } from '../../core/placement/worker-grant.ts';
import type { CounterRecord, FleetMember, Lane, Store, TaskRecord } from '../../store/store.ts';
import { heldLikeBy } from '../read/facts.ts';
import { unfitness } from './acquire.ts';

/** Lanes that one read returns. */
const PAGE = 500;
/** The most lanes that are read: with these the caller has enough to choose from. */
const MOST = 5000;

/** What the worker's name was granted; a field that is not given sets no bound. */
export type Granted = Pick<WorkerGrant, 'handlers' | 'queues'>;

/** Ready tasks that this worker could be granted now, in the order of a claim. This only reads: another worker may be faster. */
export async function executable(
  store: Store,
  member: FleetMember,
  limit: number,
  { handlers, queues }: Granted = {},
): Promise<readonly TaskRecord[]> {
  const free = Math.min(limit, member.slots - member.running);
  if (free <= 0) return [];
  const lanes: Lane[] = [];
  for (let after = 0, seen = 0; seen < MOST; ) {
    const page = await store.laneScan({ after, limit: PAGE });
    const found = await store.laneGet({ lanes: page.map(({ id }) => id) });
    for (const lane of found) if (lane !== undefined && !lane.paused) lanes.push(lane);
    seen += page.length;
    if (page.length < PAGE) break;
    after = page.at(-1)?.id as number;
  }
  const isGranted = (lane: Lane): boolean =>
    (handlers?.includes(lane.handler) ?? true) && (queues?.includes(lane.queue) ?? true);
  const open = await withRoom(
    store,
    lanes.filter((lane) => isGranted(lane) && unfitness(lane, member, 0).length === 0),
    member,
  );
  if (open.length === 0) return [];
  const ready = await store.taskReady({ lanes: open.map(({ id }) => id), limit: free });
  const records = await store.taskGet({ tasks: ready.map(({ task }) => task) });
  return records.filter((record) => record?.state === 'ready') as readonly TaskRecord[];
}

/** Lanes whose limits have room for one more task, and of which this worker may have one more. */
async function withRoom(store: Store, lanes: readonly Lane[], member: FleetMember): Promise<readonly Lane[]> {
  const ids = [...new Set(lanes.flatMap(({ rules }) => (rules?.uses ?? []).map(({ counter }) => counter)))];
  const { now, counters } = ids.length === 0 ? { now: 0, counters: [] } : await store.counterGet({ counters: ids });
  const known = new Map(counters.flatMap((counter) => (counter === undefined ? [] : [[counter.id, counter] as const])));
  const hasRoom = ({ rules }: Lane): boolean =>
    (rules?.uses ?? []).every((use) => {
      const counter: CounterRecord | undefined = known.get(use.counter);
      return counter === undefined || roomOf(counter, use, now) > 0;
    });
  const open: Lane[] = [];
  for (const lane of lanes.filter(hasRoom)) {
    const held = (await heldLikeBy(store, lane)).get(member.worker) ?? 0;
    if (unfitness(lane, member, held).length === 0) open.push(lane);
  }
  return open;
}
