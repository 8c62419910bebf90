/** This engine through its public API: claims of slots + look-ahead, one `complete` per task, durability FULL by default. */
import { DatabaseSync } from 'node:sqlite';
import { type Engine, type Grant, type Node, openNode } from '../../src/index.ts';
import type { Contender, Counts, Hooks, Payload, Queue, Worker } from './contender.ts';

const QUEUE = 'bench';
const HANDLER = 'noop';
/** Slots, and as many tasks ahead of them, so that the slots never wait for a claim: together what one flush can take. */
const SLOTS = 125;

/** The targets look it up by its name. */
export const leasehold: Contender = {
  name: 'leasehold',
  drainTasks: 60_000,
  async open(file) {
    return new LeaseholdQueue(file, await openNode(`sqlite:${file}`));
  },
};

class LeaseholdQueue implements Queue {
  readonly #file: string;
  readonly #node: Node;
  readonly #engine: Engine;

  constructor(file: string, node: Node) {
    this.#file = file;
    this.#node = node;
    this.#engine = node.engine;
  }

  async push(payload: Payload): Promise<void> {
    await this.#engine.push({ queue: QUEUE, handler: HANDLER, input: payload.value });
  }

  async pushMany(payloads: readonly Payload[]): Promise<void> {
    await this.#engine.pushMany(payloads.map(({ value }) => ({ queue: QUEUE, handler: HANDLER, input: value })));
  }

  async worker(hooks: Hooks): Promise<Worker> {
    const worker = await this.#engine.registerWorker({
      name: `bench-${process.pid}`,
      incarnation: crypto.randomUUID(),
      slots: SLOTS,
    });
    const stop = new AbortController();
    let ended: Promise<void> = Promise.resolve();
    return {
      start: () => {
        ended = this.#work(worker, hooks, stop.signal);
      },
      stop: () => {
        stop.abort();
        return ended;
      },
    };
  }

  /** Two claims in turn: while the tasks of one run, the other is under way. */
  async #work(worker: number, hooks: Hooks, signal: AbortSignal): Promise<void> {
    const claim = (): Promise<readonly Grant[]> =>
      this.#engine.claim({ worker, max: SLOTS, queues: [QUEUE], waitMs: 1000, signal });
    const lane = async (): Promise<void> => {
      while (!signal.aborted) {
        const grants = await claim();
        await Promise.all(grants.map((grant) => this.#run(grant, hooks)));
      }
    };
    await Promise.all([lane(), lane()]);
  }

  async #run(grant: Grant, hooks: Hooks): Promise<void> {
    hooks.handle(grant.payload);
    await this.#engine.complete(grant, null);
    hooks.settled(1);
  }

  async counts(): Promise<Counts> {
    const { ready, running, scheduled, waiting, completed, failed, cancelled } = await this.#engine.stats(QUEUE);
    return { unfinished: ready + running + scheduled + waiting, finished: completed + failed + cancelled };
  }

  /** Straight into the tables, as the engine would leave them: a finished row and its part of the counters. */
  async seedFinished(count: number): Promise<void> {
    const { task } = await this.#engine.push({ queue: QUEUE, handler: HANDLER, input: { sent: 0 }, delay: '1h' });
    await this.#engine.cancel(task);
    const db = new DatabaseSync(this.#file, { timeout: 5000 });
    db.exec('BEGIN IMMEDIATE');
    db.prepare(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
      INSERT INTO task (lane, spec, state, prio, attempt, tries, max_tries, holder, created_at, started_at, ended_at, payload, result)
      SELECT lane, spec, 4, 0, 1, 1, 3, 1, created_at, created_at, created_at, ?, 'null' FROM task, n WHERE task.id = ?`).run(
      count - 1,
      '{"sent":0}'.padEnd(400),
      task,
    );
    db.prepare('UPDATE qstat SET completed = completed + ?').run(count - 1);
    db.exec('COMMIT');
    db.close();
  }

  async close(): Promise<void> {
    await this.#node.close();
  }
}
