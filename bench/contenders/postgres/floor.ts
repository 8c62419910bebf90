/**
 * The floor: what hand-written SQL can do at most with a lease and a fence in every claim and completion. No events, no
 * statistics, no validation; a payload is an object that it turns into text, as every contender must.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Pool, type PoolClient } from 'pg';
import type { Contender, Counts, Hooks, Payload, Queue, Worker } from '../contender.ts';
import * as sql from './floor-sql.ts';

const LANE = 0;
const ASIDE = 1;
/** For pushes, and as many for claims and completions. */
const CONNECTIONS = 16;
/** Two batches in turn: while one is in the server, the other is in this process. */
const BATCHES = 2;
const POLL_MS = 2;

export interface FloorOptions extends Omit<Contender, 'open'> {
  /** 1: claim and completion are two commits, a push is one, over 16 connections. More: that many a commit; pushes coalesce. */
  readonly batch: number;
}

interface Task {
  readonly id: string;
  readonly attempt: number;
  readonly payload: string;
}

export function floor({ batch, ...contender }: FloorOptions): Contender {
  return {
    ...contender,
    async open(place) {
      const pool = new Pool({
        connectionString: place,
        max: 2 * CONNECTIONS,
        options: sql.SETTINGS,
        idleTimeoutMillis: 0,
      });
      await pool.query(`SELECT pg_advisory_lock(1); ${sql.SCHEMA} SELECT pg_advisory_unlock(1)`);
      return new FloorQueue(pool, batch);
    },
  };
}

class FloorQueue implements Queue {
  readonly #pool: Pool;
  readonly #batch: number;
  #waiting: { readonly payload: Payload; readonly resolve: () => void; readonly reject: (error: unknown) => void }[] =
    [];
  #flushing = false;

  constructor(pool: Pool, batch: number) {
    this.#pool = pool;
    this.#batch = batch;
  }

  async push(payload: Payload): Promise<void> {
    if (this.#batch === 1) {
      await this.#pool.query({ ...sql.push, values: [LANE, JSON.stringify(payload.value)] });
      return;
    }
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ payload, resolve, reject });
      if (!this.#flushing) void this.#flush();
    });
  }

  /** Everything that was asked for during the last flush leaves together. */
  async #flush(): Promise<void> {
    this.#flushing = true;
    await Promise.resolve(); // callers of the same turn come along
    while (this.#waiting.length > 0) {
      const items = this.#waiting;
      this.#waiting = [];
      try {
        const texts = items.map(({ payload }) => JSON.stringify(payload.value));
        await this.#pool.query({ ...sql.pushTogether, values: [LANE, texts] });
        for (const item of items) item.resolve();
      } catch (error) {
        for (const item of items) item.reject(error);
      }
    }
    this.#flushing = false;
  }

  pushMany(payloads: readonly Payload[]): Promise<void> {
    return this.#pushMany(LANE, payloads);
  }

  pushAside(payloads: readonly Payload[]): Promise<void> {
    return this.#pushMany(ASIDE, payloads);
  }

  async #pushMany(lane: number, payloads: readonly Payload[]): Promise<void> {
    const texts = payloads.map(({ value }) => JSON.stringify(value));
    await this.#pool.query({ ...sql.pushMany(texts.length), values: [lane, ...texts] });
  }

  async worker(hooks: Hooks): Promise<Worker> {
    const loops = this.#batch === 1 ? CONNECTIONS : BATCHES;
    const clients = await Promise.all(Array.from({ length: loops }, () => this.#pool.connect()));
    let stopping = false;
    const loop = async (client: PoolClient): Promise<void> => {
      while (!stopping) if (!(await this.#cycle(client, hooks))) await delay(POLL_MS);
      client.release();
    };
    let ended: Promise<unknown> = Promise.resolve();
    return {
      start: () => {
        ended = Promise.all(clients.map(loop));
      },
      stop: async () => {
        stopping = true;
        await ended;
      },
    };
  }

  /** Two commits a batch. */
  async #cycle(client: PoolClient, hooks: Hooks): Promise<boolean> {
    const { rows } = await client.query<Task>({ ...sql.claim, values: [LANE, this.#batch] });
    if (rows.length === 0) return false;
    for (const { payload } of rows) hooks.handle(payload);
    const ids = `{${rows.map(({ id }) => id).join()}}`;
    const attempts = `{${rows.map(({ attempt }) => attempt).join()}}`;
    const { rowCount } = await client.query({ ...sql.complete, values: [ids, attempts] });
    if (rowCount !== rows.length) throw new Error('lease lost');
    hooks.settled(rows.length);
    return true;
  }

  async counts(): Promise<Counts> {
    const { rows } = await this.#pool.query<Record<keyof Counts, string>>(sql.count, [LANE]);
    return { unfinished: Number(rows[0]?.unfinished), finished: Number(rows[0]?.finished) };
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}
