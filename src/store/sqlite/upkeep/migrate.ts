import { readFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { fault } from '../../../core/errors.ts';
import { knownVersion, type Migration, planMigrations, type SchemaStatus } from '../../migrations.ts';

/** Migrations go forward only, in order, each once. A released one never changes. */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, file: '001-kernel.sql', compatibleFrom: 1 },
  { version: 2, file: '002-workers.sql', compatibleFrom: 1 },
  // An older program would not count what it claims against the limits.
  { version: 3, file: '003-scheduling.sql', compatibleFrom: 3 },
  { version: 4, file: '004-tokens.sql', compatibleFrom: 3 },
  // An older program would take events of workers for events of tasks.
  { version: 5, file: '005-fleet.sql', compatibleFrom: 5 },
  { version: 6, file: '006-nodes.sql', compatibleFrom: 5 },
  { version: 7, file: '007-documents.sql', compatibleFrom: 5 },
  { version: 8, file: '008-insight.sql', compatibleFrom: 5 },
  // An older program would look for checkpoints in vain, and prune what a living tree needs.
  { version: 9, file: '009-trees.sql', compatibleFrom: 9 },
  { version: 10, file: '010-grants.sql', compatibleFrom: 9 },
  { version: 11, file: '011-token-use.sql', compatibleFrom: 9 },
  { version: 12, file: '012-browser-sessions.sql', compatibleFrom: 9 },
  { version: 13, file: '013-worker-names.sql', compatibleFrom: 9 },
  { version: 14, file: '014-runs.sql', compatibleFrom: 9 },
  // An older program would not give back what a task that it ends was granted, and would not know the event.
  { version: 15, file: '015-budgets.sql', compatibleFrom: 15 },
  { version: 16, file: '016-worker-pools.sql', compatibleFrom: 15 },
  { version: 17, file: '017-schedules.sql', compatibleFrom: 15 },
  { version: 18, file: '018-workflows.sql', compatibleFrom: 15 },
  { version: 19, file: '019-pools.sql', compatibleFrom: 15 },
  { version: 20, file: '020-reactions.sql', compatibleFrom: 15 },
  { version: 21, file: '021-credentials.sql', compatibleFrom: 15 },
  { version: 22, file: '022-audit.sql', compatibleFrom: 15 },
  { version: 23, file: '023-tags.sql', compatibleFrom: 15 },
  { version: 24, file: '024-artifacts.sql', compatibleFrom: 15 },
];

export const SCHEMA_VERSION = knownVersion(MIGRATIONS);

const META = 'CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID';

/** Called when a migration has run, inside the same transaction. */
export type OnMigration = (migration: Migration) => void;

/** Brings the file up to date, inside the caller's write transaction. */
export function migrate(db: DatabaseSync, onMigration?: OnMigration): void {
  if (!hasOurMeta(db)) makeFrom(db, META);
  const { version, compatibleFrom } = schemaStatus(db);
  for (const migration of planMigrations(MIGRATIONS, version, compatibleFrom)) {
    makeFrom(db, textOf(migration));
    writeMeta(db, 'schema', String(migration.version));
    writeMeta(db, 'compatible_from', String(migration.compatibleFrom));
    onMigration?.(migration);
  }
}

function textOf({ file }: Migration): string {
  return readFileSync(new URL(`../migrations/${file}`, import.meta.url), 'utf8');
}

/** Reads the version of the file. A file that was moved is refused with its new place. */
export function schemaStatus(db: DatabaseSync): SchemaStatus {
  if (!hasOurMeta(db)) return { version: 0, compatibleFrom: 0 };
  refuseMoved(db);
  return { version: Number(readMeta(db, 'schema') ?? 0), compatibleFrom: Number(readMeta(db, 'compatible_from') ?? 0) };
}

/** As marked by move-out.ts. */
function refuseMoved(db: DatabaseSync): void {
  const to = readMeta(db, 'moved_to');
  if (to === undefined) return;
  if (readMeta(db, 'move_ended') !== undefined) throw fault('STORE_MOVED', { to });
  const hint = 'Run the same "leasehold migrate --from … --to …" again: it goes on where it was.';
  throw fault('STORE_MOVED', { to: `${to} (begun, and not ended)` }, { hint });
}

/** Other programs have a table `meta` too, some with a schema version in it. Ours has had this key since its first version. */
function hasOurMeta(db: DatabaseSync): boolean {
  const columns = db.prepare("SELECT name FROM pragma_table_info('meta')").all();
  const fits = ['key', 'value'].every((column) => columns.some(({ name }) => name === column));
  return fits && readMeta(db, 'compatible_from') !== undefined;
}

/**
 * Runs statements that make tables and indexes, unless another program's tables in the same file have one of the names.
 * Views are at the end. They are only for people: one of ours is made anew, and if the name is taken otherwise, the view is left out.
 */
function makeFrom(db: DatabaseSync, sql: string): void {
  const [tables = '', ...views] = sql.split(/^(?=CREATE VIEW )/m);
  // Triggers have their own namespace. Everything else shares one, which ignores case.
  const find = db.prepare("SELECT type FROM sqlite_schema WHERE name = ? COLLATE NOCASE AND type <> 'trigger'");
  for (const [, name = ''] of tables.matchAll(/^CREATE (?:TABLE|INDEX) (\w+)/gm)) {
    const taken = find.get(name);
    if (taken === undefined) continue;
    throw fault(
      'CONFLICT',
      { table: name, problem: `the file has a ${String(taken.type)} "${name}" of another program` },
      { hint: `Give leasehold a file of its own, or rename the ${String(taken.type)}.` },
    );
  }
  db.exec(tables);
  for (const view of views) {
    const name = /^CREATE VIEW (\w+)/.exec(view)?.[1] ?? '';
    if (isOurView(db, name)) db.exec(`DROP VIEW ${name}`);
    if (find.get(name) === undefined) db.exec(view);
  }
}

/** The file keeps the text that a view was made by: ours is in one of our migrations. */
function isOurView(db: DatabaseSync, name: string): boolean {
  const made = db.prepare("SELECT sql FROM sqlite_schema WHERE type = 'view' AND name = ?").get(name)?.sql;
  return made !== undefined && MIGRATIONS.some((migration) => textOf(migration).includes(`${String(made)};`));
}

export function readMeta(db: DatabaseSync, key: string): string | undefined {
  return (db.prepare('SELECT value FROM meta WHERE key = ?').get(key) as { value: string } | undefined)?.value;
}

export function writeMeta(db: DatabaseSync, key: string, value: string): void {
  db.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)').run(key, value);
}
