import type { GrantRow } from '../../../rows/grant-rows.ts';
import type { ClaimAnswer, NewClaim } from '../../../store.ts';
import { numbers } from '../../arrays.ts';
import type { Session, Try } from '../../connect/database.ts';
import type { PostgresParts } from '../../parts.ts';
import { type ClaimRow, grantsOf, inClaimOrder, laneValues, learnCursors, lostGrants } from './claim.ts';

type AmpleRow = readonly [...ClaimRow, fits: boolean];

/** A counter with room for this many claims of the same size is ample. */
const TIMES = 8;
/** Keys of limits may be anything, so the set is bounded. */
const MAX_KNOWN = 100_000;
const DIVISION_BY_ZERO = '22012';

/** Whether all these counters had much room at the last claim. */
export function mayClaimOptimistically({ ample }: PostgresParts, counters: readonly number[]): boolean {
  return counters.every((counter) => ample.has(counter));
}

export function learnRoom(
  { ample }: PostgresParts,
  counters: readonly number[],
  rooms: readonly number[],
  max: number,
) {
  if (ample.size > MAX_KNOWN) ample.clear();
  for (const [i, counter] of counters.entries()) {
    if ((rooms[i] as number) >= TIMES * max) ample.add(counter);
    else ample.delete(counter);
  }
}

/**
 * A claim behind limits with much room. It locks counters only at the end of its statement, as a settle does: locked
 * from the beginning, claims and settles wait for each other, and a limit that is never reached costs 15 % of a drain.
 * Room is read before and checked again under the lock; a claim that meets a full counter by then grants nothing.
 * `tight`: another way must be taken.
 */
export async function claimOptimistically(
  session: Session,
  parts: PostgresParts,
  request: NewClaim,
  counters: readonly number[],
  note: string,
  tried: Try,
): Promise<ClaimAnswer | 'tight' | undefined> {
  const before = tried.again ? await lostGrants(session, parts, note) : [];
  if (before.length > 0) return { grants: before, blocked: [] };
  const from = request.lanes.map(({ lane }) => parts.cursors.of(lane));
  const began = parts.world.clock.monotonic();
  const rows = await claimed(session, [...laneValues(request, from, note), numbers(counters)]);
  const [first] = rows;
  if (first !== undefined && first[0] !== true) return undefined; // disabled, unknown, or changed since its lanes were chosen
  if (first?.at(-1) !== true) {
    for (const counter of counters) parts.ample.delete(counter);
    return 'tight';
  }
  const granted = rows.flatMap(([, ...grant]) =>
    grant[0] === null ? [] : [grant.slice(0, -1) as unknown as GrantRow],
  );
  learnCursors(parts, from, granted, parts.world.clock.monotonic() - began);
  return { grants: await grantsOf(session, parts, inClaimOrder(granted, request.lanes)), blocked: [] };
}

/** No rows if a counter has become full between the read and the lock. */
async function claimed(session: Session, values: readonly unknown[]): Promise<readonly AmpleRow[]> {
  try {
    return (await session.rows('claimAmple', values)) as unknown as readonly AmpleRow[];
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === DIVISION_BY_ZERO) return [];
    throw error;
  }
}
