import { mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite';
import { processOwner } from './process-owner.ts';

export type Row = Readonly<Record<string, SQLOutputValue>>;

/**
 * One SQLite file with the checkpoints, leases and signals of runs, in the tables of the language. A lease that this process holds is known here,
 * because every write is checked against it.
 */
export class RunFile {
  readonly path: string;
  /** The fencing token of each run whose lease this file handle holds. */
  readonly tokens = new Map<string, number>();
  readonly owner: string;
  readonly now: () => number;
  readonly #file: DatabaseSync;

  constructor(path: string, { owner, now }: { readonly owner: string; readonly now: () => number }) {
    this.path = resolve(path);
    this.owner = owner;
    this.now = now;
    mkdirSync(dirname(this.path), { recursive: true });
    this.#file = new DatabaseSync(this.path, { timeout: 10_000 });
    this.#file.exec(TABLES);
  }

  /** The one that this process has open for a path, so that checkpoints and leases of a program know of each other. */
  static shared(path: string): RunFile {
    const known = opened.get(resolve(path)) ?? new RunFile(path, { owner: processOwner(), now: Date.now });
    opened.set(known.path, known);
    return known;
  }

  close(): void {
    if (opened.get(this.path) === this) opened.delete(this.path);
    if (this.#file.isOpen) this.#file.close();
  }

  all(sql: string, ...values: readonly SQLInputValue[]): readonly Row[] {
    return this.#file.prepare(sql).all(...values);
  }

  get(sql: string, ...values: readonly SQLInputValue[]): Row | undefined {
    return this.#file.prepare(sql).get(...values);
  }

  /** Resolves to how many rows it changed. */
  run(sql: string, ...values: readonly SQLInputValue[]): number {
    return Number(this.#file.prepare(sql).run(...values).changes);
  }

  /** All of it or nothing, and no other process in between: the lock to write is taken before anything is read. */
  transaction<T>(body: () => T): T {
    this.#file.exec('BEGIN IMMEDIATE');
    try {
      const value = body();
      this.#file.exec('COMMIT');
      return value;
    } catch (error) {
      if (this.#file.isTransaction) this.#file.exec('ROLLBACK');
      throw error;
    }
  }
}

const opened = new Map<string, RunFile>();

/** Times of leases are milliseconds since 1970; `created_at` is what the snapshot says. */
const TABLES = `
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS machine_checkpoints (
  checkpoint_key TEXT PRIMARY KEY, execution_id TEXT NOT NULL, machine_name TEXT, event TEXT, current_state TEXT,
  waiting_channel TEXT, snapshot_json TEXT NOT NULL, created_at TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS machine_checkpoints_execution ON machine_checkpoints (execution_id);
CREATE INDEX IF NOT EXISTS machine_checkpoints_waiting ON machine_checkpoints (waiting_channel) WHERE waiting_channel IS NOT NULL;
CREATE TABLE IF NOT EXISTS machine_latest (execution_id TEXT PRIMARY KEY, latest_key TEXT NOT NULL, updated_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS machine_configs (
  config_hash TEXT PRIMARY KEY, machine_name TEXT, spec_version TEXT, config_raw TEXT NOT NULL, created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS execution_leases (
  execution_id TEXT PRIMARY KEY, owner_id TEXT NOT NULL, phase TEXT, lease_until INTEGER NOT NULL,
  fencing_token INTEGER NOT NULL, acquired_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS signals (id INTEGER PRIMARY KEY AUTOINCREMENT, channel TEXT NOT NULL, data_json TEXT NOT NULL, created_at TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS signals_channel ON signals (channel, id);
CREATE TABLE IF NOT EXISTS signal_copies (
  signal_id INTEGER NOT NULL, execution_id TEXT NOT NULL, channel TEXT NOT NULL, data_json TEXT NOT NULL, created_at TEXT NOT NULL,
  PRIMARY KEY (signal_id, execution_id));
CREATE INDEX IF NOT EXISTS signal_copies_channel ON signal_copies (channel, execution_id);
`;
