/**
 * plainjob through its public API, as fast as it goes: no logging, a poll each millisecond, else its own defaults
 * (better-sqlite3, WAL, synchronous NORMAL, busy timeout 5 s, one job at a time; a second worker in the process brings nothing).
 */
import type { Contender, Counts, Hooks, Payload, Queue, Worker } from '../contender.ts';
import { load } from '../peer.ts';

// The parts of the two packages used here.
interface Database {
  prepare(sql: string): { run(...values: unknown[]): unknown };
}
interface PlainQueue {
  add(type: string, data: unknown): { id: number };
  addMany(type: string, data: readonly unknown[]): { ids: number[] };
  countJobs(filter: { status: number }): number;
  close(): void;
}
type Log = Record<'error' | 'warn' | 'info' | 'debug', (message: string) => void>;
interface Plainjob {
  better(database: Database): unknown;
  defineQueue(options: { connection: unknown; logger: Log }): PlainQueue;
  defineWorker(
    type: string,
    processor: (job: { data: string }) => void,
    options: { queue: PlainQueue; pollIntervall: number; logger: Log; onCompleted: () => void },
  ): { start(): Promise<void>; stop(): Promise<void> };
}

const TYPE = 'bench';
const STATUS = { pending: 0, processing: 1, done: 2 };
const quiet = (): void => {};
const logger: Log = { error: (message) => console.error(message), warn: quiet, info: quiet, debug: quiet };

export const plainjob: Contender = {
  name: 'plainjob',
  drainTasks: 10_000,
  async open(file) {
    const driver = await load<{ default: new (file: string) => Database }>('better-sqlite3');
    const lib = await load<Plainjob>('plainjob');
    const database = new driver.default(file);
    return new PlainjobQueue(lib, database, lib.defineQueue({ connection: lib.better(database), logger }));
  },
};

class PlainjobQueue implements Queue {
  readonly #lib: Plainjob;
  readonly #database: Database;
  readonly #queue: PlainQueue;

  constructor(lib: Plainjob, database: Database, queue: PlainQueue) {
    this.#lib = lib;
    this.#database = database;
    this.#queue = queue;
  }

  async push(payload: Payload): Promise<void> {
    this.#queue.add(TYPE, payload.value);
  }

  async pushMany(payloads: readonly Payload[]): Promise<void> {
    this.#queue.addMany(
      TYPE,
      payloads.map(({ value }) => value),
    );
  }

  async worker(hooks: Hooks): Promise<Worker> {
    const worker = this.#lib.defineWorker(TYPE, (job) => hooks.handle(job.data), {
      queue: this.#queue,
      pollIntervall: 1,
      logger,
      onCompleted: () => hooks.settled(1),
    });
    let ended: Promise<void> = Promise.resolve();
    return {
      start: () => {
        ended = worker.start();
      },
      stop: async () => {
        await worker.stop();
        await ended;
      },
    };
  }

  async counts(): Promise<Counts> {
    const count = (status: number): number => this.#queue.countJobs({ status });
    return { unfinished: count(STATUS.pending) + count(STATUS.processing), finished: count(STATUS.done) };
  }

  /** Straight into its table: the public API has no way that would end in a minute. */
  async seedFinished(count: number): Promise<void> {
    this.#database
      .prepare(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO plainjob_jobs (type, data, status, created_at, next_run_at) SELECT ?, ?, ?, ?, ? FROM n`)
      .run(count, TYPE, '{"sent":0}'.padEnd(400), STATUS.done, Date.now(), Date.now());
  }

  async close(): Promise<void> {
    this.#queue.close();
  }
}
