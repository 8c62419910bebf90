import type { TaskEvent } from '../core/event.ts';
import { isFinal, type TaskState } from '../core/task.ts';
import type { Engine } from '../engine/engine.ts';
import type { LogLine, TaskRecord } from '../engine/records.ts';

/** Something that happened to a task that is followed. `ended` comes once for each, after everything else of it. */
export type Happening<Key = number, Last = TaskRecord> =
  | {
      readonly kind: 'state';
      readonly task: Key;
      readonly state: TaskState;
      readonly attempt: number;
      readonly at: number;
    }
  | { readonly kind: 'log'; readonly task: Key; readonly line: LogLine }
  | { readonly kind: 'ended'; readonly task: Key; readonly record: Last | undefined };

export interface FollowOptions {
  /** The feed's position from before the tasks were looked at, so that nothing falls between. */
  readonly after: number;
  /** Whether to read their logs too: one reader each, which is much for thousands. */
  readonly logs: boolean;
  readonly signal: AbortSignal;
}

/** What there is to follow, of an engine or of a node. */
export interface FollowSource<Key, Last> {
  /** The task as it is; undefined when it is gone. */
  readonly look: (task: Key) => Promise<Last | undefined>;
  /** The number of the newest event. */
  readonly newest: () => Promise<number>;
  readonly events: (options: {
    readonly after: number;
    readonly signal: AbortSignal;
  }) => AsyncIterable<
    | { readonly kind: 'reset' }
    | { readonly kind: 'event'; readonly seq: number; readonly task: Key; readonly event: Seen }
    | { readonly kind: 'worker'; readonly seq: number }
  >;
  /** Ends by itself once the task has, with its last line. */
  readonly log: (task: Key, options: { readonly signal: AbortSignal }) => AsyncIterable<LogLine>;
}

type Seen = Pick<TaskEvent, 'state' | 'attempt' | 'at'>;
type Looked = Pick<Seen, 'state' | 'attempt'>;

/** Above the number of any event: reading from there tells the newest one. */
const AHEAD_OF_ALL = 2 ** 52;

/** Beyond all attempts. */
const OVER = Number.POSITIVE_INFINITY;

export async function newestEvent(engine: Engine): Promise<number> {
  return (await engine.store.eventRead({ after: AHEAD_OF_ALL, limit: 1 })).last;
}

/** Follows tasks until all have ended or the signal comes. */
export function follow(engine: Engine, tasks: readonly number[], options: FollowOptions): AsyncGenerator<Happening> {
  return followFrom(sourceOf(engine), tasks, options);
}

function sourceOf(engine: Engine): FollowSource<number, TaskRecord> {
  return {
    look: (task) => engine.get(task),
    newest: () => newestEvent(engine),
    async *events(options) {
      for await (const item of engine.events(options)) {
        if (item.kind === 'reset') yield item;
        else if (item.kind === 'worker') yield { kind: 'worker', seq: item.event.seq };
        else yield { kind: 'event', seq: item.event.seq, task: item.event.task, event: item.event };
      }
    },
    log: (task, options) => engine.followLog(task, options),
  };
}

/** The same, wherever they are. */
export async function* followFrom<Key, Last extends Looked>(
  source: FollowSource<Key, Last>,
  tasks: readonly Key[],
  options: FollowOptions,
): AsyncGenerator<Happening<Key, Last>> {
  const following = new Following(source, tasks, options);
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
class Following<Key, Last extends Looked> {
  readonly happenings = new Mailbox<Happening<Key, Last>>();
  readonly #source: FollowSource<Key, Last>;
  readonly #open: Set<Key>;
  readonly #stopping = new AbortController();
  readonly #signal: AbortSignal;
  readonly #logs: ReadonlyMap<Key, Promise<void>>;
  /** The newest attempt of each task that was told, and lines of later ones. */
  readonly #told = new Map<Key, number>();
  readonly #early = new Map<Key, LogLine[]>();
  readonly #watching: Promise<void>;

  constructor(source: FollowSource<Key, Last>, tasks: readonly Key[], { after, logs, signal }: FollowOptions) {
    this.#source = source;
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
    const seen = await this.#source.newest();
    if (after >= seen) await this.#catchUp(found);
    if (this.#open.size === 0) return;
    for await (const item of this.#source.events({ after, signal: this.#signal })) {
      if (item.kind === 'reset') await this.#catchUp(await this.#look());
      else {
        if (item.kind === 'event') await this.#tell(item.task, item.event);
        if (item.seq >= seen) await this.#catchUp(found);
      }
      if (this.#open.size === 0) return;
    }
    this.happenings.close();
  }

  /** The attempt that each has come to; {@link OVER} of those that have ended. */
  async #look(): Promise<Map<Key, number>> {
    const found = new Map<Key, number>();
    for (const task of this.#open) {
      const record = await this.#source.look(task);
      found.set(task, record === undefined || isFinal(record.state) ? OVER : record.attempt);
    }
    return found;
  }

  async #tell(task: Key, { state, attempt, at }: Seen): Promise<void> {
    if (!this.#open.has(task)) return;
    const told: Happening<Key, Last> = { kind: 'state', task, state, attempt, at };
    if (isFinal(state)) return this.#end(task, told);
    this.happenings.put(told);
    this.#release(task, attempt);
  }

  /** Of those that a look has found, what the feed has not told. */
  async #catchUp(found: Map<Key, number>): Promise<void> {
    for (const [task, attempt] of found) {
      if (attempt === OVER) await this.#end(task);
      else this.#release(task, attempt);
    }
    found.clear();
  }

  async #end(task: Key, last?: Happening<Key, Last>): Promise<void> {
    if (!this.#open.delete(task)) return;
    this.#release(task, OVER);
    // The reader of its log ends by itself once the task has, with the last line.
    await this.#logs.get(task);
    if (last !== undefined) this.happenings.put(last);
    this.happenings.put({ kind: 'ended', task, record: await this.#source.look(task) });
    if (this.#open.size === 0) this.happenings.close();
  }

  async #readLog(task: Key): Promise<void> {
    try {
      for await (const line of this.#source.log(task, { signal: this.#signal })) {
        if (line.attempt <= (this.#told.get(task) ?? 0)) this.happenings.put({ kind: 'log', task, line });
        else this.#earlyOf(task).push(line);
      }
    } catch (error) {
      this.happenings.fail(error);
    }
  }

  #release(task: Key, attempt: number): void {
    if (attempt <= (this.#told.get(task) ?? 0)) return;
    this.#told.set(task, attempt);
    const lines = this.#earlyOf(task);
    const due = lines.findIndex((line) => line.attempt > attempt);
    for (const line of lines.splice(0, due === -1 ? lines.length : due)) {
      this.happenings.put({ kind: 'log', task, line });
    }
  }

  #earlyOf(task: Key): LogLine[] {
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
