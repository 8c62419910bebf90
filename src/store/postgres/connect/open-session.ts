import type { World } from '../../../core/world.ts';
import { type Address, behindPooler } from './address.ts';
import { Connection } from './connection.ts';

/** A session, and its address after a pooler was or was not detected. */
export interface OpenedSession {
  readonly connection: Connection;
  readonly address: Address;
}

/**
 * Opens a session. A pooler that the URL does not mention is detected: it refuses startup settings, or the session's
 * process id is not that of the process that answers. It may be in transaction mode, so that is assumed.
 */
export async function openSession(address: Address, world: World, deadline: number): Promise<OpenedSession> {
  let found = address;
  let connection: Connection;
  try {
    connection = await Connection.open(address.config, world, deadline);
  } catch (error) {
    if (address.asked || !refusesSettings(error)) throw error;
    found = behindPooler(address);
    connection = await Connection.open(found.config, world, deadline);
  }
  connection.deadline = deadline;
  if (found.asked || found.pooled) return { connection, address: found };
  try {
    const [row] = await connection.all<{ pid: number }>(undefined, 'SELECT pg_backend_pid() AS pid', []);
    return { connection, address: row?.pid === connection.pid ? found : behindPooler(found) };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

function refusesSettings(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  return code === '08P01' && typeof message === 'string' && message.includes('unsupported startup parameter');
}
