/** This engine through its public API, durable by default: claims of slots + look-ahead, one `complete` per task. */
import type { Engine, Grant, Node } from '../../src/index.ts';
import type { Contender, Counts, Hooks, Payload, Queue, Worker } from './contender.ts';

const QUEUE = 'bench';
const ASIDE = 'aside';
const HANDLER = 'noop';
/** Slots, and as many tasks ahead of them, so that the slots never wait for a claim: together what one flush can take. */
const SLOTS = 125;
/** Claims under way: while the tasks of one run, the others are on their way to the store and back. */
const LANES = 4;

export interface LeaseholdOptions {
  /** Of the store in a place of the bench. */
  readonly url: (place: string) => string;
  /** Adds finished tasks that look like a given one; without it they have to be worked off. */
  readonly seedFinished?: (place: string, like: number, count: number) => void;
}

/** The targets look it up by its name. */
export function leasehold(options: LeaseholdOptions): Contender {
  return {
    name: 'leasehold',
    drainTasks: 120_000,
    async open(place) {
      const { openNode } = await import('../../src/index.ts'); // only here: peers shall not carry it
      return new LeaseholdQueue(place, await openNode(options.url(place)), options.seedFinished);
    },
  };
}

class LeaseholdQueue implements Queue {
  readonly #place: string;
  readonly #node: Node;
  readonly #engine: Engine;
  readonly #seedFinished: LeaseholdOptions['seedFinished'];

  constructor(place: string, node: Node, seed: LeaseholdOptions['seedFinished']) {
    this.#place = place;
    this.#node = node;
    this.#engine = node.engine;
    this.#seedFinished = seed;
  }

  async push(payload: Payload): Promise<void> {
    await this.#engine.push({ queue: QUEUE, handler: HANDLER, input: payload.value });
  }

  pushMany(payloads: readonly Payload[]): Promise<void> {
    return this.#pushMany(QUEUE, payloads);
  }

  pushAside(payloads: readonly Payload[]): Promise<void> {
    return this.#pushMany(ASIDE, payloads);
  }

  async #pushMany(queue: string, payloads: readonly Payload[]): Promise<void> {
    await this.#engine.pushMany(payloads.map(({ value }) => ({ queue, handler: HANDLER, input: value })));
  }

  async worker(hooks: Hooks): Promise<Worker> {
    const worker = await this.#engine.workers.register({
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

  async #work(worker: number, hooks: Hooks, signal: AbortSignal): Promise<void> {
    const claim = (): Promise<readonly Grant[]> =>
      this.#engine.claim({ worker, max: SLOTS, queues: [QUEUE], waitMs: 1000, signal });
    const lane = async (): Promise<void> => {
      while (!signal.aborted) {
        const grants = await claim();
        await Promise.all(grants.map((grant) => this.#run(grant, hooks)));
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
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

  async seedFinished(count: number): Promise<void> {
    if (!this.#seedFinished) throw new Error('finished tasks have to be worked off on this store');
    const { task } = await this.#engine.push({ queue: QUEUE, handler: HANDLER, input: { sent: 0 }, delay: '1h' });
    await this.#engine.cancel(task);
    this.#seedFinished(this.#place, task, count - 1); // the cancelled one is finished too
  }

  async close(): Promise<void> {
    await this.#node.close();
  }
}
