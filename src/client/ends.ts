import { isEngineError } from '../core/errors.ts';
import { isFinal, type TaskState } from '../core/task.ts';
import type { AnswerOf } from '../protocol/routes.ts';
import type { Client } from './client.ts';

type Task = AnswerOf<'getTask'>;

interface Waiter {
  readonly resolve: (task: Task | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** What can end a task; the rest of the feed is not asked for. */
const ENDINGS = ['completed', 'failed', 'cancelled', 'expired', 'timed_out'] as const;

/**
 * Tells when tasks have ended. However many are waited for, one stream is read: a task is looked at when somebody begins to wait
 * for it, and when a message says that it has ended.
 */
export class Ends {
  readonly #client: Client;
  readonly #waiters = new Map<string, Set<Waiter>>();
  /** The one reader, while somebody waits. */
  #reading: { readonly end: AbortController; readonly begun: Promise<void> } | undefined;

  constructor(client: Client) {
    this.#client = client;
  }

  /** The task once it has ended; undefined when there is none. */
  async wait(id: string, signal?: AbortSignal): Promise<Task | undefined> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Task | undefined>();
    const waiter = { resolve, reject };
    const waiters = this.#waiters.get(id) ?? new Set();
    this.#waiters.set(id, waiters.add(waiter));
    const abort = (): void => reject(signal?.reason as Error);
    signal?.addEventListener('abort', abort, { once: true });
    // After the reading has begun: what ends from then on is told, what ended before is seen by this look.
    void this.#begin()
      .then(() => this.#look(id))
      .catch(reject);
    try {
      return await promise;
    } finally {
      signal?.removeEventListener('abort', abort);
      waiters.delete(waiter);
      if (waiters.size === 0 && this.#waiters.get(id) === waiters) this.#waiters.delete(id);
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
      // Of the next one who waits: the next look is its own, and so is its failure.
      this.#reading.begun.catch(() => this.#stop());
    }
    return this.#reading.begun;
  }

  /** From a position that is known, so that a stream which breaks before its first message goes on from there. */
  async #open(signal: AbortSignal): Promise<void> {
    const { last } = await this.#client.call('readEvents', { signal });
    if (!signal.aborted) void this.#follow(last, signal);
  }

  async #follow(after: number, signal: AbortSignal): Promise<void> {
    try {
      const query = { kind: [...ENDINGS] };
      for await (const { event, data } of this.#client.stream('streamEvents', { query, signal, last: String(after) })) {
        if (event === 'reset') {
          await Promise.all([...this.#waiters.keys()].map((id) => this.#look(id)));
          continue;
        }
        const { task, state } = JSON.parse(data) as { readonly task: string; readonly state: TaskState };
        // Not waited for: one slow answer would hold up the ends of all others.
        if (isFinal(state) && this.#waiters.has(task)) void this.#look(task).catch((error) => this.#fail(task, error));
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#stop();
      for (const id of this.#waiters.keys()) this.#fail(id, error);
    }
  }

  async #look(id: string): Promise<void> {
    const task = await this.#client.call('getTask', { params: { id } }).catch((error: unknown) => {
      if (isEngineError(error, 'NOT_FOUND')) return undefined;
      throw error;
    });
    if (task !== undefined && !isFinal(task.state)) return;
    for (const waiter of this.#waiters.get(id) ?? []) waiter.resolve(task);
  }

  #fail(id: string, error: unknown): void {
    for (const waiter of this.#waiters.get(id) ?? []) waiter.reject(error);
  }
}
