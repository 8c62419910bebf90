import type { GrantRow } from '../../../rows/grant-rows.ts';
import type { ClaimAnswer, LaneBlock, NamedUse, NewClaim } from '../../../store.ts';
import { booleans, numbers } from '../../arrays.ts';
import type { Session, Try } from '../../connect/database.ts';
import type { PostgresParts } from '../../parts.ts';
import { type ClaimRow, countByLane, grantsOf, inClaimOrder, laneValues, learnCursors, lostGrants } from './claim.ts';
import { learnRoom } from './claim-optimistic.ts';

/** The statement has parameters for this many counters of a lane. */
const MOST = 4;

/** A claim whose limits one statement can handle. */
interface Capped {
  /** All counters that its lanes take from, in the order of their locks. */
  readonly counters: readonly number[];
  /** For each lane the places of its counters among them, counted from 1. */
  readonly places: readonly (readonly number[])[];
  /** Which of the counters several lanes take from. */
  readonly shared: readonly boolean[];
  /** Every lane takes from every counter. */
  readonly alike: boolean;
}

type CappedRow = readonly [...ClaimRow, fits: boolean, rooms: readonly number[] | null];

/**
 * A claim behind limits is a transaction of five round trips: it locks the counters, shares out the room, claims the
 * tasks, and writes what they take. One statement does it if each task takes one of each counter and the counters have
 * only caps, as most limits do. Undefined: it cannot be tried. `long`: it was tried, and the transaction is needed.
 */
export function cappedOf({ lanes, rated }: PostgresParts, request: NewClaim): Capped | undefined {
  if (request.op !== undefined || request.task !== undefined) return undefined;
  const uses: (readonly NamedUse[])[] = [];
  for (const { lane, minAgeMs, maxHeld } of request.lanes) {
    const known = lanes.known(lane);
    if (known === undefined || minAgeMs !== undefined || maxHeld !== undefined) return undefined;
    const own = known.rules?.uses ?? [];
    const isMore = known.rules?.placement.affinity !== undefined || own.length > MOST;
    if (isMore || own.some(({ counter, weight }) => weight !== 1 || rated.has(counter))) return undefined;
    uses.push(own);
  }
  const counts = new Map<number, number>();
  for (const { counter } of uses.flat()) counts.set(counter, (counts.get(counter) ?? 0) + 1);
  if (counts.size === 0) return undefined;
  const counters = [...counts.keys()].sort((a, b) => a - b);
  const place = new Map(counters.map((counter, i) => [counter, i + 1]));
  return {
    counters,
    places: uses.map((own) => own.map(({ counter }) => place.get(counter) as number)),
    shared: counters.map((counter) => (counts.get(counter) as number) > 1 || uses.length === 1),
    alike: uses.every((own) => own.length === counters.length),
  };
}

export async function claimCapped(
  session: Session,
  parts: PostgresParts,
  request: NewClaim,
  capped: Capped,
  note: string,
  tried: Try,
): Promise<ClaimAnswer | 'long' | undefined> {
  const before = tried.again ? await lostGrants(session, parts, note) : [];
  if (before.length > 0) return { grants: before, blocked: [] };
  const from = request.lanes.map(({ lane }) => parts.cursors.of(lane));
  const nth = (n: number): string => numbers(capped.places.map((places) => places[n]));
  const began = parts.world.clock.monotonic();
  const rows = (await session.rows('claimCapped', [
    ...laneValues(request, from, note),
    numbers(capped.counters),
    nth(0),
    nth(1),
    nth(2),
    nth(3),
    booleans(capped.shared),
    capped.alike,
  ])) as unknown as readonly CappedRow[];
  const [first] = rows;
  if (first?.[0] !== true) return undefined; // disabled, unknown, or changed since its lanes were chosen
  if (first.at(-2) !== true) {
    for (const counter of capped.counters) parts.rated.add(counter);
    return 'long';
  }
  const granted = rows.flatMap(([, ...grant]) =>
    grant[0] === null ? [] : [grant.slice(0, -2) as unknown as GrantRow],
  );
  learnCursors(parts, from, granted, parts.world.clock.monotonic() - began);
  const rooms = rows.map((row) => row.at(-1) as readonly number[] | null).find((some) => some !== null) ?? [];
  learnRoom(parts, capped.counters, rooms, request.max);
  const grants = await grantsOf(session, parts, inClaimOrder(granted, request.lanes));
  return { grants, blocked: blocksOf(request, capped, rooms, granted) };
}

/** Lanes that gave less than was asked for, and of which a counter has no room left. */
function blocksOf(
  request: NewClaim,
  { counters, places }: Capped,
  rooms: readonly number[],
  granted: readonly GrantRow[],
): readonly LaneBlock[] {
  const left = [...rooms];
  const counts = countByLane(granted);
  for (const [i, { lane }] of request.lanes.entries()) {
    for (const place of places[i] as readonly number[]) {
      left[place - 1] = (left[place - 1] as number) - (counts.get(lane) ?? 0);
    }
  }
  return request.lanes.flatMap(({ lane, max }, i) => {
    if ((counts.get(lane) ?? 0) >= Math.min(max, request.max)) return [];
    const full = (places[i] as readonly number[]).find((place) => (left[place - 1] as number) <= 0);
    return full === undefined ? [] : [{ lane, counter: counters[full - 1] as number, freesInMs: undefined, left: 0 }];
  });
}
