import { DatabaseSync } from 'node:sqlite';
import type { SchemaStatus } from '../../migrations.ts';
import { existing } from '../file/connection.ts';
import { translate } from '../file/errors.ts';
import { migrate, type OnMigration, schemaStatus } from './migrate.ts';

/** How long to wait for the write lock; nothing else runs in a process that only migrates. */
const BUSY_MS = 10_000;

/** What a file says of its schema. It must be there; nothing in it is changed. */
export function readSchema(file: string): SchemaStatus {
  return withFile(file, (db) => {
    db.exec('PRAGMA query_only = ON');
    return schemaStatus(db);
  });
}

/** Brings a file that is there up to date, in one transaction, as opening it would. Others read meanwhile and wait to write. */
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
