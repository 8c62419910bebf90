import type { Engine } from '../../engine/engine.ts';
import { makeTicket } from '../../fleet/tickets.ts';
import { fault, isEngineError, type NewTicket } from '../library/manual.ts';

/** Where a worker of a pool with a policy stands: on a start that was reserved for it, or in the place of its own predecessor. */
export interface Place {
  readonly ticket?: NewTicket | undefined;
  /** The worker whose place it takes. */
  readonly before?: number | undefined;
}

const LIVE: ReadonlySet<string> = new Set(['starting', 'online', 'draining']);

/** Refuses a worker that the pool has no room for. Undefined: there is no such pool, and nothing bounds it. */
export async function placeIn(engine: Engine, pool: string, name: string): Promise<Place | undefined> {
  const known = await found(engine, pool);
  if (known === undefined) return undefined;
  const before = (await engine.workers.list()).findLast((one) => {
    return one.name === name && one.pool === pool && LIVE.has(one.state);
  });
  if (before !== undefined) return { before: before.worker };
  const { id, hash } = makeTicket();
  const { reserved } = await engine.pools.reserve(pool, [{ id, hash }]);
  if (reserved === 1) return { ticket: { id, hash } };
  const hint = 'Wait until one of them has ended, or raise its most: leasehold pools set NAME --max N.';
  throw fault('LIMIT_REACHED', { limit: `of ${known.policy.max} workers of the pool ${pool}` }, { hint });
}

async function found(engine: Engine, pool: string): ReturnType<Engine['pools']['find']> {
  try {
    return await engine.pools.find(pool);
  } catch (error) {
    // Pools of FlatMachines may have names that ours cannot have.
    if (isEngineError(error, 'INVALID_INPUT')) return undefined;
    throw error;
  }
}
