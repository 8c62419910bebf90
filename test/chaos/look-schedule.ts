import type { SeenEvents } from './look.ts';

/** A counter of a limit, and what the running tasks come to, in one look. */
export interface SeenSlot {
  readonly id: number;
  readonly name: string;
  readonly key: string;
  readonly cap: number | null;
  readonly active: number;
  readonly counted: number;
  /** JSON of the limit. */
  readonly body: string | null;
}

export interface SeenUse {
  readonly lane: number;
  readonly slot: number;
  readonly weight: number;
}

/** `down` was made to wait for `up`. */
export interface SeenEdge {
  readonly up: number;
  readonly down: number;
}

/** What stands in the store about who may start; the statements are the same in both. */
export interface Schedule {
  readonly slots: readonly SeenSlot[];
  readonly uses: readonly SeenUse[];
  readonly edges: readonly SeenEdge[];
  readonly laneOf: ReadonlyMap<number, number>;
}

/** One statement and so one snapshot: the counters and what they count were written together. */
export const SLOTS = `WITH running AS (SELECT lane, count(*) AS n FROM task WHERE state = 1 GROUP BY lane),
  held AS (SELECT u.slot, sum(u.weight * r.n) AS n FROM running r JOIN lane_slot u ON u.lane = r.lane GROUP BY u.slot)
  SELECT s.id, d.name, s.key, s.cap, s.active, CAST(coalesce(h.n, 0) AS int) AS counted, d.body
  FROM slot s JOIN limit_def d ON d.id = s.def LEFT JOIN held h ON h.slot = s.id`;
export const USES = 'SELECT lane, slot, weight FROM lane_slot';
export const EDGES = 'SELECT up, down FROM dep WHERE planned';

const RUNNING = 1;
const CLAIMED = 1;
const ENDED = 4;
/** From the moment that a limit is judged by to the one that the event tells, on a busy machine. */
const SLACK_MS = 300;

/** Counters that are not what runs, or more than they may be. */
export function slotFaults(slots: readonly SeenSlot[]): readonly string[] {
  return slots.flatMap(({ name, key, cap, active, counted }) => [
    ...(active === counted ? [] : [`limit ${name}/${key}: active ${active}, counted ${counted}`]),
    ...(counted <= (cap ?? counted) ? [] : [`limit ${name}/${key}: ${counted} run, and ${cap} may`]),
  ]);
}

/**
 * Replays the feed: after no change did more run than a limit allows (it must not have been changed), no window saw more
 * starts than its rate, and nobody started before all had ended that it was made to wait for.
 */
export function scheduleMisfits(events: Iterable<SeenEvents>, schedule: Schedule): readonly string[] {
  const { slots, uses, edges, laneOf } = schedule;
  const misfits: string[] = [];
  const usesOf = Map.groupBy(uses, ({ lane }) => lane);
  const upsOf = Map.groupBy(edges, ({ down }) => down);
  const slotOf = new Map(slots.map((slot) => [slot.id, slot]));
  const active = new Map<number, number>();
  const starts = new Map<number, number[]>();
  const states = new Map<number, number>();
  const change = (task: number, by: 1 | -1, at: number): void => {
    for (const { slot, weight } of usesOf.get(laneOf.get(task) ?? 0) ?? []) {
      const now = (active.get(slot) ?? 0) + by * weight;
      active.set(slot, now);
      if (by < 0) continue;
      const times = starts.get(slot);
      if (times === undefined) starts.set(slot, [at]);
      else times.push(at);
      const { name, key, cap } = slotOf.get(slot) as SeenSlot;
      if (now > (cap ?? now)) misfits.push(`limit ${name}/${key}: ${now} ran with task ${task}, and ${cap} may`);
    }
  };
  for (const { kind, state, ids, at } of events) {
    for (const task of ids) {
      const before = states.get(task);
      states.set(task, state);
      if (before === RUNNING && state !== RUNNING) change(task, -1, at);
      if (kind !== CLAIMED) continue;
      change(task, 1, at);
      const early = upsOf.get(task)?.find(({ up }) => (states.get(up) ?? 0) < ENDED);
      if (early !== undefined) misfits.push(`task ${task} was claimed before task ${early.up} had ended`);
    }
  }
  for (const [slot, times] of starts) misfits.push(...rateMisfits(slotOf.get(slot) as SeenSlot, times));
  return misfits;
}

function rateMisfits({ name, key, body }: SeenSlot, times: readonly number[]): readonly string[] {
  const { rate } = JSON.parse(body ?? '{}') as { rate?: { max: number; windowMs: number } };
  if (rate === undefined || key !== '') return [];
  const { max, windowMs } = rate;
  const sorted = times.toSorted((a, b) => a - b);
  const tight = sorted.findIndex((at, i) => i >= max && at - (sorted[i - max] as number) < windowMs - SLACK_MS);
  if (tight < 0) return [];
  const took = (sorted[tight] as number) - (sorted[tight - max] as number);
  return [`limit ${name}: ${max + 1} were started within ${took} ms, and ${max} may in ${windowMs}`];
}
