import type { ClaimAnswer, ClaimRequest } from '../store.ts';

/** Claims that one statement can answer. */
export interface Merged {
  readonly request: ClaimRequest;
  /** Their places among all, in order. */
  readonly places: readonly number[];
}

/**
 * Claims of one worker for the same lanes leave as one: a worker that has several under way would otherwise pay a round trip
 * for each, and the first to find a task would wait for those that find none.
 */
export function mergeClaims(claims: readonly ClaimRequest[]): readonly Merged[] {
  const groups = new Map<string, number[]>();
  for (const [i, claim] of claims.entries()) {
    const { holder, revision, ttlMs, lanes, op, task } = claim;
    const alone = op !== undefined || task !== undefined;
    const named = lanes.map(({ lane, minAgeMs = '', maxHeld = '' }) => `${lane}/${minAgeMs}/${maxHeld}`);
    const key = alone ? `alone ${i}` : `${holder} ${revision} ${ttlMs} ${named.join()}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [i]);
    else group.push(i);
  }
  return [...groups.values()].map((places) => ({
    request: sumOf(places.map((i) => claims[i] as ClaimRequest)),
    places,
  }));
}

function sumOf(claims: readonly ClaimRequest[]): ClaimRequest {
  const [first, ...rest] = claims as [ClaimRequest, ...ClaimRequest[]];
  if (rest.length === 0) return first;
  return {
    ...first,
    max: claims.reduce((sum, { max }) => sum + max, 0),
    lanes: first.lanes.map((ask, i) => {
      return { ...ask, max: claims.reduce((sum, { lanes }) => sum + (lanes[i]?.max ?? 0), 0) };
    }),
  };
}

/** Deals what was granted together: each claim is filled before the next one gets anything. */
export function deal(
  { places }: Merged,
  claims: readonly ClaimRequest[],
  answer: ClaimAnswer | undefined,
  into: (ClaimAnswer | undefined)[],
): void {
  const [alone, ...others] = places;
  // One that is sent again under its operation id gets all that it was granted before, whatever it asks for now.
  if (alone !== undefined && others.length === 0) {
    into[alone] = answer;
    return;
  }
  let from = 0;
  for (const place of places) {
    const { max } = claims[place] as ClaimRequest;
    into[place] = answer && { grants: answer.grants.slice(from, from + max), blocked: answer.blocked };
    from += max;
  }
}
