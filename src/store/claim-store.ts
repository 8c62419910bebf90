import type { Lease } from '../core/task/lease.ts';
import type { LaneName } from './lane-store.ts';

/** The part of the port that gives tasks to workers. */
export interface ClaimStore {
  /**
   * Undefined for a claim whose lanes were not looked at: its worker is disabled or unknown, or its operation id had its
   * answer before and nothing of it holds any more. Such a claim says nothing about its lanes.
   */
  taskClaim(params: { readonly claims: readonly NewClaim[] }): Promise<readonly (ClaimAnswer | undefined)[]>;
}

export interface NewClaim {
  /** The worker incarnation that will hold the leases. */
  readonly holder: number;
  /** By which revision of the worker its lanes were chosen: nothing is granted by another one. */
  readonly revision?: number | undefined;
  /** The number of the secret that the worker came in by: nothing is granted once it has ended. Undefined: it needs none. */
  readonly token?: number | undefined;
  readonly ttlMs: number;
  readonly max: number;
  readonly lanes: readonly LaneAsk[];
  /** This very task and no other, if it is ready and its queue is not paused; `lanes` is empty then. */
  readonly task?: number | undefined;
  /** With `task`: no more than so many tasks of its queue, handler and placement at once with this holder. */
  readonly maxHeld?: number | undefined;
  readonly op?: string | undefined;
}

export interface LaneAsk {
  readonly lane: number;
  readonly max: number;
  /** Only tasks that have been ready for so long: younger ones are left to a better worker. */
  readonly minAgeMs?: number | undefined;
  /** No more than so many tasks of this queue, handler and placement at once with this holder. */
  readonly maxHeld?: number | undefined;
}

export interface ClaimAnswer {
  readonly grants: readonly Grant[];
  /** Lanes that gave less than they were asked for and have more: something holds it back. */
  readonly blocked: readonly LaneBlock[];
}

export interface LaneBlock {
  readonly lane: number;
  /** The counter without room; 0: it is held back from this holder, which has enough of these or leaves it to a better one. */
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
   * The lease of an earlier attempt ran out, and no handler has come to an end since: this task may be what killed its
   * worker, and should run where that harms nobody else.
   */
  readonly suspect: boolean;
}
