import { DatabaseSync } from 'node:sqlite';
import type { SchemaStatus } from '../../migrations.ts';
import { existing } from '../file/connection.ts';
import { translate } from '../file/errors.ts';
import { migrate, type OnMigration, schemaStatus } from './migrate.ts';

/** How long to wait for the write lock. A process that only migrates does nothing else. */
const BUSY_MS = 10_000;

/** Reads the version of a file, which must exist. Changes nothing in it. */
export function readSchema(file: string): SchemaStatus {
  return withFile(file, (db) => {
    db.exec('PRAGMA query_only = ON');
    return schemaStatus(db);
  });
}

/** Brings an existing file up to date, in one transaction, as opening it would. Others read meanwhile and wait to write. */
export function migrateFile(file: string, onMigration?: OnMigration): void {
  withFile(file, (db) => {
    db.exec('PRAGMA synchronous = FULL; BEGIN IMMEDIATE');
    try {
      migrate(db, onMigration);
      db.exec('COMMIT');
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK');
      throw error;
    }
  });
}

function withFile<T>(file: string, work: (db: DatabaseSync) => T): T {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(existing(file), { timeout: BUSY_MS });
    return work(db);
  } catch (error) {
    throw translate(error, file);
  } finally {
    db?.close();
  }
}
