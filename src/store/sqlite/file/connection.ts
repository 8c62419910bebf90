import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { STATEMENTS, type StatementName, type StatementTexts } from '../statements.ts';

/** What prepared statements need of a SQLite handle. A caller's own handle has it too. */
export interface Preparer {
  prepare(sql: string): unknown;
}

/** Named statements, prepared on first use and kept for the life of the handle. */
export class Prepared {
  readonly #handle: Preparer;
  readonly #texts: StatementTexts;
  readonly #kept = new Map<StatementName, StatementSync>();
  readonly #keptRows = new Map<StatementName, StatementSync>();

  constructor(handle: Preparer, texts: StatementTexts = STATEMENTS) {
    this.#handle = handle;
    this.#texts = texts;
  }

  /** Rows come as objects. */
  get(name: StatementName): StatementSync {
    return this.#kept.get(name) ?? this.#prepare(name, this.#kept);
  }

  /** Rows come as arrays, which is faster for many rows. */
  rows(name: StatementName): StatementSync {
    const kept = this.#keptRows.get(name);
    if (kept !== undefined) return kept;
    const statement = this.#prepare(name, this.#keptRows);
    statement.setReturnArrays(true);
    return statement;
  }

  #prepare(name: StatementName, into: Map<StatementName, StatementSync>): StatementSync {
    const statement = this.#handle.prepare(this.#texts[name]) as StatementSync;
    into.set(name, statement);
    return statement;
  }
}

export type Durability = 'full' | 'normal';

export interface Connection {
  readonly db: DatabaseSync;
  readonly sql: Prepared;
  /** Begins a write transaction. Prepared once, as `commit`: parsing both took 2 to 3 % of the CPU of a push. */
  readonly begin: () => void;
  readonly commit: () => void;
}

/** The URL of a file that must exist. Otherwise opening a path whose mount is gone would make an empty file. */
export function existing(file: string): string {
  return `${pathToFileURL(file).href}?mode=rw`;
}

/**
 * Opens a handle without SQLite's own busy wait: on a thread with an event loop it would freeze the loop (2.8 s seen
 * with eight processes). The caller waits from the loop instead.
 */
export function connect(file: string, durability: Durability, texts?: StatementTexts): Connection {
  const db = new DatabaseSync(file, { timeout: 0, enableForeignKeyConstraints: false });
  try {
    // The WAL starts over only when a checkpoint finishes in the writer. The housekeeping thread keeps that short.
    db.exec(`PRAGMA synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}; PRAGMA wal_autocheckpoint = 4000;
      PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384;`);
  } catch (error) {
    db.close();
    throw error;
  }
  const sql = new Prepared(db, texts);
  return { db, sql, begin: () => void sql.get('begin').get(), commit: () => void sql.get('commit').get() };
}
