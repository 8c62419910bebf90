import { readFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { fault } from '../../core/errors.ts';

interface Migration {
  readonly version: number;
  readonly file: string;
  /** The oldest version whose processes can still work on the data after this migration. */
  readonly compatibleFrom: number;
}

/** Forward only, in order, each once. A released one never changes. */
const MIGRATIONS: readonly Migration[] = [{ version: 1, file: '001-kernel.sql', compatibleFrom: 1 }];

export const SCHEMA_VERSION = 1;

/** Brings the file up to date, inside the caller's write transaction. */
export function migrate(db: DatabaseSync): void {
  db.exec('CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID');
  const have = Number(read(db, 'schema') ?? 0);
  const compatibleFrom = Number(read(db, 'compatible_from') ?? 0);
  if (have > SCHEMA_VERSION && compatibleFrom > SCHEMA_VERSION) {
    throw fault('SCHEMA_TOO_NEW', { found: have, known: SCHEMA_VERSION });
  }
  for (const migration of MIGRATIONS) {
    if (migration.version <= have) continue;
    db.exec(readFileSync(new URL(`./migrations/${migration.file}`, import.meta.url), 'utf8'));
    write(db, 'schema', String(migration.version));
    write(db, 'compatible_from', String(migration.compatibleFrom));
  }
}

function read(db: DatabaseSync, key: string): string | undefined {
  return (db.prepare('SELECT value FROM meta WHERE key = ?').get(key) as { value: string } | undefined)?.value;
}

function write(db: DatabaseSync, key: string, value: string): void {
  db.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)').run(key, value);
}
