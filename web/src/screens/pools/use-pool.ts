/** A pool with its decisions and starts, as fresh as its tasks and workers change them. */

import { client } from '../../api.ts';
import { useNewest } from '../../live/newest.ts';
import { useResource } from '../../live/resource.ts';

/** A push, an end, a worker that comes: each may change what a pool has and wants. */
const LIVE = { everyMs: 3_000, on: () => true, atMostMs: 1_000 } as const;

export function usePools() {
  return useResource('pools', (signal) => client.call('listPools', { signal }), LIVE);
}

export function usePool(name: string) {
  const params = { name };
  const pool = useResource(
    `pool ${name}`,
    async (signal) => ({ ...(await client.call('getPool', { params, signal })), readAt: Date.now() }),
    LIVE,
  );
  const decisions = useNewest(
    `decisions ${name}`,
    async (limit, signal) => (await client.call('listPoolDecisions', { params, query: { limit }, signal })).decisions,
    LIVE,
  );
  const tickets = useNewest(
    `tickets ${name}`,
    async (limit, signal) => (await client.call('listPoolTickets', { params, query: { limit }, signal })).tickets,
    {
      ...LIVE, // Also when its worker is not known any more.
      settled: ({ state, worker, leftAt }) => state !== 'open' && (worker === undefined || leftAt !== undefined),
    },
  );
  return {
    pool,
    decisions,
    tickets,
    refresh: () => {
      pool.refresh();
      decisions.refresh();
      tickets.refresh();
    },
  };
}
