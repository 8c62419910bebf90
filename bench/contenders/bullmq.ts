/** BullMQ through its public API, on either of its backends. It claims one job at a time. */
import type { Contender, Counts, Hooks, Payload, Queue, Worker } from './contender.ts';
import { load } from './peer.ts';

// The parts of the package used here.
interface Connected {
  on(event: 'error', listener: (error: Error) => void): void;
  waitUntilReady(): Promise<unknown>;
  close(): Promise<void>;
}
interface BullQueue extends Connected {
  add(name: string, data: unknown): Promise<unknown>;
  addBulk(jobs: readonly { name: string; data: unknown }[]): Promise<unknown>;
  getJobCounts(): Promise<Readonly<Record<string, number>>>;
}
interface BullWorker extends Omit<Connected, 'on'> {
  on(event: 'completed', listener: () => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
  run(): Promise<void>;
}
interface BullMq {
  createPostgresBackend: object;
  Queue: new (name: string, options: object, backend: object | undefined) => BullQueue;
  Worker: new (
    name: string,
    processor: (job: { data: unknown }) => Promise<void>,
    options: object,
    backend: object | undefined,
  ) => BullWorker;
}

/** Where its queues lie. */
export interface BullMqBackend {
  /** Of queues and workers alike. */
  readonly options: object;
  /** Jobs of a worker that run at once. */
  readonly slots: number;
  /** Postgres instead of Redis. */
  readonly postgres: boolean;
  /** By other means than its own. */
  readonly counter?: { counts(): Promise<Counts>; close(): Promise<void> };
}

export interface BullMqOptions extends Omit<Contender, 'open'> {
  readonly backend: (place: string) => Promise<BullMqBackend>;
}

export const BULLMQ_QUEUE = 'bench';

export function bullmq({ backend, ...contender }: BullMqOptions): Contender {
  return {
    ...contender,
    async open(place) {
      const lib = await load<BullMq>('bullmq');
      const found = await backend(place);
      const create = found.postgres ? lib.createPostgresBackend : undefined;
      const queue = new lib.Queue(BULLMQ_QUEUE, found.options, create);
      queue.on('error', (error) => console.error(error));
      await queue.waitUntilReady();
      const options = { ...found.options, concurrency: found.slots, autorun: false };
      return new BullMqQueue(queue, found, (handle) => new lib.Worker(BULLMQ_QUEUE, handle, options, create));
    },
  };
}

type MakeWorker = (handle: (job: { data: unknown }) => Promise<void>) => BullWorker;

class BullMqQueue implements Queue {
  readonly #queue: BullQueue;
  readonly #backend: BullMqBackend;
  readonly #make: MakeWorker;

  constructor(queue: BullQueue, backend: BullMqBackend, make: MakeWorker) {
    this.#queue = queue;
    this.#backend = backend;
    this.#make = make;
  }

  async push(payload: Payload): Promise<void> {
    await this.#queue.add('noop', payload.value);
  }

  async pushMany(payloads: readonly Payload[]): Promise<void> {
    await this.#queue.addBulk(payloads.map(({ value }) => ({ name: 'noop', data: value })));
  }

  async worker(hooks: Hooks): Promise<Worker> {
    const worker = this.#make(async ({ data }) => hooks.handle(data));
    worker.on('completed', () => hooks.settled(1));
    worker.on('error', (error) => console.error(error));
    await worker.waitUntilReady();
    return {
      start: () => void worker.run(),
      stop: () => worker.close(),
    };
  }

  async counts(): Promise<Counts> {
    const { counter } = this.#backend;
    if (counter !== undefined) return await counter.counts();
    const { completed = 0, failed = 0, ...rest } = await this.#queue.getJobCounts();
    return { unfinished: failed + Object.values(rest).reduce((sum, count) => sum + count, 0), finished: completed };
  }

  async close(): Promise<void> {
    await this.#queue.close();
    await this.#backend.counter?.close();
  }
}
