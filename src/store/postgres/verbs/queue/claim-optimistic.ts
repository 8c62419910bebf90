import type { GrantRow } from '../../../rows/grant-rows.ts';
import type { ClaimAnswer, NewClaim } from '../../../store.ts';
import { numbers } from '../../arrays.ts';
import type { Session, Try } from '../../connect/database.ts';
import type { PostgresParts } from '../../parts.ts';
import { type ClaimRow, grantsOf, inClaimOrder, laneValues, learnCursors, lostGrants } from './claim.ts';

type AmpleRow = readonly [...ClaimRow, fits: boolean];

/** A counter with room for so many claims like this one is ample. */
const TIMES = 8;
/** Keys of limits may be anything: they are not remembered without end. */
const MAX_KNOWN = 100_000;
const DIVISION_BY_ZERO = '22012';

/** Whether all these counters had room for much more when a claim last looked. */
export function areAmple({ ample }: PostgresParts, counters: readonly number[]): boolean {
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
 * Behind limits that do not bind, counters are locked only at the end of the statement that claims, as they are by one that settles:
 * held from its beginning, the two wait for each other, and a limit that nobody reaches costs 15 % of a drain. Whether there is
 * room is looked up before, and asked again under the lock: who meets one that is full by then has granted nothing.
 * `tight`: it has to be claimed in another way.
 */
export async function claimAmple(
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
  if (first !== undefined && first[0] !== true) return undefined; // disabled, or not known, or not as it was judged
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

/** No rows where a counter had become full between the look and the lock. */
async function claimed(session: Session, values: readonly unknown[]): Promise<readonly AmpleRow[]> {
  try {
    return (await session.rows('claimAmple', values)) as unknown as readonly AmpleRow[];
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === DIVISION_BY_ZERO) return [];
    throw error;
  }
}
