import { isFinal, type TaskState } from '../core/task/task.ts';
import type { AnswerOf } from '../protocol/routes.ts';
import type { Client } from './client.ts';

type Task = AnswerOf<'listTasks'>['tasks'][number];

interface Waiter {
  readonly resolve: (task: Task | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** The events that can end a task; no others are requested. */
const ENDINGS = ['completed', 'failed', 'cancelled', 'expired', 'timed_out'] as const;

/** Ids in one request. */
const AT_ONCE = 50;

/**
 * Tells when tasks have ended. One stream serves all waiters: a task is read when somebody begins to wait for it, and when
 * an event says that it has ended.
 */
export class CompletionWatcher {
  readonly #client: Client;
  readonly #waiters = new Map<string, Set<Waiter>>();
  /** Tasks to read next. */
  readonly #unchecked = new Set<string>();
  #checking = false;
  /** The one reader of the stream, while somebody waits. */
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
    // After the stream has begun: a later end comes as an event, an earlier one is seen by this read.
    void this.#begin().then(() => this.#check(id), reject);
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
      // The next waiter opens a stream of its own, and gets its own failure.
      this.#reading.begun.catch(() => this.#stop());
    }
    return this.#reading.begun;
  }

  /** Begins at a known position, so that a stream which breaks before its first message goes on from there. */
  async #open(signal: AbortSignal): Promise<void> {
    const { last } = await this.#client.call('readEvents', { signal });
    if (!signal.aborted) void this.#follow(last, signal);
  }

  async #follow(after: number, signal: AbortSignal): Promise<void> {
    try {
      const query = { kind: [...ENDINGS] };
      for await (const { event, data } of this.#client.stream('streamEvents', { query, signal, last: String(after) })) {
        if (event === 'reset') {
          for (const id of this.#waiters.keys()) this.#check(id);
          continue;
        }
        const { task, state } = JSON.parse(data) as { readonly task: string; readonly state: TaskState };
        if (isFinal(state) && this.#waiters.has(task)) this.#check(task);
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#stop();
      for (const id of this.#waiters.keys()) this.#fail(id, error);
    }
  }

  /** Adds the task to the next request: while one is under way, the next one fills. */
  #check(id: string): void {
    this.#unchecked.add(id);
    if (!this.#checking) void this.#checkAll();
  }

  async #checkAll(): Promise<void> {
    this.#checking = true;
    // Waiters of the same turn share the request.
    await Promise.resolve();
    while (this.#unchecked.size > 0) {
      const ids = [...this.#unchecked].slice(0, AT_ONCE);
      for (const id of ids) this.#unchecked.delete(id);
      await this.#checkBatch(ids).catch((error: unknown) => this.#checkEach(ids, error));
    }
    this.#checking = false;
  }

  async #checkBatch(ids: readonly string[]): Promise<void> {
    const { tasks, cursor } = await this.#client.call('listTasks', { query: { id: [...ids] } });
    const checked = cursor === undefined ? ids.length : ids.indexOf(cursor) + 1;
    for (const id of ids.slice(checked)) this.#unchecked.add(id);
    const found = new Map(tasks.map((task) => [task.id, task]));
    for (const id of ids.slice(0, checked)) {
      const task = found.get(id);
      if (task !== undefined && !isFinal(task.state)) continue;
      for (const waiter of this.#waiters.get(id) ?? []) waiter.resolve(task);
    }
  }

  /** An invalid id fails the whole request, so each id is read alone. */
  async #checkEach(ids: readonly string[], error: unknown): Promise<void> {
    if (ids.length === 1) return this.#fail(ids[0] as string, error);
    for (const id of ids) await this.#checkBatch([id]).catch((own: unknown) => this.#fail(id, own));
  }

  #fail(id: string, error: unknown): void {
    for (const waiter of this.#waiters.get(id) ?? []) waiter.reject(error);
  }
}
