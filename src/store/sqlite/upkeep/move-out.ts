import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { fault } from '../../../core/errors.ts';
import type { Clock } from '../../../core/world.ts';
import { SECRET_PIN, SETTING_KEYS } from '../../rows/node-rows.ts';
import { bootId } from '../file/clock.ts';
import { existing } from '../file/connection.ts';
import { LockedFile } from '../file/locked-file.ts';
import { explain } from './copy.ts';
import { migrate, readMeta, SCHEMA_VERSION, schemaStatus, writeMeta } from './migrate.ts';

/** A version that no program has. Programs that do not know of moves refuse the file all the same. */
const NO_VERSION = '1000000';
/**
 * The keys that a move puts aside. Without the cluster key, a process that lost its handle for a moment does not reopen
 * the file.
 */
const ASIDE = ['schema', 'compatible_from', 'cluster_key'] as const;

/** Rows of a store, as arrays. */
export interface Rows {
  iterate(sql: string, ...values: readonly number[]): Iterable<readonly unknown[]>;
}

/** What a move needs to know before it begins. */
export interface MoveStatus {
  /** Names this move. The target keeps it, so that a move that was cut off is recognized. */
  readonly move: string;
  readonly clusterKey: string;
  /** What the store keeps of the secret that its nodes share; empty: nothing. */
  readonly secretPin: string;
  /** The settings of the cluster, by their keys. */
  readonly settings: Readonly<Record<string, string>>;
  /** Lease time now. */
  readonly leaseNow: number;
}

/**
 * A file whose tasks move to another store. It is marked durably before the first row is read, and from then on refuses
 * to be opened: whatever happens to this process, the two stores never hand out the same work. A move that fails
 * removes the mark. One that was killed is repeated with the same target, or found to have ended there.
 */
export class MoveOut implements Rows {
  readonly #locked: LockedFile;
  readonly stand: MoveStatus;

  private constructor(locked: LockedFile, stand: MoveStatus) {
    this.#locked = locked;
    this.stand = stand;
  }

  /** Refuses while a process has the file open. `to` is an address without a password. */
  static begin(file: string, to: string, clock: Clock): MoveOut {
    let locked: LockedFile | undefined;
    try {
      locked = new LockedFile(file, 'move it');
      const move = mark(locked.db, to);
      locked.db.exec('COMMIT');
      const clusterKey = readMeta(locked.db, 'moved_cluster_key') ?? '';
      const secretPin = readMeta(locked.db, SECRET_PIN) ?? '';
      const { db } = locked;
      const settings = SETTING_KEYS.flatMap((key) => {
        const value = readMeta(db, key);
        return value === undefined ? [] : [[key, value]];
      });
      const kept = { secretPin, settings: Object.fromEntries(settings) as Record<string, string> };
      return new MoveOut(locked, { move, clusterKey, ...kept, leaseNow: leaseNow(db, clock) });
    } catch (error) {
      locked?.close();
      throw explain(error, file);
    }
  }

  iterate(sql: string, ...values: readonly number[]): Iterable<readonly unknown[]> {
    return iterate(this.#locked.db, sql, values);
  }

  /** The other store has everything, for good. */
  end(): void {
    writeMeta(this.#locked.db, 'move_ended', '1');
  }

  /** Nothing arrived: the file is a store again. */
  undo(): void {
    const { db } = this.#locked;
    db.exec('BEGIN');
    for (const key of ASIDE) {
      writeMeta(db, key, readMeta(db, `moved_${key}`) ?? '');
      drop(db, `moved_${key}`);
    }
    for (const key of ['moved_to', 'move']) drop(db, key);
    db.exec('COMMIT');
  }

  close(): void {
    this.#locked.close();
  }
}

/** Reads a store that others may have open, to rehearse its move to this address. */
export function rehearse<T>(file: string, to: string, look: (rows: Rows) => T): T {
  let db: DatabaseSync | undefined;
  try {
    const opened = new DatabaseSync(existing(file), { timeout: 5000 });
    db = opened;
    opened.exec('PRAGMA query_only = ON; BEGIN');
    if (!isBegun(opened, to)) requireStore(opened);
    return look({ iterate: (sql, ...values) => iterate(opened, sql, values) });
  } catch (error) {
    throw explain(error, file);
  } finally {
    db?.close();
  }
}

function* iterate(db: DatabaseSync, sql: string, values: readonly number[]): Generator<readonly unknown[]> {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  yield* statement.iterate(...values) as unknown as Iterable<readonly unknown[]>;
}

/** Inside the transaction that the locked file begins with. */
function mark(db: DatabaseSync, to: string): string {
  if (!isBegun(db, to)) {
    requireStore(db);
    migrate(db);
    for (const key of ASIDE) writeMeta(db, `moved_${key}`, readMeta(db, key) ?? '');
    writeMeta(db, 'schema', NO_VERSION);
    writeMeta(db, 'compatible_from', NO_VERSION);
    drop(db, 'cluster_key');
    writeMeta(db, 'moved_to', to);
    writeMeta(db, 'move', randomUUID());
  }
  return readMeta(db, 'move') ?? '';
}

/** A move to this target was cut off. */
function isBegun(db: DatabaseSync, to: string): boolean {
  const tables = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").all();
  return tables.length > 0 && readMeta(db, 'moved_to') === to && readMeta(db, 'move_ended') === undefined;
}

function requireStore(db: DatabaseSync): void {
  const { version } = schemaStatus(db);
  if (version === 0) throw fault('INVALID_INPUT', { field: 'file', problem: 'it is no store of leasehold' });
  // A newer store may have what this program would leave behind.
  if (version > SCHEMA_VERSION) throw fault('SCHEMA_TOO_NEW', { found: version, known: SCHEMA_VERSION });
}

/** Lease time as clock.ts would establish it now. */
function leaseNow(db: DatabaseSync, clock: Clock): number {
  if (readMeta(db, 'boot') === bootId()) return Math.floor(Number(readMeta(db, 'lease_base')) + clock.monotonic());
  return Math.floor(Math.max(Number(readMeta(db, 'lease_last') ?? 0), clock.wall()));
}

function drop(db: DatabaseSync, key: string): void {
  db.prepare('DELETE FROM meta WHERE key = ?').run(key);
}
