import type { PoolStore } from '../../store.ts';
import {
  actOnPool,
  getPool,
  listDecisions,
  listPools,
  listTickets,
  lookAtPool,
  noteTicket,
  putPool,
  removePool,
} from '../verbs/admin/pool.ts';
import type { StoreParts } from './store-parts.ts';

export function poolStore({ calls }: StoreParts): PoolStore {
  return {
    poolPut: (params) => calls.edit('poolPut', (session) => putPool(session, params)),
    poolGet: ({ name }) => calls.run((session) => getPool(session, name)),
    poolList: ({ after, limit }) => calls.run((session) => listPools(session, after, limit)),
    poolRemove: ({ name }) => calls.edit('poolRemove', (session) => removePool(session, name)),
    poolLook: (ask) => calls.run((session) => lookAtPool(session, ask)),
    // The answer is kept as JSON, which has no undefined.
    poolAct: async (act) =>
      (await calls.edit('poolAct', async (session) => (await actOnPool(session, act)) ?? null)) ?? undefined,
    ticketNote: (note) => calls.run((session) => noteTicket(session, note)),
    ticketList: (page) => calls.run((session) => listTickets(session, page)),
    decisionList: (page) => calls.run((session) => listDecisions(session, page)),
  };
}
