import { readFileSync } from 'node:fs';
import { fault } from '../../../core/errors.ts';
import { knownVersion, type Migration, planMigrations, type SchemaStatus } from '../../migrations.ts';
import type { Connection } from '../connect/connection.ts';
import { type Fill, fillTrees } from './fill-trees.ts';

/** Migrations go forward only, in order, each once. A released one never changes. */
export const MIGRATIONS: readonly PostgresMigration[] = [
  { version: 1, file: '001-kernel.sql', compatibleFrom: 1 },
  // An older program would not count what it claims against the limits.
  { version: 2, file: '002-scheduling.sql', compatibleFrom: 2 },
  { version: 3, file: '003-tokens.sql', compatibleFrom: 2 },
  // An older program would take events of workers for events of tasks.
  { version: 4, file: '004-fleet.sql', compatibleFrom: 4 },
  { version: 5, file: '005-nodes.sql', compatibleFrom: 4 },
  { version: 6, file: '006-documents.sql', compatibleFrom: 4 },
  { version: 7, file: '007-insight.sql', compatibleFrom: 4 },
  { version: 8, file: '008-trees.sql', compatibleFrom: 4 },
  { version: 9, file: '009-finished-trees.sql', compatibleFrom: 4 },
  // An older program would look for checkpoints in vain, lose the parents of tasks that it ends, and prune what a
  // living tree needs.
  { version: 10, file: '010-journal.sql', compatibleFrom: 10 },
  { version: 11, file: '011-tree-index.sql', compatibleFrom: 10, apart: true, fill: fillTrees },
  { version: 12, file: '012-grants.sql', compatibleFrom: 10 },
  { version: 13, file: '013-token-use.sql', compatibleFrom: 10 },
  { version: 14, file: '014-browser-sessions.sql', compatibleFrom: 10 },
  { version: 15, file: '015-worker-names.sql', compatibleFrom: 10 },
  { version: 16, file: '016-runs.sql', compatibleFrom: 10 },
  // An older program would not give back what a task that it ends was granted, and would not know the event.
  { version: 17, file: '017-budgets.sql', compatibleFrom: 17 },
  { version: 18, file: '018-worker-pools.sql', compatibleFrom: 17 },
  { version: 19, file: '019-schedules.sql', compatibleFrom: 17 },
  { version: 20, file: '020-workflows.sql', compatibleFrom: 17 },
  { version: 21, file: '021-pools.sql', compatibleFrom: 17 },
  { version: 22, file: '022-reactions.sql', compatibleFrom: 17 },
  { version: 23, file: '023-credentials.sql', compatibleFrom: 17 },
  { version: 24, file: '024-audit.sql', compatibleFrom: 17 },
  { version: 25, file: '025-tags.sql', compatibleFrom: 17 },
  { version: 26, file: '026-artifacts.sql', compatibleFrom: 17 },
];

export interface PostgresMigration extends Migration {
  /** Its statements run outside of a transaction, such as CREATE INDEX CONCURRENTLY. */
  readonly apart?: boolean;
  /** Runs after the statements of one that runs apart, in short transactions while others work. It may be started again. */
  readonly fill?: Fill;
}

export const SCHEMA_VERSION = knownVersion(MIGRATIONS);

const META = 'CREATE TABLE IF NOT EXISTS meta (key text COLLATE "C" PRIMARY KEY, value text NOT NULL)';
/** A lock that is not free within this time is tried for again: while a migration waits for it, all others wait behind. */
const LOCK_MS = 50;
/** About a minute, with the pauses between them. */
const TRIES = 200;

/** The version of the schema. */
export async function schemaStatus(connection: Connection, schema: string): Promise<SchemaStatus> {
  const [there] = await connection.all<{ meta: string | null }>(undefined, 'SELECT to_regclass($1) AS meta', [
    `${schema}.meta`,
  ]);
  if (there?.meta === null || there === undefined) return { version: 0, compatibleFrom: 0 };
  const rows = await connection.all<{ key: string; value: string }>(
    undefined,
    `SELECT key, value FROM ${schema}.meta`,
    [],
  );
  const meta = new Map(rows.map(({ key, value }) => [key, value]));
  return { version: Number(meta.get('schema') ?? 0), compatibleFrom: Number(meta.get('compatible_from') ?? 0) };
}

