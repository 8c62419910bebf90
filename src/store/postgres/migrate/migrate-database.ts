import { pause } from '../../../core/pause.ts';
import type { World } from '../../../core/world.ts';
import type { SchemaStatus } from '../../migrations.ts';
import { type Address, parseAddress } from '../connect/address.ts';
import { Connection } from '../connect/connection.ts';
import { translate } from '../connect/errors.ts';
import { openSession } from '../connect/open-session.ts';
import { requireVersion } from '../open.ts';
import { migrate, type PostgresMigration, schemaStatus } from './migrate.ts';

const OPEN_MS = 15_000;
/** An explicit migration may wait longer than the opening of a store: about ten minutes. */
const TRIES = 2000;

/** Reads the version of a schema. Changes nothing in the database. */
export function readSchema(url: string, world: World): Promise<SchemaStatus> {
  return withConnection(url, world, async (connection, { schema, name }) => {
    await requireVersion(connection, name);
    return schemaStatus(connection, schema);
  });
}

/** Brings a schema up to date, as opening it would, or makes it. Other processes go on working. */
export function migrateDatabase(
  url: string,
  world: World,
  onRan?: (migration: PostgresMigration) => void,
): Promise<void> {
  return withConnection(url, world, async (connection, address) => {
    await requireVersion(connection, address.name);
    await migrateOn(connection, address, world, onRan);
  });
}

export function migrateOn(
  connection: Connection,
  { config, schema, pooled }: Address,
  world: World,
  onRan: (migration: PostgresMigration) => void = () => {},
): Promise<void> {
  return migrate({
    connection,
    connect: () => Connection.open(config, world, world.clock.monotonic() + OPEN_MS),
    schema,
    pooled,
    onRan,
    pause: (ms) => pause(world.timers, ms),
    tries: TRIES,
  });
}

/** Runs work in one session with the server, and closes it. */
export async function withConnection<T>(
  url: string,
  world: World,
  work: (connection: Connection, address: Address) => Promise<T>,
): Promise<T> {
  const asked = parseAddress(url);
  let connection: Connection | undefined;
  try {
    const reached = await openSession(asked, world, world.clock.monotonic() + OPEN_MS);
    connection = reached.connection;
    // Work on a whole store has no deadline.
    connection.deadline = Number.POSITIVE_INFINITY;
    return await work(connection, reached.address);
  } catch (error) {
    throw translate(error, asked.name);
  } finally {
    await connection?.close();
  }
}
