/** Postgres stores for the suites: their server's clock stands still until the suite moves it. */
import pg from 'pg';
import { realWorld } from '../../src/app/world.ts';
import type { World } from '../../src/core/world.ts';
import type { Connection } from '../../src/store/postgres/connect/connection.ts';
import { openPostgres } from '../../src/store/postgres/open.ts';
import type { Store } from '../../src/store/store.ts';
import type { CallerHandle, StoreContractOptions } from '../../src/testing.ts';

/** The server's clock is one that the suite moves. */
export async function stopClock(connection: Connection, schema: string, now: number): Promise<void> {
  await connection.raw(`CREATE TABLE IF NOT EXISTS ${schema}.test_clock AS SELECT ${now}::bigint AS ms`);
  await connection.raw(`CREATE OR REPLACE FUNCTION ${schema}.now_ms() RETURNS bigint LANGUAGE sql STABLE
    AS 'SELECT ms FROM ${schema}.test_clock'`);
}

/** Deadlines and pauses of the network are in real time. */
export function onTheNetwork(world: World): World {
  const { clock, timers } = realWorld();
  return { ...world, clock: { ...clock, wall: world.clock.wall }, timers };
}

/** One client for what a suite itself does to a database; it does not hold the process. */
export async function adminOf(url: string): Promise<pg.Client> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  admin.on('error', () => {});
  (admin as unknown as { connection: { stream: { unref(): void } } }).connection.stream.unref();
  return admin;
}

export interface PostgresContract {
  readonly name: string;
  /** Where the stores are opened, without a schema. */
  readonly url: string;
  /** Where the suite itself works, if that is another way to the same database. */
  readonly direct?: string;
  readonly topics?: readonly string[];
}

/** A statement that makes a schema as it was when it was new, in a tenth of the time of making one. */
async function emptying(admin: pg.Client, schema: string): Promise<string> {
  const { rows } = await admin.query<{ kind: string; name: string }>(
    `SELECT relkind AS kind, format('%I.%I', $1::text, relname) AS name FROM pg_class
      WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p', 'S') AND NOT relispartition
      AND relname NOT IN ('meta', 'test_clock', 'latch')`,
    [schema],
  );
  const tables = rows.filter(({ kind }) => kind !== 'S').map(({ name }) => `DELETE FROM ${name};`);
  const sequences = rows.filter(({ kind }) => kind === 'S').map(({ name }) => `SELECT setval('${name}', 1, false);`);
  const founding = `INSERT INTO ${schema}.event (seq, n, at, queue, kind, state, ids, attempts, born)
    VALUES (0, 1, 0, 0, 0, 0, '{}', '{}', '{}'); DELETE FROM ${schema}.meta WHERE key IN ('cluster_key', 'cluster_secret');`;
  return [...tables, ...sequences, founding].join(' ');
}

/** One store after another in the same schema, which is emptied in between. */
export async function postgresContract({
  name,
  url,
  direct = url,
  topics,
}: PostgresContract): Promise<
  StoreContractOptions & { readonly schemaOf: (store: Store) => string; readonly admin: pg.Client }
> {
  const schemas = new WeakMap<Store, string>();
  const admin = await adminOf(direct);
  const schema = 'contract';
  let empty: string | undefined;
  const urlOf = (schema: string): string => `${url}&schema=${schema}&pool=3`;
  const schemaOf = (store: Store): string => schemas.get(store) as string;
  return {
    name,
    admin,
    schemaOf,
    ...(topics === undefined ? {} : { topics }),
    open: async ({ world }) => {
      const now = Math.floor(world.clock.wall());
      if (empty !== undefined) await admin.query(`${empty} UPDATE ${schema}.test_clock SET ms = ${now}`);
      const store = await openPostgres({
        url: urlOf(schema),
        world: onTheNetwork(world),
        prepare: (connection, quoted) => (empty === undefined ? stopClock(connection, quoted, now) : Promise.resolve()),
      });
      empty ??= await emptying(admin, schema);
      schemas.set(store, schema);
      return store;
    },
    reopen: async (store, { world }) => {
      const other = await openPostgres({ url: urlOf(schemaOf(store)), world: onTheNetwork(world) });
      schemas.set(other, schema);
      return other;
    },
    caller: () => caller(url),
    pass: async (ms, store, { world }) => {
      await world.advance(ms);
      await admin.query(`UPDATE "${schemaOf(store)}".test_clock SET ms = ms + $1`, [ms]);
    },
    setBack: async (ms, store) => {
      await admin.query(`UPDATE "${schemaOf(store)}".test_clock SET ms = ms - $1`, [ms]);
    },
  };
}

async function caller(url: string): Promise<CallerHandle> {
  const client = new pg.Client({ connectionString: url.replace(/&(pooler|pool|schema)=[^&]*/g, '') });
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
