import type { TaskEvent } from '../core/event.ts';
import { isFinal, type TaskState } from '../core/task.ts';
import type { Engine } from '../engine/engine.ts';
import type { LogLine, TaskRecord } from '../store/store.ts';

/** Something that happened to a task that is followed. `ended` comes once for each, after everything else of it. */
export type Happening =
  | {
      readonly kind: 'state';
      readonly task: number;
      readonly state: TaskState;
      readonly attempt: number;
      readonly at: number;
    }
  | { readonly kind: 'log'; readonly task: number; readonly line: LogLine }
  | { readonly kind: 'ended'; readonly task: number; readonly record: TaskRecord | undefined };

export interface FollowOptions {
  /** The feed's position from before the tasks were looked at, so that nothing falls between. */
  readonly after: number;
  /** Whether to read their logs too: one reader each, which is much for thousands. */
  readonly logs: boolean;
  readonly signal: AbortSignal;
}

/** Above the number of any event: reading from there tells the newest one. */
const AHEAD_OF_ALL = 2 ** 52;

/** Beyond all attempts. */
const OVER = Number.POSITIVE_INFINITY;

export async function newestEvent(engine: Engine): Promise<number> {
  return (await engine.store.eventRead({ after: AHEAD_OF_ALL, limit: 1 })).last;
}

/** Follows tasks until all have ended or the signal comes. */
export async function* follow(
  engine: Engine,
  tasks: readonly number[],
  options: FollowOptions,
): AsyncGenerator<Happening> {
  const following = new Following(engine, tasks, options);
  try {
    yield* following.happenings;
  } finally {
    await following.stop();
  }
}

/**
 * One reader of the feed and one of each log write into a mailbox. They know nothing of each other's pace, so a line waits
 * until the start of its attempt was told, and the end of a task until its last line.
 */
class Following {
  readonly happenings = new Mailbox<Happening>();
  readonly #engine: Engine;
  readonly #open: Set<number>;
  readonly #stopping = new AbortController();
  readonly #signal: AbortSignal;
  readonly #logs: ReadonlyMap<number, Promise<void>>;
  /** The newest attempt of each task that was told, and lines of later ones. */
  readonly #told = new Map<number, number>();
  readonly #early = new Map<number, LogLine[]>();
  readonly #watching: Promise<void>;

  constructor(engine: Engine, tasks: readonly number[], { after, logs, signal }: FollowOptions) {
    this.#engine = engine;
    this.#open = new Set(tasks);
    this.#signal = AbortSignal.any([signal, this.#stopping.signal]);
    this.#logs = new Map(logs ? [...this.#open].map((task) => [task, this.#readLog(task)]) : []);
    this.#watching = this.#watch(after).catch((error: unknown) => this.happenings.fail(error));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled([this.#watching, ...this.#logs.values()]);
  }

  async #watch(after: number): Promise<void> {
    const found = await this.#look();
    // Everything that the look has seen lies at or before this number: once it is told, lines and ends may follow.
    const seen = await newestEvent(this.#engine);
    if (after >= seen) await this.#catchUp(found);
    if (this.#open.size === 0) return;
    for await (const item of this.#engine.events({ after, signal: this.#signal })) {
      if (item.kind === 'reset') await this.#catchUp(await this.#look());
      else {
        if (item.kind === 'event') await this.#tell(item.event);
        if (item.event.seq >= seen) await this.#catchUp(found);
      }
      if (this.#open.size === 0) return;
    }
    this.happenings.close();
  }

  /** The attempt that each has come to; {@link OVER} of those that have ended. */
  async #look(): Promise<Map<number, number>> {
    const found = new Map<number, number>();
    for (const task of this.#open) {
      const record = await this.#engine.get(task);
      found.set(task, record === undefined || isFinal(record.state) ? OVER : record.attempt);
    }
    return found;
  }

  async #tell({ task, state, attempt, at }: TaskEvent): Promise<void> {
    if (!this.#open.has(task)) return;
    const told: Happening = { kind: 'state', task, state, attempt, at };
    if (isFinal(state)) return this.#end(task, told);
    this.happenings.put(told);
    this.#release(task, attempt);
  }

  /** Of those that a look has found, what the feed has not told. */
  async #catchUp(found: Map<number, number>): Promise<void> {
    for (const [task, attempt] of found) {
      if (attempt === OVER) await this.#end(task);
      else this.#release(task, attempt);
    }
    found.clear();
  }

  async #end(task: number, last?: Happening): Promise<void> {
    if (!this.#open.delete(task)) return;
    this.#release(task, OVER);
    // The reader of its log ends by itself once the task has, with the last line.
    await this.#logs.get(task);
    if (last !== undefined) this.happenings.put(last);
    this.happenings.put({ kind: 'ended', task, record: await this.#engine.get(task) });
    if (this.#open.size === 0) this.happenings.close();
  }

  async #readLog(task: number): Promise<void> {
    try {
      for await (const line of this.#engine.followLog(task, { signal: this.#signal })) {
        if (line.attempt <= (this.#told.get(task) ?? 0)) this.happenings.put({ kind: 'log', task, line });
        else this.#earlyOf(task).push(line);
      }
    } catch (error) {
      this.happenings.fail(error);
    }
  }

  #release(task: number, attempt: number): void {
    if (attempt <= (this.#told.get(task) ?? 0)) return;
    this.#told.set(task, attempt);
    const lines = this.#earlyOf(task);
    const due = lines.findIndex((line) => line.attempt > attempt);
    for (const line of lines.splice(0, due === -1 ? lines.length : due)) {
      this.happenings.put({ kind: 'log', task, line });
    }
  }

  #earlyOf(task: number): LogLine[] {
    const lines = this.#early.get(task) ?? [];
    this.#early.set(task, lines);
    return lines;
  }
}

/** Several writers, one reader, in the order of writing. */
class Mailbox<T> implements AsyncIterable<T> {
  #letters: T[] = [];
  #closed = false;
  #failure: { readonly error: unknown } | undefined;
  #wake = (): void => {};

  put(letter: T): void {
    this.#letters.push(letter);
    this.#wake();
  }

  close(): void {
    this.#closed = true;
    this.#wake();
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      const letters = this.#letters;
      this.#letters = [];
      yield* letters;
      if (this.#letters.length > 0) continue;
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#closed) return;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
