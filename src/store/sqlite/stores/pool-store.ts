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

export function poolStore({ calls, writer }: StoreParts): PoolStore {
  return {
    poolPut: (params) => writer.write('rest', (tx) => putPool(tx, params)),
    poolGet: ({ name }) => writer.read(({ sql }) => getPool(sql, name)),
    poolList: ({ after, limit }) =>
      calls.again('poolList', `${limit} ${after}`, ({ sql }) => listPools(sql, after, limit)),
    poolRemove: ({ name }) => writer.write('rest', (tx) => removePool(tx, name)),
    async poolLook(ask) {
      const now = writer.clock.lease();
      return writer.read(({ sql }) => lookAtPool(sql, ask, now));
    },
    poolAct: (act) => writer.write('rest', (tx) => actOnPool(tx, act)),
    ticketNote: (note) => writer.write('rest', (tx) => noteTicket(tx, note)),
    ticketList: (page) => writer.read(({ sql }) => listTickets(sql, page)),
    decisionList: (page) => writer.read(({ sql }) => listDecisions(sql, page)),
  };
}
