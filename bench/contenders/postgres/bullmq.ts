/** BullMQ on its Postgres backend through its public API; wake-ups by LISTEN/NOTIFY. It claims one job at a time. */
import type { Contender, Counts, Hooks, Payload, Queue, Worker } from '../contender.ts';
import { load } from '../peer.ts';
import { Counter } from './counter.ts';

// The parts of the package used here.
interface Connected {
  on(event: 'error', listener: (error: Error) => void): void;
  waitUntilReady(): Promise<unknown>;
  close(): Promise<void>;
}
interface BullQueue extends Connected {
  add(name: string, data: unknown): Promise<unknown>;
  addBulk(jobs: readonly { name: string; data: unknown }[]): Promise<unknown>;
}
interface BullWorker extends Omit<Connected, 'on'> {
  on(event: 'completed', listener: () => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
  run(): Promise<void>;
}
interface BullMq {
  createPostgresBackend: object;
  Queue: new (name: string, options: object, backend: object) => BullQueue;
  Worker: new (
    name: string,
    processor: (job: { data: unknown }) => Promise<void>,
    options: object,
    backend: object,
  ) => BullWorker;
}

const QUEUE = 'bench';
const SLOTS = 16;

export function bullmq(contender: Omit<Contender, 'open'>): Contender {
  return {
    ...contender,
    async open(place) {
      const lib = await load<BullMq>('bullmq');
      const connection = { connectionString: place, max: SLOTS + 2, migrate: true };
      const queue = new lib.Queue(QUEUE, { connection }, lib.createPostgresBackend);
      queue.on('error', (error) => console.error(error));
      await queue.waitUntilReady();
      return new BullMqQueue(lib, connection, queue, await Counter.open(place, COUNT));
    },
  };
}

const COUNT = `SELECT count(*) FILTER (WHERE state NOT IN ('completed', 'failed')) AS unfinished,
  count(*) FILTER (WHERE state = 'completed') AS finished FROM bullmq.job WHERE queue = '${QUEUE}'`;

class BullMqQueue implements Queue {
  readonly #lib: BullMq;
  readonly #connection: object;
  readonly #queue: BullQueue;
  readonly #counter: Counter;

  constructor(lib: BullMq, connection: object, queue: BullQueue, counter: Counter) {
    this.#lib = lib;
    this.#connection = connection;
    this.#queue = queue;
    this.#counter = counter;
  }

  async push(payload: Payload): Promise<void> {
    await this.#queue.add('noop', payload.value);
  }

  async pushMany(payloads: readonly Payload[]): Promise<void> {
    await this.#queue.addBulk(payloads.map(({ value }) => ({ name: 'noop', data: value })));
  }

  async worker(hooks: Hooks): Promise<Worker> {
    const worker = new this.#lib.Worker(
      QUEUE,
      async ({ data }) => hooks.handle(data),
      { connection: this.#connection, concurrency: SLOTS, autorun: false },
      this.#lib.createPostgresBackend,
    );
    worker.on('completed', () => hooks.settled(1));
    worker.on('error', (error) => console.error(error));
    await worker.waitUntilReady();
    return {
      start: () => void worker.run(),
      stop: () => worker.close(),
    };
  }

  counts(): Promise<Counts> {
    return this.#counter.counts();
  }

  async close(): Promise<void> {
    await this.#queue.close();
    await this.#counter.close();
  }
}