export interface MigrateOptions {
  readonly connection: Connection;
  /** Opens another session, which keeps other migrators away while statements run outside of a transaction. */
  readonly connect: () => Promise<Connection>;
  /** Quoted. */
  readonly schema: string;
  /** Session settings do not reach the next statement, because a pooler is in between. */
  readonly pooled?: boolean;
  readonly migrations?: readonly PostgresMigration[];
  /** The text of a migration; by default its file. */
  readonly read?: (migration: PostgresMigration) => string;
  /** Called when a migration has run here, not when another process ran it. */
  readonly onRan?: (migration: PostgresMigration) => void;
  readonly pause: (ms: number) => Promise<void>;
  /** How often a migration tries for its locks before it gives up. */
  readonly tries?: number;
}

/** The outcome of a try. `others`: another process migrates now. `locked`: another transaction holds a lock that it needs. */
type StepOutcome = 'ran' | 'was done' | 'others' | 'locked';

/**
 * Brings the schema up to date while others work on it. Each migration is a transaction that gives up if it does not
 * get a lock at once, and is tried again. Of several processes one runs it, and the others find it done.
 */
export async function migrate(options: MigrateOptions): Promise<void> {
  const { connection, schema, migrations = MIGRATIONS, onRan } = options;
  const status = await schemaStatus(connection, schema);
  for (const migration of planMigrations(migrations, status.version, status.compatibleFrom)) {
    if ((await untilDone(options, migration)) === 'ran') onRan?.(migration);
  }
}

async function untilDone(options: MigrateOptions, migration: PostgresMigration): Promise<StepOutcome> {
  const { pause, tries = TRIES } = options;
  for (let i = 0; ; i++) {
    const outcome = await (migration.apart ? runApart(options, migration) : runInside(options, migration));
    if (outcome === 'ran' || outcome === 'was done') return outcome;
    if (i >= tries) {
      const problem = `migration ${migration.version} did not get its locks, which a long transaction holds`;
      const hint = 'End long transactions (reports, pg_dump, forgotten sessions), and try again; nothing was changed.';
      throw fault('STORE_BUSY', { problem }, { hint });
    }
    // While it waits for a lock all others wait behind it, so they are let through in between.
    await pause((outcome === 'others' ? 20 : 200) * (1 + Math.random()));
  }
}

async function runInside(options: MigrateOptions, migration: PostgresMigration): Promise<StepOutcome> {
  const { connection, schema, read = textOf } = options;
  // Few round trips: a new database takes all migrations one after the other, and ten for each were half of what they cost.
  await connection.raw(`BEGIN; SET LOCAL lock_timeout = '${LOCK_MS}ms'`);
  try {
    let outcome = await turn(connection, options, migration);
    if (outcome === undefined) {
      if (migration.version === 1) await makeSchema(connection, schema);
      await connection.raw(`SET LOCAL search_path = ${schema}; ${META}; ${read(migration)}`);
      await connection.raw(`${noted(schema, migration)}; COMMIT`);
      return 'ran';
    }
    await connection.raw('COMMIT');
    return outcome;
  } catch (error) {
    await connection.raw('ROLLBACK');
    if (isLocked(error)) return 'locked';
    throw explained(error, schema);
  }
}

/**
 * Runs each statement by itself. A second session keeps other migrators away with an open transaction: it ends with the
 * process, works behind a pooler, and has no snapshot that an index build would wait for.
 */
async function runApart(options: MigrateOptions, migration: PostgresMigration): Promise<StepOutcome> {
  const { connection, connect, schema, pooled = false, read = textOf } = options;
  const guard = await connect();
  try {
    await guard.raw('BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0');
    const outcome = await turn(guard, options, migration);
    if (outcome !== undefined) return outcome;
    // An index of a large table takes minutes. Its waits for locks block no reader or writer.
    if (!pooled) await connection.raw('SET statement_timeout = 0; SET lock_timeout = 0');
    const one = (statement: string): Promise<void> => alone(connection, schema, statement);
    for (const statement of statementsOf(read(migration), schema)) await one(statement);
    await migration.fill?.({ connection, schema, alone: one, brief: (work) => brief(options, work) });
    await guard.raw(`${noted(schema, migration)}; COMMIT`);
    return 'ran';
  } catch (error) {
    if (isLocked(error)) return 'locked';
    throw explained(error, schema);
  } finally {
    if (!pooled && connection.usable) await connection.raw('RESET statement_timeout; RESET lock_timeout');
    await guard.close();
  }
}

