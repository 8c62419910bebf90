/** This engine as its users see it: `open()`, `task()`, `app.push` and a worker whose handler runs inline. */
import { pathToFileURL } from 'node:url';
import type { AppWorkerOptions } from '../../src/app/worker.ts';
import type { App, PushOptions, TaskDefinition } from '../../src/index.ts';
import type { Worker as AppWorker } from '../../src/worker/worker.ts';
import type { Contender, Counts, Hooks, Payload, Queue, Worker } from './contender.ts';

type Library = typeof import('../../src/index.ts');

/** Where the children find the built package (`dist/`); without it the library runs from source. */
const PACKAGE = 'LEASEHOLD_BENCH_PACKAGE';

export function usePackage(dist: string | undefined): void {
  if (dist === undefined) delete process.env[PACKAGE];
  else process.env[PACKAGE] = dist;
}

/** A module of the library, built or from source. Only when it is used: peers shall not carry it. */
export async function loadModule<T>(name: string): Promise<T> {
  const dist = process.env[PACKAGE];
  const url =
    dist === undefined ? new URL(`../../src/${name}.ts`, import.meta.url) : pathToFileURL(`${dist}/${name}.js`);
  return (await import(url.href)) as T;
}

/** As many as the engine's own contender has. */
const SLOTS = 125;
const QUEUE = 'bench';
const ASIDE = 'aside';

/** Where the worker has its handler from: pushes need only the names. */
type Define = (handle: Hooks['handle']) => TaskDefinition<unknown>;

/** The targets and some measures look it up by its name. */
export const LIBRARY = 'library';

export interface LibraryOptions {
  /** Of the store in a place of the bench. */
  readonly url: (place: string) => string;
  readonly without: NonNullable<Contender['without']>;
  /** The one that is pushed to, and the only one that its workers serve: others may wait besides. Default: `bench`. */
  readonly queue?: (place: string) => string;
  /** Default: `library`. */
  readonly name?: string;
  /** Default: 60,000. */
  readonly drainTasks?: number;
  readonly warmTasks?: number;
  /** What the n-th push says besides its input. */
  readonly pushOptions?: (n: number) => PushOptions;
  /** Before the first push. */
  readonly prepare?: (app: App) => Promise<unknown>;
  readonly seedFinished?: (place: string, like: number, count: number) => void;
}

export function library(options: LibraryOptions): Contender {
  const {
    url,
    without,
    queue,
    drainTasks = 60_000,
    warmTasks,
    name = LIBRARY,
    pushOptions,
    prepare,
    seedFinished,
  } = options;
  return {
    name,
    drainTasks,
    without,
    ...(seedFinished === undefined ? {} : { seedsFinished: true }),
    ...(warmTasks === undefined ? {} : { warmTasks }),
    async open(place) {
      const { open } = await loadModule<Library>('index');
      const app = await open(url(place));
      await prepare?.(app);
      return LibraryQueue.open({
        queue: queue?.(place) ?? QUEUE,
        ...(pushOptions === undefined ? {} : { pushOptions }),
        ...(seedFinished === undefined
          ? {}
          : { seedFinished: (like: number, count: number) => seedFinished(place, like, count) }),
        app: async () => app,
        makeWorker: async (options) => app.worker({ ...options, queues: [queue?.(place) ?? QUEUE] }),
        close: () => app.close(),
      });
    },
  };
}

/** What the queue of a library is made of. */
export interface LibraryParts {
  readonly queue: string;
  readonly pushOptions?: (n: number) => PushOptions;
  readonly seedFinished?: (like: number, count: number) => void;
  /** Asked for when something is pushed or counted. */
  readonly app: () => Promise<App>;
  readonly makeWorker: (options: AppWorkerOptions) => Promise<AppWorker>;
  readonly close: () => Promise<void>;
}

export class LibraryQueue implements Queue {
  readonly #parts: LibraryParts;
  readonly #define: Define;
  readonly #pushed: TaskDefinition<unknown>;
  #pushes = 0;

  private constructor(parts: LibraryParts, define: Define) {
    this.#parts = parts;
    this.#define = define;
    this.#pushed = define(() => {});
  }

  static async open(parts: LibraryParts): Promise<LibraryQueue> {
    const { task } = await loadModule<Library>('index');
    const { queue } = parts;
    return new LibraryQueue(parts, (handle) => task('noop', { queue, run: (input) => handle(input) }));
  }

  async push(payload: Payload): Promise<void> {
    const options = this.#parts.pushOptions?.(this.#pushes++);
    await (await this.#parts.app()).push(this.#pushed, payload.value, options);
  }

  async pushMany(payloads: readonly Payload[]): Promise<void> {
    // Those of one call share their options.
    if (this.#parts.pushOptions === undefined) await this.#pushMany(payloads);
    else await Promise.all(payloads.map((payload) => this.push(payload)));
  }

  pushAside(payloads: readonly Payload[]): Promise<void> {
    return this.#pushMany(payloads, { queue: ASIDE });
  }

  async #pushMany(payloads: readonly Payload[], options?: PushOptions): Promise<void> {
    const app = await this.#parts.app();
    await app.pushMany(
      this.#pushed,
      payloads.map(({ value }) => value),
      options,
    );
  }

  async seedFinished(count: number): Promise<void> {
    const seed = this.#parts.seedFinished;
    if (seed === undefined) throw new Error('finished tasks have to be worked off on this store');
    const handle = await (await this.#parts.app()).push(this.#pushed, { sent: 0 }, { delay: '1h' });
    await handle.cancel();
    seed(handle.task, count - 1); // the cancelled one is finished too
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
