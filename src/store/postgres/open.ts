import { randomBytes } from 'node:crypto';
import { fault } from '../../core/errors.ts';
import { pause } from '../../core/pause.ts';
import type { World } from '../../core/world.ts';
import { type Address, parseAddress } from './connect/address.ts';
import { Connection } from './connect/connection.ts';
import { Database } from './connect/database.ts';
import { judge, translate } from './connect/errors.ts';
import { openSession } from './connect/open-session.ts';
import { PostgresWakeups } from './connect/wakeups.ts';
import { hasDays, makeDays } from './days.ts';
import { LaneCursors } from './lane-cursors.ts';
import { Lanes } from './lanes.ts';
import { migrate } from './migrate/migrate.ts';
import { statements } from './statements.ts';
import { type PostgresStore, postgresStore } from './store.ts';

/** The oldest version on which the statements were measured. Older ones lack features that they need. */
export const MIN_VERSION = 15;
const OPEN_MS = 15_000;
const CALL_MS = 15_000;

export interface PostgresOptions {
  readonly url: string;
  readonly world: World;
  /** Connections at most; default 6, or what the URL says. */
  readonly pool?: number;
  /** How long a call may take in all, repeats included; default 15 s. */
  readonly deadlineMs?: number;
  /** For tests: replaces the server's clock with one that stands still. Runs once, after the migration. */
  readonly prepare?: (connection: Connection, schema: string) => Promise<void>;
}

/** Opens the store in a schema of a Postgres database, and brings the schema up to date. */
export async function openPostgres(options: PostgresOptions): Promise<PostgresStore> {
  const { url, world, deadlineMs = CALL_MS } = options;
  const { store, clusterKey, address, connection } = await prepare(options, parseAddress(url));
  const { schema, config, name, pooled } = address;
  const texts = statements(schema);
  const pool = options.pool ?? address.pool;
  const shared = { config, name, texts, world, deadlineMs, pooled };
  const database = new Database({ ...shared, size: pool });
  if (connection !== undefined) database.adopt(connection);
  const reserved = new Database({ ...shared, size: 1 });
  const channel = `leasehold_${schema.slice(1, -1)}`;
  const wakeups = new PostgresWakeups({ database, config, world, channel, store, listens: !pooled });
  const parts = {
    database,
    reserved,
    world,
    texts,
    schema,
    lanes: new Lanes(),
    cursors: new LaneCursors(world.clock),
    rated: new Set<number>(),
    ample: new Set<number>(),
    store,
  };
  return postgresStore(parts, wakeups, clusterKey);
}

interface Prepared {
  readonly store: number;
  readonly clusterKey: string;
  /** With a pooler that was detected. */
  readonly address: Address;
  /** The session that found it so, unless it has migrated. */
  readonly connection: Connection | undefined;
}

/** Waits for a server that is starting. Any other error is thrown at once. */
async function prepare(options: PostgresOptions, address: Address): Promise<Prepared> {
  const { world } = options;
  const deadline = world.clock.monotonic() + OPEN_MS;
  for (let i = 0; ; i++) {
    let connection: Connection | undefined;
    try {
      const reached = await openSession(address, world, deadline);
      connection = reached.connection;
      const prepared = await found(connection, options, reached.address);
      if (prepared.connection === undefined) await connection.close();
      return prepared;
    } catch (error) {
      await connection?.close();
      const verdict = judge(error);
      // A wrong address is refused just like a server that is down. Only a server that says that it is starting is
      // waited for.
      const starting = (error as { readonly code?: unknown }).code === '57P03' || verdict === 'crowded';
      if (!starting || world.clock.monotonic() >= deadline) throw translate(error, address.name);
      await pause(world.timers, 50 + 50 * Math.min(i, 10));
    }
  }
}

async function found(connection: Connection, options: PostgresOptions, address: Address): Promise<Prepared> {
  const { world } = options;
  const { schema, name, config, pooled } = address;
  await requireVersion(connection, name);
  // A migration has no deadline.
  connection.deadline = Number.POSITIVE_INFINITY;
  const connect = (): Promise<Connection> => Connection.open(config, world, world.clock.monotonic() + OPEN_MS);
  let ran = false;
  const onRan = (): void => {
    ran = true;
  };
  await migrate({ connection, connect, schema, pooled, pause: (ms) => pause(world.timers, ms), onRan });
  await options.prepare?.(connection, schema);
  await makeFirstDays(connection, schema);
  const row = (await numbered(connection, schema)) ?? (await firstNumbered(connection, schema));
  if (row === undefined) throw fault('INTERNAL', { problem: 'the cluster key is not there' });
  return { store: row.store, clusterKey: row.value, address, connection: ran || pooled ? undefined : connection };
}

interface Numbered {
  readonly value: string;
  readonly store: number;
}

/** The key of the cluster, and a number for this store; undefined while the cluster has no key. */
async function numbered(connection: Connection, schema: string): Promise<Numbered | undefined> {
  // With a row of its own: a number that only a sequence knows may be used again after a crash of the server.
  const draw = `WITH k AS (SELECT value FROM ${schema}.meta WHERE key = 'cluster_key'),
    f AS (INSERT INTO ${schema}.flight (store, n, at)
      SELECT nextval('${schema}.store_seq'), 0, ${schema}.now_ms() FROM k RETURNING store)
    SELECT value, (SELECT store FROM f) AS store FROM k`;
  return (await connection.all<Numbered>(undefined, draw, []))[0];
}

/** Of several processes that are the first, one makes the key. */
async function firstNumbered(connection: Connection, schema: string): Promise<Numbered | undefined> {
  const put = `INSERT INTO ${schema}.meta (key, value) VALUES ('cluster_key', $1) ON CONFLICT (key) DO NOTHING`;
  await connection.all(undefined, put, [randomBytes(16).toString('hex')]);
  return numbered(connection, schema);
}

/** Before the first task can end: afterwards its day cannot be made any more. The pruner makes later days. */
async function makeFirstDays(connection: Connection, schema: string): Promise<void> {
  const session = {
    raw: <T>(text: string, values: readonly unknown[] = []) => connection.all<T>(undefined, text, values),
  };
  if (await hasDays(session, schema)) return;
  const [row] = await connection.all<{ now: number }>(undefined, `SELECT ${schema}.now_ms() AS now`, []);
  await connection.raw("BEGIN; SET LOCAL lock_timeout = '100ms'");
  try {
    await makeDays(session, schema, row?.now ?? 0);
    await connection.raw('COMMIT');
  } catch {
    // Another process does it now, or the pruner will.
    await connection.raw('ROLLBACK');
  }
}

export async function requireVersion(connection: Connection, name: string): Promise<void> {
  const [version] = await connection.all<{ server_version_num: string; server_version: string }>(
    undefined,
    "SELECT current_setting('server_version_num') AS server_version_num, current_setting('server_version') AS server_version",
    [],
  );
  if (Number(version?.server_version_num) >= MIN_VERSION * 10_000) return;
  throw fault('RUNTIME_TOO_OLD', {
    what: 'Postgres',
    found: `Postgres ${version?.server_version} at ${name}`,
    needed: `Postgres ${MIN_VERSION} or newer`,
  });
}
