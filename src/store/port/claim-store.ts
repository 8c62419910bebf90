import type { Lease } from '../../core/task/lease.ts';
import type { LaneName } from './lane-store.ts';

/** The part of the port that gives tasks to workers. */
export interface ClaimStore {
  /**
   * Undefined: the lanes of the claim were not looked at. Its worker is disabled or unknown, or its operation id was
   * answered before and none of those leases holds any more. Such an answer says nothing about the lanes.
   */
  taskClaim(params: { readonly claims: readonly NewClaim[] }): Promise<readonly (ClaimAnswer | undefined)[]>;
}

export interface NewClaim {
  /** The worker incarnation that will hold the leases. */
  readonly holder: number;
  /** The revision of the worker by which its lanes were chosen. With another revision nothing is granted. */
  readonly revision?: number | undefined;
  /** The number of the worker's secret. Once the secret has ended, nothing is granted. Undefined: the worker needs none. */
  readonly token?: number | undefined;
  readonly ttlMs: number;
  readonly max: number;
  readonly lanes: readonly LaneAsk[];
  /** Claims this task and no other, if it is ready and its queue is not paused. `lanes` is empty then. */
  readonly task?: number | undefined;
  /** With `task`: how many tasks of its queue, handler and placement the holder may have at once. */
  readonly maxHeld?: number | undefined;
  readonly op?: string | undefined;
}

export interface LaneAsk {
  readonly lane: number;
  readonly max: number;
  /** Only tasks that have been ready for this long. Younger ones are left to a better worker. */
  readonly minAgeMs?: number | undefined;
  /** How many tasks of this queue, handler and placement the holder may have at once. */
  readonly maxHeld?: number | undefined;
}

export interface ClaimAnswer {
  readonly grants: readonly Grant[];
  /** Lanes that gave less than was asked for, although they have more. */
  readonly blocked: readonly LaneBlock[];
}

export interface LaneBlock {
  readonly lane: number;
  /**
   * The counter without room. 0: the lane is held back from this holder, which has enough of such tasks or leaves them
   * to a better worker.
   */
  readonly counter: number;
  /** When time alone will make room; undefined: something has to end. */
  readonly freesInMs: number | undefined;
  /** Room that is left for lighter tasks. */
  readonly left: number;
}

export interface Grant extends Lease, LaneName {
  readonly lane: number;
  readonly spec: number;
  readonly priority: number;
  readonly tries: number;
  readonly maxTries: number;
  readonly bounces: number;
  readonly createdAt: number;
  readonly leaseUntil: number;
  readonly payload: string;
  /**
   * The lease of an earlier attempt ran out, and no handler has ended since. This task may have killed its worker, and
   * should run where that harms nothing else.
   */
  readonly suspect: boolean;
}
