import { randomBytes, randomUUID } from 'node:crypto';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { fault } from '../../core/errors.ts';
import { pause } from '../../core/pause.ts';
import type { World } from '../../core/world.ts';
import { Bell } from './file/bell.ts';
import { bootId, establishClock } from './file/clock.ts';
import { type Connection, connect, type Durability, existing } from './file/connection.ts';
import { isBusy, translate } from './file/errors.ts';
import { Housekeeper } from './file/housekeeper.ts';
import { LogRunway } from './file/log-runway.ts';
import { NamedFile } from './file/named-file.ts';
import { Writer } from './file/writer.ts';
import { STATEMENTS, type StatementTexts } from './statements.ts';
import { type SqliteStore, sqliteStore } from './store.ts';
import { migrate } from './upkeep/migrate.ts';

export interface SqliteOptions {
  /** A path, or `memory:` or `memory:NAME` for a database that lives and dies with this process. */
  readonly file: string;
  readonly world: World;
  /**
   * `full`: an acknowledged write survives the loss of power. `normal`: it survives kill -9, but the last writes may be
   * lost with the power.
   */
  readonly durability?: Durability;
  /** How long a write waits for other processes before it is refused as busy. */
  readonly busyDeadlineMs?: number;
  /** A thread for checkpoints and recounts while the process is busy. Short-lived processes do without. */
  readonly housekeeping?: boolean;
  /** Names this boot of the host; the simulator has its own. */
  readonly boot?: string;
  /** For the tests that plant defects: other texts for some statements. */
  readonly statements?: Partial<StatementTexts>;
}

/** Versions 3.7.0 to 3.51.2 can corrupt a WAL that two connections reset at the same time. */
const MIN_SQLITE = [3, 51, 3] as const;

export async function openSqlite(options: SqliteOptions): Promise<SqliteStore> {
  requireSqlite(process.versions.sqlite ?? '0');
  const durability = durabilityOf(options);
  const inMemory = options.file.startsWith('memory:');
  const file = inMemory ? memoryUrl(options.file) : resolve(options.file);
  const busyDeadlineMs = options.busyDeadlineMs ?? 5000;
  const texts = { ...STATEMENTS, ...options.statements };
  const open = (): Connection => connect(file, durability, texts);
  let clusterKey: string | undefined;
  const reopen = (): Connection =>
    inMemory ? open() : requireCluster(connect(existing(file), durability, texts), clusterKey);
  if (!inMemory) {
    makeFolder(file);
    makePrivate(file);
  }

  const housekeeper = inMemory || options.housekeeping === false ? undefined : new Housekeeper(file);
  // Tells its own rings from those of others, and is no secret: `node:crypto` takes 5 ms to load, and a command that only lists needs none of it.
  const bell = inMemory ? undefined : new Bell(file, options.world.clock, Math.floor(Math.random() * 2 ** 48));
  const onCommit = (now: number, heard: boolean): void => {
    housekeeper?.wrote(now);
    if (heard) bell?.ring();
  };
  const writer = await patiently(options.world, busyDeadlineMs, file, () => {
    const named = inMemory ? undefined : (bytes: () => number) => new NamedFile(file, bytes);
    const { world } = options;
    const runway = inMemory ? undefined : new LogRunway(file);
    return new Writer({ file, world, connect: open, reconnect: reopen, named, runway, busyDeadlineMs, onCommit });
  });
  try {
    clusterKey = await patiently(options.world, busyDeadlineMs, file, () => {
      if (!inMemory) useLog(writer.connection.db, file);
      return prepare(writer, options);
    });
    return sqliteStore({ file, inMemory, durability, world: options.world, writer, clusterKey, bell, housekeeper });
  } catch (error) {
    writer.close();
    throw error;
  }
}

/** A typing error must not lead to less durability. */
function durabilityOf({ durability = 'full' }: SqliteOptions): Durability {
  if (durability === 'full' || durability === 'normal') return durability;
  const problem = `${JSON.stringify(durability)} is neither full nor normal`;
  throw fault('INVALID_INPUT', { field: 'durability', problem });
}

/** Where SQLite cannot use a WAL it does not fail, but reports the mode that it stays in. */
function useLog(db: DatabaseSync, file: string): void {
  const mode = db.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode;
  if (mode === 'wal') return;
  throw fault(
    'STORE_UNAVAILABLE',
    { file, problem: `SQLite keeps no write-ahead log where the file is, it stays in mode ${String(mode)}` },
    { hint: 'Put the file on a local disk; network file systems cannot share the memory that the log needs.' },
  );
}

/** Prepares schema, clock and cluster key in one write transaction, so that processes that start together agree. */
function prepare(writer: Writer, options: SqliteOptions): string {
  const { db, sql } = writer.connection;
  db.exec('BEGIN IMMEDIATE');
  try {
    migrate(db);
    writer.clock = establishClock(sql, options.world.clock, options.boot ?? bootId());
    const kept = sql.get('metaGet').get('cluster_key') as { value: string } | undefined;
    const key = kept?.value ?? randomBytes(16).toString('hex');
    if (kept === undefined) sql.get('metaPut').run('cluster_key', key);
    db.exec('COMMIT');
    return key;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** Checks that a new handle is on the same data, and not on another store at the same path. */
function requireCluster(connection: Connection, clusterKey: string | undefined): Connection {
  try {
    const kept = connection.sql.get('metaGet').get('cluster_key') as { value: string } | undefined;
    if (kept?.value !== clusterKey) throw fault('STORE_UNAVAILABLE', { problem: 'another store lies in its place' });
    return connection;
  } catch (error) {
    connection.db.close();
    throw error;
  }
}

async function patiently<T>(world: World, deadlineMs: number, file: string, body: () => T): Promise<T> {
  const deadline = world.clock.monotonic() + deadlineMs;
  for (let i = 0; ; i++) {
    try {
      return body();
    } catch (error) {
      if (!isBusy(error) || world.clock.monotonic() > deadline) throw translate(error, file);
      await pause(world.timers, 1 + world.random() * Math.min(8, 1 + i));
    }
  }
}

/** `memory:NAME` opens the same database twice in one process; each plain `memory:` is a new one. */
function memoryUrl(file: string): string {
  const name = file.slice('memory:'.length) || randomUUID();
  return `file:/leasehold-${encodeURIComponent(name)}?vfs=memdb`;
}

function makeFolder(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  } catch (error) {
    throw fault('STORE_UNAVAILABLE', { file }, { cause: error, hint: `Make the folder ${dirname(file)} writable.` });
  }
}

/**
 * A new store is for its user alone, whatever the umask is. SQLite gives the log and its index the mode of the store. What is
 * wrong with the place is reported when the file is opened.
 */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch {
    // It is there, or cannot be made.
  }
}

function requireSqlite(version: string): void {
  const have = version.split('.').map(Number);
  for (const [i, need] of MIN_SQLITE.entries()) {
    const part = have[i] ?? 0;
    if (part > need) return;
    if (part < need) throw fault('RUNTIME_TOO_OLD', { what: 'SQLite', found: version, needed: MIN_SQLITE.join('.') });
  }
}
