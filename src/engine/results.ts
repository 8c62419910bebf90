import { isEngineError } from '../core/errors.ts';
import { isFinal } from '../core/task.ts';
import type { Store, TaskRecord } from '../store/store.ts';
import type { Feed } from './feed.ts';

/** No event has this number, so that a reader who asks for what follows it is told the newest one. */
const AHEAD_OF_ALL = 2 ** 52;

interface Waiter {
  readonly resolve: (record: TaskRecord | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Tells when tasks have ended. However many are waited for, the feed is read once: a task is looked at when somebody begins
 * to wait for it and when an event says that it has ended, so that ten thousand waiters cost no more reads than ends.
 */
export class Results {
  readonly #store: Pick<Store, 'taskGet' | 'eventRead'>;
  readonly #feed: Feed;
  readonly #waiters = new Map<number, Set<Waiter>>();
  #following: AbortController | undefined;

  constructor(store: Pick<Store, 'taskGet' | 'eventRead'>, feed: Feed) {
    this.#store = store;
    this.#feed = feed;
  }

  /** The record of the finished task; undefined when there is no such task. */
  async wait(task: number, signal?: AbortSignal): Promise<TaskRecord | undefined> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<TaskRecord | undefined>();
    const waiter = { resolve, reject };
    const waiters = this.#waiters.get(task) ?? new Set();
    this.#waiters.set(task, waiters.add(waiter));
    const abort = (): void => reject(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      await this.#begin();
      // After the reading has begun: what ends from now on is told, what ended before is seen here.
      await this.#look(task);
      return await promise;
    } finally {
      signal?.removeEventListener('abort', abort);
      waiters.delete(waiter);
      if (waiters.size === 0 && this.#waiters.get(task) === waiters) this.#waiters.delete(task);
      if (this.#waiters.size === 0) this.#stop();
    }
  }

  #stop(): void {
    this.#following?.abort();
    this.#following = undefined;
    this.#beginning = undefined;
  }

  #beginning: Promise<void> | undefined;

  #begin(): Promise<void> {
    this.#beginning ??= (async () => {
      const { last } = await this.#store.eventRead({ after: AHEAD_OF_ALL, limit: 1 });
      const following = new AbortController();
      this.#following = following;
      void this.#follow(last, following.signal);
    })();
    return this.#beginning;
  }

  async #follow(after: number, signal: AbortSignal): Promise<void> {
    try {
      for await (const item of this.#feed.follow(after, signal)) {
        if (item.kind === 'reset') for (const task of Array.from(this.#waiters.keys())) await this.#look(task);
        else if (isFinal(item.event.state) && this.#waiters.has(item.event.task)) await this.#look(item.event.task);
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  async #look(task: number): Promise<void> {
    const [record] = await this.#store.taskGet({ tasks: [task] });
    if (record !== undefined && !isFinal(record.state)) return;
    for (const waiter of this.#waiters.get(task) ?? []) waiter.resolve(record);
  }

  /** A store that is closed answers nobody any more; a fault that may pass is waited out by the next reader. */
  #fail(error: unknown): void {
    this.#stop();
    if (isEngineError(error) && error.retryable && this.#waiters.size > 0) {
      void this.#begin()
        .then(async () => {
          for (const task of Array.from(this.#waiters.keys())) await this.#look(task);
        })
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
