import { hostname } from 'node:os';
import type { NodeRole, Silence } from '../core/node.ts';
import { DutyWatchdog } from '../engine/duties/duty-watchdog.ts';
import { Membership, type NodeSelf } from '../engine/duties/membership.ts';
import type { Roster } from '../engine/duties/roster.ts';
import type { Engine } from '../engine/engine.ts';
import type { Log } from '../engine/log.ts';
import type { NodeRecord } from '../store/store.ts';

/** The options of a node in its cluster. A process without them is not a node. */
export interface ClusterOptions {
  readonly id: string;
  readonly role: NodeRole;
  /** Where it answers. */
  readonly address: string;
  readonly version: string;
  readonly leaderLeaseMs: number;
  readonly leaderRenewMs: number;
  readonly silence: Silence;
}

/** This process as a node of its cluster. */
export interface Cluster {
  readonly membership: Membership;
  readonly watchdog: DutyWatchdog;
  readonly silence: Silence;
}

/** Often enough to miss two heartbeats before the node counts as stale. */
const MOST_BEAT_MS = 10_000;

export function makeCluster(
  options: ClusterOptions,
  deps: { readonly engine: Engine; readonly roster: Roster; readonly incarnation: string; readonly log: Log },
): Cluster {
  const { id, role, address, version, leaderLeaseMs, leaderRenewMs, silence } = options;
  const { engine, roster, incarnation, log } = deps;
  const { store, world } = engine;
  const self: NodeSelf = { id, incarnation, address, version, host: hostname(), pid: process.pid };
  return {
    membership: new Membership({
      store,
      world,
      log,
      self,
      role,
      leaseMs: leaderLeaseMs,
      renewMs: leaderRenewMs,
      roster,
      beatMs: Math.min(MOST_BEAT_MS, silence.staleMs / 3),
      staleMs: silence.staleMs,
      isGone,
    }),
    watchdog: new DutyWatchdog({ store, world, log, names: roster.names(), termMs: leaderLeaseMs }),
    silence,
  };
}

/**
 * A process with this id ran on this host, and has ended. If another host has the same name, the mistake costs a leader its term at most.
 */
function isGone({ host, pid }: NodeRecord): boolean {
  return host === hostname() && pid !== undefined && pid !== process.pid && !isAlive(pid);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
