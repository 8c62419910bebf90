import { isEngineError } from '../../core/errors.ts';
import { isFinal } from '../../core/task/task.ts';
import type { Store, TaskRecord } from '../../store/store.ts';
import type { Feed } from './feed.ts';

interface Waiter {
  readonly resolve: (record: TaskRecord | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Resolves when tasks have ended. The feed is read once, however many tasks are waited for. A task is read when somebody begins to wait for
 * it and when an event says that it has ended, so ten thousand waiters cost no more reads than there are ends.
 */
export class Results {
  readonly #store: Pick<Store, 'taskGet'>;
  readonly #feed: Feed;
  readonly #waiters = new Map<number, Set<Waiter>>();
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
      for await (const item of this.#feed.follow(after, signal)) {
        if (item.kind === 'reset') await this.#lookAtAll();
        else if (item.kind === 'event' && isFinal(item.event.state) && this.#waiters.has(item.event.task))
          await this.#look(item.event.task);
      }
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    }
  }

  async #look(task: number): Promise<void> {
    const [record] = await this.#store.taskGet({ tasks: [task] });
    if (record !== undefined && !isFinal(record.state)) return;
    for (const waiter of this.#waiters.get(task) ?? []) waiter.resolve(record);
  }

  async #lookAtAll(): Promise<void> {
    for (const task of this.#waiters.keys()) await this.#look(task);
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
