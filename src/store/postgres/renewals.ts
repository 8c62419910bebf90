/**
 * All that the renewal thread of a worker needs of this store: one session and one statement. A thread that loads the whole store costs
 * three times the CPU at the start of every worker (257 to 313 ms against 94).
 */
import type { World } from '../../core/world.ts';
import type { LeaseStore } from '../store.ts';
import { parseAddress } from './connect/address.ts';
import { Database } from './connect/database.ts';
import { translate } from './connect/errors.ts';
import { openSession } from './connect/open-session.ts';
import { fragments } from './statements/fragments.ts';
import { settleStatements } from './statements/settle.ts';
import { renewLeases } from './verbs/queue/renew.ts';

const OPEN_MS = 15_000;
const CALL_MS = 15_000;

export interface PostgresRenewals extends Pick<LeaseStore, 'leaseRenew'> {
  close(): Promise<void>;
}

/** On a schema that is up to date: the store was opened before, by the worker's loop. */
export async function openPostgresRenewals(url: string, world: World): Promise<PostgresRenewals> {
  const wanted = parseAddress(url);
  const { connection, address } = await openSession(wanted, world, world.clock.monotonic() + OPEN_MS).catch(
    (error: unknown) => {
      throw translate(error, wanted.name);
    },
  );
  const { schema, config, name, pooled } = address;
  const { renew } = settleStatements(fragments(schema));
  const database = new Database({ config, name, texts: { renew }, world, deadlineMs: CALL_MS, pooled, size: 1 });
  database.adopt(connection);
  return {
    leaseRenew: ({ items }) => database.run((session) => renewLeases(session, items)),
    close: () => database.close(),
  };
}
