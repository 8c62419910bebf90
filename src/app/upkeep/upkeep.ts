import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fault } from '../../core/errors.ts';
import { shellWord } from '../../core/shell-word.ts';
import { leavesRoomFor, type Migration, planMigrations, type SchemaStatus } from '../../store/migrations.ts';
import { backupSqlite } from '../../store/sqlite/upkeep/backup.ts';
import type { Contents, OnCopied } from '../../store/sqlite/upkeep/copy.ts';
import { MIGRATIONS, SCHEMA_VERSION } from '../../store/sqlite/upkeep/migrate.ts';
import { migrateFile, readSchema } from '../../store/sqlite/upkeep/migrate-file.ts';
import { type Restored, restoreSqlite } from '../../store/sqlite/upkeep/restore.ts';
import { fileOf } from '../operate.ts';
import { withoutPassword } from '../store-name.ts';
import { realWorld } from '../world.ts';

export type { Contents, Restored };

/** A migration that is to run, or has run. */
export interface MigrationView {
  readonly version: number;
  readonly name: string;
  readonly compatibleFrom: number;
  /** Whether processes of the version before can work during and after it. */
  readonly oldProcessesGoOn: boolean;
}

/** The version of a store's schema, and the migrations that are missing. */
export interface SchemaView {
  /** The store without its secrets, as people call it. */
  readonly store: string;
  /** 0: nothing is there yet. */
  readonly found: number;
  readonly known: number;
  readonly compatibleFrom: number;
  readonly migrations: readonly MigrationView[];
}

export interface RestoreWishes extends CopyOptions {
  /** Whether tokens, secrets and sessions stay as they are in the backup. */
  readonly keepTokens?: boolean | undefined;
}

export interface CopyOptions {
  readonly force: boolean;
  readonly onCopied?: OnCopied;
  readonly signal?: AbortSignal;
}

/** What is done to a store as a whole, from outside. */
export interface Upkeep {
  readonly store: string;
  /** Refuses a schema that this program does not understand. Changes nothing. */
  schema(): Promise<SchemaView>;
  /** Runs what `schema` lists, and calls back after each. In a file they all take effect or none, in Postgres each by itself. */
  migrate(onMigration: (migration: MigrationView) => void): Promise<void>;
  backup(to: string, options: CopyOptions): Promise<Contents>;
  restore(from: string, options: RestoreWishes): Promise<Restored>;
}

/** The one place that knows how each kind of store is maintained. */
export function upkeepOf(url: string): Upkeep {
  const scheme = /^([a-z][a-z0-9+.-]*):/.exec(url)?.[1];
  switch (scheme ?? '') {
    case 'memory':
    case 'sqlite': {
      // Refuses a store in memory; "sqlite:memory:" means that too, as in openStore.
      const file = fileOf(url.replace(/^sqlite::?(?=memory:)/, ''));
      if (file !== '') return sqliteUpkeep(resolve(file));
      throw badUrl('it names no file');
    }
    case 'postgres':
    case 'postgresql':
      return postgresUpkeep(url);
    default:
      throw badUrl(scheme === undefined ? 'it has no scheme' : `no store is called ${scheme}:`);
  }
}

function badUrl(problem: string): Error {
  const hint = 'Give sqlite:PATH for a file, such as sqlite:./work.db, or postgres://USER@HOST/DATABASE.';
  return fault('INVALID_INPUT', { field: 'store URL', problem }, { hint });
}

function sqliteUpkeep(file: string): Upkeep {
  return {
    store: file,
    async schema() {
      requireFile(file);
      return schemaView(file, readSchema(file), MIGRATIONS, SCHEMA_VERSION);
    },
    async migrate(onMigration) {
      requireFile(file);
      migrateFile(file, (migration) => onMigration(migrationView(migration)));
    },
    async backup(to, options) {
      requireFile(file);
      return backupSqlite({ ...options, file, to: resolve(to) });
    },
    restore: (from, options) =>
      restoreSqlite({ ...options, file, from: resolve(from), now: Math.floor(realWorld().clock.wall()) }),
  };
}

