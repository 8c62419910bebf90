/**
 * The floor: what hand-written SQL on `node:sqlite` can do at most with a lease and a fence in every claim and completion.
 * One table, no events (but in a coalesced push), no statistics, no lanes, no validation; a payload is an object
 * that it turns into text, as every contender must.
 */
import { type FSWatcher, watch } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import type { Contender, Counts, Hooks, Payload, Queue, Worker } from '../contender.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS task (id INTEGER PRIMARY KEY, state INTEGER NOT NULL, attempt INTEGER NOT NULL,
    lease_until INTEGER, created_at INTEGER NOT NULL, payload TEXT NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS ready ON task (id) WHERE state = 0;
  CREATE TABLE IF NOT EXISTS event (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind INTEGER NOT NULL, task INTEGER NOT NULL) STRICT;`;
const LEASE_MS = 30_000;

export interface FloorOptions {
  readonly name: string;
  readonly durability: 'FULL' | 'NORMAL';
  /** 1: claim and completion are two transactions, a push is one. More: one transaction for a batch; pushes coalesce. */
  readonly batch: number;
  readonly drainTasks: number;
  readonly without?: Contender['without'];
}

export function floor(options: FloorOptions): Contender {
  const { name, drainTasks, without = [] } = options;
  return { name, drainTasks, without, open: async (file) => new FloorQueue(file, options) };
}

class FloorQueue implements Queue {
  readonly #db: DatabaseSync;
  readonly #batch: number;
  readonly #insert;
  readonly #event;
  readonly #claim;
  readonly #done;
  readonly #watcher: FSWatcher;
  #waiting: { readonly payload: Payload; readonly resolve: () => void }[] = [];
  #wake: () => void = () => {};

  constructor(file: string, { durability, batch }: FloorOptions) {
    this.#batch = batch;
    this.#db = new DatabaseSync(file, { timeout: 5000 });
    this.#db.exec(`PRAGMA journal_mode=WAL; PRAGMA synchronous=${durability}; ${SCHEMA}`);
    this.#insert = this.#db.prepare('INSERT INTO task (state, attempt, created_at, payload) VALUES (0, 0, ?, ?)');
    this.#event = this.#db.prepare('INSERT INTO event (at, kind, task) VALUES (?, 0, ?)');
    this.#claim = this.#db.prepare(`UPDATE task SET state = 1, attempt = attempt + 1, lease_until = ?
      WHERE id IN (SELECT id FROM task INDEXED BY ready WHERE state = 0 ORDER BY id LIMIT ?) RETURNING id, attempt, payload`);
    this.#done = this.#db.prepare(
      'UPDATE task SET state = 2, lease_until = NULL WHERE id = ? AND attempt = ? AND state = 1',
    );
    this.#watcher = watch(`${file}-wal`, () => this.#wake());
  }

  async push(payload: Payload): Promise<void> {
    if (this.#batch === 1) {
      this.#insert.run(Date.now(), JSON.stringify(payload.value));
      this.#wake();
      return;
    }
    await new Promise<void>((resolve) => {
      if (this.#waiting.push({ payload, resolve }) === 1) setImmediate(() => this.#flush());
    });
  }

  /** Everything that was asked for since the last flush leaves together: a task row and an event row each. */
  #flush(): void {
    const items = this.#waiting;
    this.#waiting = [];
    this.#transaction(() => {
      const now = Date.now();
      for (const { payload } of items)
        this.#event.run(now, this.#insert.run(now, JSON.stringify(payload.value)).lastInsertRowid);
    });
    for (const item of items) item.resolve();
    this.#wake();
  }

  async pushMany(payloads: readonly Payload[]): Promise<void> {
    this.#transaction(() => {
      const now = Date.now();
      for (const { value } of payloads) this.#insert.run(now, JSON.stringify(value));
    });
    this.#wake();
  }

  async worker(hooks: Hooks): Promise<Worker> {
    let stopping = false;
    let ended: Promise<void> = Promise.resolve();
    const cycle = this.#batch === 1 ? () => this.#one(hooks) : this.#many(hooks);
    const loop = async (): Promise<void> => {
      for (let n = 1; !stopping; n++) {
        if (!cycle()) await this.#sleep();
        else if (this.#batch > 1 || n % 20 === 0) await turn();
      }
    };
    return {
      start: () => {
        ended = loop();
      },
      stop: () => {
        stopping = true;
        this.#wake();
        return ended;
      },
    };
  }

  /** Two commits a task. */
  #one(hooks: Hooks): boolean {
    const task = this.#claim.get(Date.now() + LEASE_MS, 1);
    if (!task) return false;
    hooks.handle(task['payload']);
    if (this.#done.run(task['id'] ?? 0, task['attempt'] ?? 0).changes !== 1) throw new Error('lease lost');
    hooks.settled(1);
    return true;
  }

  /** Completions of the last batch and the next claim share one transaction. */
  #many(hooks: Hooks): () => boolean {
    let held: ReturnType<StatementSync['all']> = [];
    return () => {
      const settled = held;
      held = this.#transaction(() => {
        for (const { id = 0, attempt = 0 } of settled) {
          if (this.#done.run(id, attempt).changes !== 1) throw new Error('lease lost');
        }
        return this.#claim.all(Date.now() + LEASE_MS, this.#batch);
      });
      if (settled.length > 0) hooks.settled(settled.length);
      for (const { payload } of held) hooks.handle(payload);
      return held.length > 0;
    };
  }

  /** Until a push of this process, a write of another (the log file changes), or the net of 20 ms. */
  async #sleep(): Promise<void> {
    await new Promise<void>((resolve) => {
      const net = setTimeout(resolve, 20);
      this.#wake = () => {
        clearTimeout(net);
        this.#wake = () => {};
        resolve();
      };
    });
  }

  #transaction<T>(body: () => T): T {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const result = body();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  async counts(): Promise<Counts> {
    const row = this.#db
      .prepare(
        'SELECT count(*) FILTER (WHERE state < 2) AS unfinished, count(*) FILTER (WHERE state = 2) AS finished FROM task',
      )
      .get();
    return { unfinished: Number(row?.['unfinished']), finished: Number(row?.['finished']) };
  }

  async seedFinished(count: number): Promise<void> {
    this.#db
      .prepare(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO task (state, attempt, created_at, payload) SELECT 2, 1, ?, ? FROM n`)
      .run(count, Date.now(), '{"sent":0}'.padEnd(400));
  }

  async close(): Promise<void> {
    this.#watcher.close();
    this.#db.close();
  }
}
