import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fault } from '../core/errors.ts';
import { leavesRoomFor, type Migration, planMigrations, type SchemaStand } from '../store/migrations.ts';
import { backupSqlite } from '../store/sqlite/backup.ts';
import type { Contents, OnCopied } from '../store/sqlite/copy.ts';
import { MIGRATIONS, SCHEMA_VERSION } from '../store/sqlite/migrate.ts';
import { migrateFile, readSchema } from '../store/sqlite/migrate-file.ts';
import { type Restored, restoreSqlite } from '../store/sqlite/restore.ts';
import { fileOf } from './operate.ts';
import { realWorld } from './world.ts';

export type { Contents, Restored };

/** A step that would be, or was, taken. */
export interface MigrationView {
  readonly version: number;
  readonly name: string;
  readonly compatibleFrom: number;
  /** Whether processes of the version before can go on working while and after it runs. */
  readonly oldProcessesGoOn: boolean;
}

/** Where a store stands, and what would bring it up to date. */
export interface SchemaView {
  /** The store without its secrets, as people call it. */
  readonly store: string;
  /** 0: nothing is there yet. */
  readonly found: number;
  readonly known: number;
  readonly compatibleFrom: number;
  readonly migrations: readonly MigrationView[];
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
  /** Runs what `schema` lists; told of each when it has run. All of them hold, or none. */
  migrate(onMigration: (migration: MigrationView) => void): Promise<void>;
  backup(to: string, options: CopyOptions): Promise<Contents>;
  restore(from: string, options: CopyOptions): Promise<Restored>;
}

/** The one place that knows which kind of store takes care of itself in which way. */
export function upkeepOf(url: string): Upkeep {
  const scheme = /^([a-z][a-z0-9+.-]*):/.exec(url)?.[1];
  switch (scheme ?? '') {
    case 'memory':
    case 'sqlite': {
      // Refuses what is in memory; "sqlite:memory:" means that too, as openStore says.
      const file = fileOf(url.replace(/^sqlite::?(?=memory:)/, ''));
      if (file !== '') return sqliteUpkeep(resolve(file));
      throw badUrl('it names no file');
    }
    case 'postgres':
    case 'postgresql':
      return postgresUpkeep(withoutPassword(url));
    default:
      throw badUrl(scheme === undefined ? 'it has no scheme' : `no store is called ${scheme}:`);
  }
}

function badUrl(problem: string): Error {
  const hint = 'Give sqlite:PATH for a file, such as sqlite:./work.db.';
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

/** Reading and running its migrations comes with the store; a database has tools of its own for the rest. */
function postgresUpkeep(address: string): Upkeep {
  const refuse = (problem: string, hint: string): Promise<never> =>
    Promise.reject(fault('INVALID_INPUT', { field: 'store URL', problem }, { hint }));
  return {
    store: address,
    schema: () => refuse('this version knows no store in Postgres yet', 'Give sqlite:PATH for a file.'),
    migrate: () => refuse('this version knows no store in Postgres yet', 'Give sqlite:PATH for a file.'),
    backup: (to) =>
      refuse(
        'a store in Postgres is backed up with the tools of Postgres',
        `pg_dump --format=custom --file=${shellWord(to)} ${shellWord(address)}\nor a snapshot of your provider. Processes may go on meanwhile.`,
      ),
    restore: (from) =>
      refuse(
        'a store in Postgres is restored with the tools of Postgres',
        [
          'Stop all nodes and workers, then:',
          `pg_restore --clean --if-exists --no-owner --single-transaction --dbname=${shellWord(address)} ${shellWord(from)}`,
          'or a snapshot of your provider.',
        ].join('\n'),
      ),
  };
}

export function schemaView(
  store: string,
  { version, compatibleFrom }: SchemaStand,
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

/** It would end up in logs and in the history of a shell; the tools ask for it, or find it in ~/.pgpass. */
function withoutPassword(url: string): string {
  return url.replace(/^([a-z]+:\/\/[^/@:]*):[^@]*@/, '$1@').replace(/([?&]password=)[^&]*/g, '$1');
}

function shellWord(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
