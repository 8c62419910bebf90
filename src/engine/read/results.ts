import { isEngineError } from '../../core/errors.ts';
import { isFinal } from '../../core/task/task.ts';
import type { Store, TaskRecord } from '../../store/store.ts';
import type { Feed, FeedItem } from './feed.ts';

interface Waiter {
  readonly resolve: (record: TaskRecord | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Tasks of one read: records carry payloads and results. */
const MOST_AT_ONCE = 100;

/**
 * Resolves when tasks have ended. The feed is read once, however many tasks are waited for. A task is read when somebody begins to wait for
 * it and when it has ended: at once if it ended in this engine, otherwise when an event says so. What is asked for in one turn is one read.
 * On Postgres a hundred results of a new process took two hundred statements, a quarter of what its start cost.
 */
export class Results {
  readonly #store: Pick<Store, 'taskGet'>;
  readonly #feed: Feed;
  readonly #waiters = new Map<number, Set<Waiter>>();
  /** Tasks that have ended here, until they are read: their events cause no second read. */
  readonly #told = new Set<number>();
  #unread: number[] = [];
  /** Tasks that the next read takes. */
  #next: { readonly tasks: Set<number>; readonly read: Promise<void> } | undefined;
  /** The one reader of the feed, while somebody waits. */
  #reading: { readonly end: AbortController; readonly begun: Promise<void> } | undefined;

  constructor(store: Pick<Store, 'taskGet'>, feed: Feed) {
    this.#store = store;
    this.#feed = feed;
  }

  /** The record of the ended task; undefined when there is no such task. */
  async wait(task: number, signal?: AbortSignal): Promise<TaskRecord | undefined> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<TaskRecord | undefined>();
    const waiter = { resolve, reject };
    const waiters = this.#waiters.get(task) ?? new Set();
    this.#waiters.set(task, waiters.add(waiter));
    const abort = (): void => reject(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    // After the reader has begun: what ends from then on comes as an event, what ended before is seen by this read.
    void this.#begin()
      .then(() => this.#look(task))
      .catch(reject);
    try {
      return await promise;
    } finally {
      signal?.removeEventListener('abort', abort);
      waiters.delete(waiter);
      if (waiters.size === 0 && this.#waiters.get(task) === waiters) this.#waiters.delete(task);
      if (this.#waiters.size === 0) this.#stop();
    }
  }

  /** A hint: the task has ended, and its end is committed. Its event may come much later, on Postgres with the next round of the sequencer. */
  ended(task: number): void {
    if (!this.#waiters.has(task)) return;
    this.#told.add(task);
    if (this.#unread.push(task) === 1) void Promise.resolve().then(() => this.#readEnded());
  }

  async #readEnded(): Promise<void> {
    const tasks = this.#unread;
    this.#unread = [];
    try {
      await this.#read(tasks);
    } catch (error) {
      this.#fail(error);
    } finally {
      for (const task of tasks) this.#told.delete(task);
    }
  }

  #stop(): void {
    this.#reading?.end.abort();
    this.#reading = undefined;
  }

  #begin(): Promise<void> {
    if (this.#reading === undefined) {
      const end = new AbortController();
      this.#reading = { end, begun: this.#open(end.signal) };
    }
    return this.#reading.begun;
  }

  async #open(signal: AbortSignal): Promise<void> {
    const last = await this.#feed.newest();
    // All waiters may have left meanwhile.
    if (!signal.aborted) void this.#follow(last, signal);
  }

  async #follow(after: number, signal: AbortSignal): Promise<void> {
    try {
      for await (const items of this.#feed.pages(after, signal)) {
        if (items.some(({ kind }) => kind === 'reset')) await this.#lookAtAll();
        else await this.#read(items.flatMap((item) => this.#awaitedEnd(item) ?? []));
      }
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    }
  }

  #awaitedEnd(item: FeedItem): number | undefined {
    if (item.kind !== 'event' || !isFinal(item.event.state)) return undefined;
    const { task } = item.event;
    return this.#waiters.has(task) && !this.#told.has(task) ? task : undefined;
  }

  /** Reads the task together with all others of this turn. */
  #look(task: number): Promise<void> {
    if (this.#next === undefined) {
      const tasks = new Set<number>();
      const read = Promise.resolve().then(() => {
        this.#next = undefined;
        return this.#read([...tasks]);
      });
      this.#next = { tasks, read };
    }
    this.#next.tasks.add(task);
    return this.#next.read;
  }

  #lookAtAll(): Promise<void> {
    return this.#read([...this.#waiters.keys()]);
  }

  async #read(tasks: readonly number[]): Promise<void> {
    for (let i = 0; i < tasks.length; i += MOST_AT_ONCE) {
      const some = tasks.slice(i, i + MOST_AT_ONCE);
      const records = await this.#store.taskGet({ tasks: some });
      for (const [n, task] of some.entries()) {
        const record = records[n];
        if (record !== undefined && !isFinal(record.state)) continue;
        for (const waiter of this.#waiters.get(task) ?? []) waiter.resolve(record);
      }
    }
  }

  /** A closed store fails all waiters. A fault that may pass is answered by reading again, once. */
  #fail(error: unknown): void {
    this.#stop();
    if (this.#waiters.size === 0) return;
    if (isEngineError(error) && error.retryable) {
      void this.#begin()
        .then(() => this.#lookAtAll())
        .catch((again: unknown) => this.#reject(again));
    } else {
      this.#reject(error);
    }
  }

  #reject(error: unknown): void {
    this.#stop();
    for (const waiters of this.#waiters.values()) for (const waiter of waiters) waiter.reject(error);
  }
}
