/** This engine as its users see it: `open()`, `task()`, `app.push` and a worker whose handler runs inline. */
import type { AppWorkerOptions } from '../../src/app/worker.ts';
import type { App, TaskDefinition } from '../../src/index.ts';
import type { Worker as AppWorker } from '../../src/worker/worker.ts';
import type { Contender, Counts, Hooks, Payload, Queue, Worker } from './contender.ts';

/** As many as the engine's own contender has. */
const SLOTS = 125;

/** Where the worker has its handler from: pushes need only the names. */
type Define = (handle: Hooks['handle']) => TaskDefinition<unknown>;

/** The targets and some measures look it up by its name. */
export const LIBRARY = 'library';

export interface LibraryOptions {
  /** Of the store in a place of the bench. */
  readonly url: (place: string) => string;
  readonly without: NonNullable<Contender['without']>;
  /** The only one that its workers serve; default: they serve all, and `bench` is the one that is pushed to. */
  readonly queue?: (place: string) => string;
}

export function library({ url, without, queue }: LibraryOptions): Contender {
  return {
    name: LIBRARY,
    drainTasks: 60_000,
    without,
    async open(place) {
      const { open } = await import('../../src/index.ts'); // only here: peers shall not carry it
      const app = await open(url(place));
      return LibraryQueue.open({
        queue: queue?.(place) ?? 'bench',
        app: async () => app,
        makeWorker: async (options) =>
          app.worker(queue === undefined ? options : { ...options, queues: [queue(place)] }),
        close: () => app.close(),
      });
    },
  };
}

/** What the queue of a library is made of. */
export interface LibraryParts {
  readonly queue: string;
  /** Asked for when something is pushed or counted. */
  readonly app: () => Promise<App>;
  readonly makeWorker: (options: AppWorkerOptions) => Promise<AppWorker>;
  readonly close: () => Promise<void>;
}

export class LibraryQueue implements Queue {
  readonly #parts: LibraryParts;
  readonly #define: Define;
  readonly #pushed: TaskDefinition<unknown>;

  private constructor(parts: LibraryParts, define: Define) {
    this.#parts = parts;
    this.#define = define;
    this.#pushed = define(() => {});
  }

  static async open(parts: LibraryParts): Promise<LibraryQueue> {
    const { task } = await import('../../src/index.ts');
    const { queue } = parts;
    return new LibraryQueue(parts, (handle) => task('noop', { queue, run: (input) => handle(input) }));
  }

  async push(payload: Payload): Promise<void> {
    await (await this.#parts.app()).push(this.#pushed, payload.value);
  }

  async pushMany(payloads: readonly Payload[]): Promise<void> {
    const app = await this.#parts.app();
    await app.pushMany(
      this.#pushed,
      payloads.map(({ value }) => value),
    );
  }

  /** Registration and the renewal thread come with the start: the library offers no way to be ready before. */
  async worker(hooks: Hooks): Promise<Worker> {
    const worker = await this.#parts.makeWorker({
      tasks: [this.#define((input) => hooks.handle(input))],
      slots: SLOTS,
      onSettled: (_, outcome) => {
        if (outcome === 'completed') hooks.settled(1);
      },
    });
    let started: Promise<void> = Promise.resolve();
    return {
      start: () => {
        started = worker.start();
      },
      stop: async () => {
        await started;
        await worker.stop();
      },
    };
  }

  async counts(): Promise<Counts> {
    const app = await this.#parts.app();
    const { ready, running, scheduled, waiting, completed, failed, cancelled } = await app.stats(this.#parts.queue);
    return { unfinished: ready + running + scheduled + waiting, finished: completed + failed + cancelled };
  }

  async close(): Promise<void> {
    await this.#parts.close();
  }
}
