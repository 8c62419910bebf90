import pg from 'pg';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { realWorld } from '../../app/world.ts';
import type { World } from '../../core/world.ts';
import { type CallerHandle, storeContract } from '../../testing.ts';
import type { Store } from '../store.ts';
import type { Connection } from './connection.ts';
import { openPostgres } from './open.ts';

const database = await freshDatabase('contract');
const schemas = new WeakMap<Store, string>();
let opened = 0;

const urlOf = (schema: string): string => `${database}&schema=${schema}&pool=3`;

/** One client for what the suite itself does to the databases. */
const admin = new pg.Client({ connectionString: database });
await admin.connect();
(admin as unknown as { connection: { stream: { unref(): void } } }).connection.stream.unref();

/** The server's clock is one that the suite moves. */
async function stopClock(connection: Connection, schema: string, now: number): Promise<void> {
  await connection.raw(`CREATE TABLE IF NOT EXISTS ${schema}.test_clock AS SELECT ${now}::bigint AS ms`);
  await connection.raw(`CREATE OR REPLACE FUNCTION ${schema}.now_ms() RETURNS bigint LANGUAGE sql STABLE
    AS 'SELECT ms FROM ${schema}.test_clock'`);
}

/** Deadlines and pauses of the network are in real time. */
function onTheNetwork(world: World): World {
  const { clock, timers } = realWorld();
  return { ...world, clock: { ...clock, wall: world.clock.wall }, timers };
}

async function caller(): Promise<CallerHandle> {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  const ask = async (text: string): Promise<void> => void (await client.query(text));
  return {
    tx: client,
    begin: () => ask('BEGIN'),
    commit: () => ask('COMMIT'),
    rollback: () => ask('ROLLBACK'),
    close: () => client.end(),
  };
}

storeContract({
  name: 'postgres',
  open: async ({ world }) => {
    const schema = `c${opened++}`;
    const now = Math.floor(world.clock.wall());
    const store = await openPostgres({
      url: urlOf(schema),
      world: onTheNetwork(world),
      prepare: (connection, quoted) => stopClock(connection, quoted, now),
    });
    schemas.set(store, schema);
    return store;
  },
  reopen: async (store, { world }) => {
    const schema = schemas.get(store) as string;
    const other = await openPostgres({ url: urlOf(schema), world: onTheNetwork(world) });
    schemas.set(other, schema);
    return other;
  },
  caller,
  pass: async (ms, store, { world }) => {
    await world.advance(ms);
    await admin.query(`UPDATE "${schemas.get(store)}".test_clock SET ms = ms + $1`, [ms]);
  },
});