/** Runs a transaction that gives up if it does not get a lock at once, and tries again. */
async function brief<T>({ connection, pause, tries = TRIES }: MigrateOptions, work: () => Promise<T>): Promise<T> {
  for (let i = 0; ; i++) {
    await connection.raw('BEGIN');
    try {
      await connection.raw(`SET LOCAL lock_timeout = '${LOCK_MS}ms'`);
      const answer = await work();
      await connection.raw('COMMIT');
      return answer;
    } catch (error) {
      await connection.raw('ROLLBACK');
      if (!isLocked(error) || i >= tries) throw error;
    }
    await pause(200 * (1 + Math.random()));
  }
}

/** Undefined: this process runs it, until the end of the transaction. */
async function turn(
  connection: Connection,
  { schema, migrations = MIGRATIONS }: MigrateOptions,
  migration: PostgresMigration,
): Promise<StepOutcome | undefined> {
  const take = 'SELECT pg_try_advisory_xact_lock(hashtext($1)) AS ours';
  const [row] = await connection.all<{ ours: boolean }>(undefined, take, [`leasehold ${schema}`]);
  if (!row?.ours) return 'others';
  const { version, compatibleFrom } = await schemaStatus(connection, schema);
  // Another process may have migrated further than this program can follow.
  planMigrations(migrations, version, compatibleFrom);
  return version < migration.version ? undefined : 'was done';
}

/** IF NOT EXISTS would need the right to create a schema even if it exists. */
async function makeSchema(connection: Connection, schema: string): Promise<void> {
  const sql = 'SELECT to_regnamespace($1) IS NOT NULL AS there';
  const [row] = await connection.all<{ there: boolean }>(undefined, sql, [schema]);
  if (!row?.there) await connection.raw(`CREATE SCHEMA ${schema}`);
}

function statementsOf(text: string, schema: string): readonly string[] {
  const parts = text.replaceAll(/^\s*--.*$/gm, '').split(';');
  return parts.map((part) => part.trim().replaceAll('{schema}', schema)).filter((part) => part !== '');
}

/**
 * A statement that was cut off is run again. An invalid index that it left, which is maintained but never used, is
 * dropped first.
 */
async function alone(connection: Connection, schema: string, statement: string): Promise<void> {
  const index = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY (?:IF NOT EXISTS )?"?(\w+)"? /i.exec(statement)?.[1];
  if (index === undefined) return connection.raw(statement);
  const drop = `DROP INDEX CONCURRENTLY IF EXISTS ${schema}."${index}"`;
  const stands = await isValid(connection, schema, index);
  if (stands === true) return;
  if (stands === false) await connection.raw(drop);
  try {
    await connection.raw(statement);
  } catch (error) {
    if (connection.usable && (await isValid(connection, schema, index)) === false) await connection.raw(drop);
    throw error;
  }
}

/** Undefined: there is no such index. */
async function isValid(connection: Connection, schema: string, index: string): Promise<boolean | undefined> {
  const sql = `SELECT i.indisvalid AS valid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE c.relname = $1 AND c.relnamespace = $2::regnamespace`;
  return (await connection.all<{ valid: boolean }>(undefined, sql, [index, schema]))[0]?.valid;
}

function noted(schema: string, { version, compatibleFrom }: PostgresMigration): string {
  return `INSERT INTO ${schema}.meta (key, value) VALUES ('schema', '${version}'), ('compatible_from', '${compatibleFrom}')
    ON CONFLICT (key) DO UPDATE SET value = excluded.value`;
}

/** 55P03: the lock timed out. 40P01: a deadlock. */
function isLocked(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === '55P03' || code === '40P01';
}

/** 42P07 and 42723: a table, an index or a function of that name exists. */
function explained(error: unknown, schema: string): unknown {
  const { code, message } = error as { readonly code?: unknown; readonly message?: string };
  if (code !== '42P07' && code !== '42723') return error;
  return fault(
    'CONFLICT',
    { problem: `the schema ${schema} holds something of another program (${message ?? ''})` },
    { hint: 'Give leasehold a schema of its own: add ?schema=NAME to the address of the store.', cause: error },
  );
}

function textOf({ file }: PostgresMigration): string {
  return readFileSync(new URL(`../migrations/${file}`, import.meta.url), 'utf8');
}