/** Postgres has its own tools for copies. */
function postgresUpkeep(url: string): Upkeep {
  const store = withoutPassword(url);
  const refuse = (problem: string, hint: string): Promise<never> =>
    Promise.reject(fault('INVALID_INPUT', { field: 'store URL', problem }, { hint }));
  const { address, schema, quoted } = forTools(store);
  return {
    store,
    // Loaded on demand: a program that works on a file does not pay for the driver.
    async schema() {
      const [{ readSchema }, migrations] = await Promise.all([
        import('../../store/postgres/migrate/migrate-database.ts'),
        import('../../store/postgres/migrate/migrate.ts'),
      ]);
      const status = await readSchema(url, realWorld());
      return schemaView(store, status, migrations.MIGRATIONS, migrations.SCHEMA_VERSION);
    },
    async migrate(onMigration) {
      const { migrateDatabase } = await import('../../store/postgres/migrate/migrate-database.ts');
      await migrateDatabase(url, realWorld(), (migration) => onMigration(migrationView(migration)));
    },
    backup: (to) =>
      refuse(
        'a store in Postgres is backed up with the tools of Postgres',
        `pg_dump --format=custom --schema=${schema} --file=${shellWord(to)} ${shellWord(address)}\nor a snapshot of your provider. Processes may go on meanwhile.`,
      ),
    restore: (from) =>
      refuse(
        'a store in Postgres is restored with the tools of Postgres',
        [
          'Stop all nodes and workers. Note which tokens are good, restore, and end the others with all sessions of browsers:',
          `psql ${shellWord(address)} -c ${shellWord(noteTokens(quoted))}`,
          `pg_restore --clean --if-exists --no-owner --single-transaction --dbname=${shellWord(address)} ${shellWord(from)}`,
          `psql ${shellWord(address)} -c ${shellWord(endTokens(quoted))}`,
          'Instead of pg_restore it may be a snapshot of your provider, between the same two commands.',
        ].join('\n'),
      ),
  };
}

const NOTED = 'public.leasehold_live_token';
const LIVE = (schema: string): string =>
  `revoked_at IS NULL AND used_at IS NULL AND coalesce(expires_at > ${schema}.now_ms(), true)`;

function noteTokens(schema: string): string {
  return `CREATE TABLE ${NOTED} AS SELECT hash, expires_at FROM ${schema}.entry_token WHERE ${LIVE(schema)}`;
}

/** As a restore of a file does it: store/sqlite/upkeep/end-access.ts. Numbers of tokens that were made since do not come again. */
function endTokens(schema: string): string {
  const id = `pg_get_serial_sequence('${schema}.entry_token', 'id')`;
  return [
    `UPDATE ${schema}.entry_token SET revoked_at = ${schema}.now_ms() WHERE ${LIVE(schema)} AND hash NOT IN (SELECT hash FROM ${NOTED})`,
    `UPDATE ${schema}.entry_token t SET expires_at = least(t.expires_at, n.expires_at) FROM ${NOTED} n WHERE n.hash = t.hash`,
    `DELETE FROM ${schema}.browser_session`,
    `SELECT setval(${id}, nextval(${id}) + 1000000)`,
    `DROP TABLE ${NOTED}`,
  ].join('; ');
}

/** Removes the parts of an address that are ours: the tools of Postgres would refuse them. */
function forTools(store: string): { readonly address: string; readonly schema: string; readonly quoted: string } {
  const [base = '', query = ''] = store.split('?');
  const parts = query.split('&').filter((part) => part !== '');
  const rest = parts.filter((part) => !/^(schema|pool|pooler)=/.test(part));
  const schema = parts.find((part) => part.startsWith('schema='))?.slice('schema='.length) ?? 'leasehold';
  return {
    address: rest.length === 0 ? base : `${base}?${rest.join('&')}`,
    schema: shellWord(schema),
    quoted: `"${decodeURIComponent(schema).replaceAll('"', '""')}"`,
  };
}

export function schemaView(
  store: string,
  { version, compatibleFrom }: SchemaStatus,
  migrations: readonly Migration[],
  known: number,
): SchemaView {
  const planned = planMigrations(migrations, version, compatibleFrom);
  return { store, found: version, known, compatibleFrom, migrations: planned.map(migrationView) };
}

function migrationView(migration: Migration): MigrationView {
  const { version, file, compatibleFrom } = migration;
  return {
    version,
    name: file.replace(/\.sql$/, ''),
    compatibleFrom,
    oldProcessesGoOn: leavesRoomFor(version - 1, migration),
  };
}

function requireFile(file: string): void {
  if (existsSync(file)) return;
  throw fault('NOT_FOUND', { kind: 'store', id: file }, { hint: '--store URL or --data-dir DIR name another.' });
}
