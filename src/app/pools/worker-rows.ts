import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Manual, WorkerRecord } from '../library/manual.ts';

/** Marks a registration of FlatMachines, whose incarnation also carries the start time that the worker gave. */
const MARK = 'registered ';

export function incarnationOf(startedAt: string | undefined): string {
  return `${MARK}${randomUUID()}${startedAt === undefined ? '' : ` ${startedAt}`}`;
}

/** The start time that the worker gave. */
export function statedStart({ incarnation }: WorkerRecord): string | undefined {
  return /^registered \S+ (.+)$/.exec(incarnation)?.[1];
}

/** The newest incarnation of this name. */
export function newestOf(rows: readonly WorkerRecord[], name: string): WorkerRecord | undefined {
  return rows.findLast((row) => row.name === name);
}

/** How often a sign of life is written. */
const SIGN_MS = 5000;

interface Row {
  readonly worker: number;
  /** Created here: it goes offline when this object is closed. */
  readonly own: boolean;
  signedAt: number;
}

/**
 * The worker rows under which one object holds leases: the row of the worker's registration, if the same store has one, else
 * a row of its own for each worker id. Leases are never inherited with a row; the attempt alone gives the right to a task.
 */
export class WorkerRows {
  readonly #manual: Manual;
  readonly #handlers: readonly string[];
  readonly #rows = new Map<string, Promise<Row>>();

  constructor(manual: Manual, handlers: readonly string[]) {
    this.#manual = manual;
    this.#handlers = handlers;
  }

  /** The number of the row. Asking for it is a sign of life. */
  async numberOf(name: string): Promise<number> {
    const { engine } = this.#manual;
    for (;;) {
      const row = await this.#row(name);
      const now = engine.world.clock.monotonic();
      if (now - row.signedAt < SIGN_MS) return row.worker;
      if (await engine.workers.beat({ worker: row.worker })) {
        row.signedAt = now;
        return row.worker;
      }
      // The store has forgotten the row after a long silence.
      this.#rows.delete(name);
    }
  }

  async close(): Promise<void> {
    const { engine } = this.#manual;
    for (const settled of await Promise.allSettled(this.#rows.values())) {
      if (settled.status !== 'fulfilled' || !settled.value.own) continue;
      await engine.workers.beat({ worker: settled.value.worker, state: 'offline' }).catch(() => false);
    }
  }

  #row(name: string): Promise<Row> {
    const known = this.#rows.get(name);
    if (known !== undefined) return known;
    const row = this.#findOrMake(name);
    this.#rows.set(name, row);
    row.catch(() => this.#rows.delete(name));
    return row;
  }

  async #findOrMake(name: string): Promise<Row> {
    const { engine } = this.#manual;
    const found = newestOf(await engine.workers.list(), name);
    if (found !== undefined && found.incarnation.startsWith(MARK) && found.state !== 'offline') {
      return { worker: found.worker, own: false, signedAt: Number.NEGATIVE_INFINITY };
    }
    const worker = await this.#manual.register({
      name,
      incarnation: randomUUID(),
      host: hostname(),
      pid: process.pid,
      handlers: this.#handlers,
    });
    return { worker, own: true, signedAt: Number.NEGATIVE_INFINITY };
  }
}
