/** This engine as its users see it: `open()`, `task()`, `app.push` and a worker whose handler runs inline. */
import type { App, TaskDefinition } from '../../src/index.ts';
import type { Contender, Counts, Hooks, Payload, Queue, Worker } from './contender.ts';

const QUEUE = 'bench';
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
}

export function library({ url, without }: LibraryOptions): Contender {
  return {
    name: LIBRARY,
    drainTasks: 60_000,
    without,
    async open(place) {
      const { open, task } = await import('../../src/index.ts'); // only here: peers shall not carry it
      const define: Define = (handle) => task('noop', { queue: QUEUE, run: (input) => handle(input) });
      return new LibraryQueue(await open(url(place)), define);
    },
  };
}

class LibraryQueue implements Queue {
  readonly #app: App;
  readonly #define: Define;
  readonly #pushed: TaskDefinition<unknown>;

  constructor(app: App, define: Define) {
    this.#app = app;
    this.#define = define;
    this.#pushed = define(() => {});
  }

  async push(payload: Payload): Promise<void> {
    await this.#app.push(this.#pushed, payload.value);
  }

  async pushMany(payloads: readonly Payload[]): Promise<void> {
    await this.#app.pushMany(
      this.#pushed,
      payloads.map(({ value }) => value),
    );
  }

  /** Registration and the renewal thread come with the start: the library offers no way to be ready before. */
  async worker(hooks: Hooks): Promise<Worker> {
    const worker = this.#app.worker({
      tasks: [this.#define((input) => hooks.handle(input))],
      slots: SLOTS,
      onSettled: (_, parting) => {
        if (parting === 'completed') hooks.settled(1);
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
    const { ready, running, scheduled, waiting, completed, failed, cancelled } = await this.#app.stats(QUEUE);
    return { unfinished: ready + running + scheduled + waiting, finished: completed + failed + cancelled };
  }

  async close(): Promise<void> {
    await this.#app.close();
  }
}
