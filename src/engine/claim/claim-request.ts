import type { Grant } from '../../store/store.ts';

/** What a worker asks for. */
export interface ClaimRequest {
  /** The worker incarnation that will hold the leases. */
  readonly worker: number;
  readonly max: number;
  readonly leaseMs: number;
  readonly queues: ReadonlySet<string> | undefined;
  readonly handlers: ReadonlySet<string> | undefined;
  readonly op: string | undefined;
  /** The number of the token that the worker signed in with; undefined: it needs none. */
  readonly token?: number | undefined;
}

/** Requests that one claim can answer. */
export interface RequestGroup {
  /** One request that asks for all that they ask for. */
  readonly request: ClaimRequest;
  /** Their positions among all requests, in order. */
  readonly positions: readonly number[];
}

/**
 * Merges the requests of one worker for the same tasks. A worker with several requests under way would otherwise pay a round trip for each,
 * and the first to find a task would wait for those that find none. Requests are merged before lanes are picked, because an answer tells
 * only its own request whether a lane is empty. A request with an operation id stays alone, and so does its answer.
 */
export function groupRequests(requests: readonly ClaimRequest[]): readonly RequestGroup[] {
  const [only, ...others] = requests;
  // The usual case: nothing to compare.
  if (only !== undefined && others.length === 0) return [{ request: only, positions: [0] }];
  const groups = new Map<string, number[]>();
  for (const [i, request] of requests.entries()) {
    const key = request.op === undefined ? mergeKey(request) : `alone ${i}`;
    const positions = groups.get(key);
    if (positions === undefined) groups.set(key, [i]);
    else positions.push(i);
  }
  return [...groups.values()].map((positions) => {
    const together = positions.map((i) => requests[i] as ClaimRequest);
    return {
      request: { ...(together[0] as ClaimRequest), max: together.reduce((sum, { max }) => sum + max, 0) },
      positions,
    };
  });
}

/** Hands out the grants of a group: each request is filled before the next one gets anything. */
export function distribute(
  { positions }: RequestGroup,
  requests: readonly ClaimRequest[],
  grants: readonly Grant[],
  into: (readonly Grant[])[],
): void {
  const [single, ...others] = positions as readonly [number, ...number[]];
  // A repeat under an operation id gets all that was granted before, whatever it asks for now.
  if (others.length === 0) {
    into[single] = grants;
    return;
  }
  let from = 0;
  for (const position of positions) {
    const { max } = requests[position] as ClaimRequest;
    into[position] = grants.slice(from, from + max);
    from += max;
  }
}

function mergeKey({ worker, leaseMs, queues, handlers, token }: ClaimRequest): string {
  const names = [queues, handlers].map((filter) => (filter === undefined ? null : [...filter]));
  return JSON.stringify([worker, leaseMs, token, ...names]);
}
