import { readFileSync } from 'node:fs';
import { fault } from '../../core/errors.ts';
import { knownVersion, type Migration, planMigrations, type SchemaStand } from '../migrations.ts';
import type { Connection } from './connection.ts';

/** Forward only, in order, each once. A released one never changes. */
export const MIGRATIONS: readonly PostgresMigration[] = [{ version: 1, file: '001-kernel.sql', compatibleFrom: 1 }];

export interface PostgresMigration extends Migration {
  /** Statements that Postgres runs outside of a transaction only, such as an index made while others write. */
  readonly apart?: boolean;
}

export const SCHEMA_VERSION = knownVersion(MIGRATIONS);

const META = 'CREATE TABLE IF NOT EXISTS meta (key text COLLATE "C" PRIMARY KEY, value text NOT NULL)';
/** A lock that is not to be had within this is tried for again: whoever waits for it, all others wait behind. */
const LOCK_MS = 100;
const TRIES = 300;

/** What the schema says of itself. */
export async function standOf(connection: Connection, schema: string): Promise<SchemaStand> {
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
  /** Quoted. */
  readonly schema: string;
  readonly migrations?: readonly PostgresMigration[];
  /** The text of a migration; by default its file. */
  readonly read?: (migration: PostgresMigration) => string;
  readonly onStep?: (migration: PostgresMigration) => void;
  readonly pause: (ms: number) => Promise<void>;
}

/**
 * Brings the schema up to date while others work on it. Each migration is a transaction that gives up a lock which it cannot
 * have at once, and is tried again; of several processes one does it and the others find it done.
 */
export async function migrate(options: MigrateOptions): Promise<void> {
  const { connection, schema, migrations = MIGRATIONS, onStep, pause } = options;
  const stand = await standOf(connection, schema);
  const plan = planMigrations(migrations, stand.version, stand.compatibleFrom);
  for (const migration of plan) {
    onStep?.(migration as PostgresMigration);
    for (let i = 0; !(await step(options, migration as PostgresMigration)); i++) {
      if (i >= TRIES) {
        throw fault('STORE_BUSY', { problem: `migration ${migration.version} did not get its locks` });
      }
      await pause(50 + Math.random() * 100);
    }
  }
}

/** False: somebody held a lock that it needs. */
async function step(options: MigrateOptions, migration: PostgresMigration): Promise<boolean> {
  const { connection, schema, read = textOf } = options;
  if (migration.apart) await runApart(options, migration);
  await connection.raw('BEGIN');
  try {
    await connection.raw(`SET LOCAL lock_timeout = '${LOCK_MS}ms'`);
    // Ends with the transaction, so that it works behind a pooler too.
    await connection.all(undefined, 'SELECT pg_advisory_xact_lock(hashtext($1))', [`leasehold ${schema}`]);
    await connection.raw(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await connection.raw(`SET LOCAL search_path = ${schema}`);
    const { version } = await standOf(connection, schema);
    if (version < migration.version) {
      await connection.raw(META);
      if (!migration.apart) await connection.raw(read(migration));
      await write(connection, 'schema', String(migration.version));
      await write(connection, 'compatible_from', String(migration.compatibleFrom));
    }
    await connection.raw('COMMIT');
    return true;
  } catch (error) {
    await connection.raw('ROLLBACK');
    if ((error as { readonly code?: unknown }).code === '55P03') return false;
    throw error;
  }
}

/** Each statement by itself; one that was cut off before is begun anew, so they must say IF NOT EXISTS. */
async function runApart(
  { connection, schema, read = textOf }: MigrateOptions,
  migration: PostgresMigration,
): Promise<void> {
  const text = read(migration).replaceAll(/^--.*$/gm, '');
  for (const statement of text.split(';').map((part) => part.trim())) {
    if (statement !== '') await connection.raw(statement.replaceAll('{schema}', schema));
  }
}

async function write(connection: Connection, key: string, value: string): Promise<void> {
  const sql = 'INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value';
  await connection.all(undefined, sql, [key, value]);
}

function textOf({ file }: PostgresMigration): string {
  return readFileSync(new URL(`./migrations/${file}`, import.meta.url), 'utf8');
}
