/** This engine as its users see it: `open()`, `task()`, `app.push` and a worker whose handler runs inline. */
import { type App, open, task } from '../../src/index.ts';
import type { Contender, Counts, Hooks, Payload, Queue, Worker } from './contender.ts';

const QUEUE = 'bench';
/** As many as the engine's own contender has. */
const SLOTS = 125;

/** Where the worker has its handler from: pushes need only the names. */
const definition = (handle: Hooks['handle']) => task('noop', { queue: QUEUE, run: (input) => handle(input) });
const pushed = definition(() => {});

/** The targets and some measures look it up by its name. */
export const library: Contender = {
  name: 'library',
  drainTasks: 60_000,
  without: ['growth'],
  async open(file) {
    return new LibraryQueue(await open(`sqlite:${file}`));
  },
};

class LibraryQueue implements Queue {
  readonly #app: App;

  constructor(app: App) {
    this.#app = app;
  }

  async push(payload: Payload): Promise<void> {
    await this.#app.push(pushed, payload.value);
  }

  async pushMany(payloads: readonly Payload[]): Promise<void> {
    await this.#app.pushMany(
      pushed,
      payloads.map(({ value }) => value),
    );
  }

  /** Registration and the renewal thread come with the start: the library offers no way to be ready before. */
  async worker(hooks: Hooks): Promise<Worker> {
    const worker = this.#app.worker({
      tasks: [definition((input) => hooks.handle(input))],
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
