import { isFinal, type TaskState } from '../../core/task/task.ts';
import type { FeedView, Operator } from '../operator.ts';
import type { EventView, LogLineView, TaskView } from '../views.ts';
import { tasksById } from './calls.ts';

/** Something that happened to a followed task. `ended` comes once for each task, after everything else. */
export type FollowNotice =
  | {
      readonly kind: 'state';
      readonly id: string;
      readonly state: TaskState;
      readonly attempt: number;
      readonly at: number;
    }
  | { readonly kind: 'log'; readonly id: string; readonly line: LogLineView }
  | { readonly kind: 'ended'; readonly id: string; readonly task: TaskView | undefined };

export interface FollowOptions {
  /** The position of the feed before the tasks were read, so that no event is missed. */
  readonly after: number;
  readonly signal: AbortSignal;
}

/** Each log has a reader of its own; with more tasks only states are followed. */
const MOST_LOGS = 20;
const PAGE = 500;

/** Beyond all attempts. */
const OVER = Number.POSITIVE_INFINITY;

/**
 * Logs, states and ends of these tasks as they come, until all have ended or the signal comes. With more than twenty tasks
 * logs are left out.
 */
export async function* follow(
  operator: Operator,
  ids: readonly string[],
  options: FollowOptions,
): AsyncGenerator<FollowNotice> {
  const following = new Following(operator, ids, options);
  try {
    yield* following.notice;
  } finally {
    await following.stop();
  }
}

/**
 * Events of all tasks up to the newest, then those of these tasks. The follower waits for an event number, which may be that
 * of another task.
 */
async function* eventsOf(
  operator: Operator,
  tasks: readonly string[],
  { after, signal }: FollowOptions,
): AsyncGenerator<FeedView> {
  let last = after;
  for (let more = true; more; ) {
    const page = await operator.call('readEvents', { query: { after: last, limit: PAGE }, signal });
    if (page.reset) yield { kind: 'reset', last: page.last };
    for (const event of page.events) yield { kind: 'event', event };
    last = page.last;
    more = page.events.length > 0;
  }
  yield* operator.events({ after: last, tasks, signal });
}

/**
 * Follows tasks with one reader of the feed and one reader for each log, which write into a mailbox. The readers are not in
 * step, so a line waits until the start of its attempt was reported, and the end of a task until its last line.
 */
class Following {
  readonly notice = new Mailbox<FollowNotice>();
  readonly #operator: Operator;
  readonly #open: Set<string>;
  readonly #stopping = new AbortController();
  readonly #signal: AbortSignal;
  readonly #logs: ReadonlyMap<string, Promise<void>>;
  /** The newest attempt of each task that was reported, and lines of later attempts. */
  readonly #attempts = new Map<string, number>();
  readonly #early = new Map<string, LogLineView[]>();
  readonly #watching: Promise<void>;

  constructor(operator: Operator, ids: readonly string[], { after, signal }: FollowOptions) {
    this.#operator = operator;
    this.#open = new Set(ids);
    this.#signal = AbortSignal.any([signal, this.#stopping.signal]);
    const logs = ids.length <= MOST_LOGS;
    this.#logs = new Map(logs ? [...this.#open].map((id) => [id, this.#readLog(id)]) : []);
    this.#watching = this.#watch(after).catch((error: unknown) => this.notice.fail(error));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled([this.#watching, ...this.#logs.values()]);
  }

  async #watch(after: number): Promise<void> {
    const found = await this.#look();
    // Everything that the read has seen is at or before this number. Once it is reported, lines and ends may follow.
    const { last: seen } = await this.#operator.call('readEvents');
    if (after >= seen) await this.#catchUp(found);
    if (this.#open.size === 0) return;
    for await (const item of eventsOf(this.#operator, [...this.#open], { after, signal: this.#signal })) {
      if (item.kind === 'reset') await this.#catchUp(await this.#look());
      else {
        await this.#tell(item.event);
        if (item.event.seq >= seen) await this.#catchUp(found);
      }
      if (this.#open.size === 0) return;
    }
    this.notice.close();
  }

  /** The current attempt of each task; {@link OVER} for those that have ended. */
  async #look(): Promise<Map<string, number>> {
    const tasks = await tasksById(this.#operator, [...this.#open]);
    const attemptOf = (task: TaskView | undefined): number =>
      task === undefined || isFinal(task.state) ? OVER : task.attempt;
    return new Map([...this.#open].map((id) => [id, attemptOf(tasks.get(id))]));
  }

  async #tell({ task: id, state, attempt, at }: EventView): Promise<void> {
    if (id === undefined || state === undefined || attempt === undefined || !this.#open.has(id)) return;
    const notice: FollowNotice = { kind: 'state', id, state, attempt, at };
    if (isFinal(state)) return this.#end(id, notice);
    this.notice.put(notice);
    this.#release(id, attempt);
  }

  /** Reports, for the tasks that a read has found, what the feed has not reported. */
  async #catchUp(found: Map<string, number>): Promise<void> {
    for (const [id, attempt] of found) {
      if (attempt === OVER) await this.#end(id);
      else this.#release(id, attempt);
    }
    found.clear();
  }

  async #end(id: string, last?: FollowNotice): Promise<void> {
    if (!this.#open.delete(id)) return;
    this.#release(id, OVER);
    // The reader of the log ends with the task, after the last line.
    await this.#logs.get(id);
    if (last !== undefined) this.notice.put(last);
    this.notice.put({ kind: 'ended', id, task: (await tasksById(this.#operator, [id])).get(id) });
    if (this.#open.size === 0) this.notice.close();
  }

  async #readLog(id: string): Promise<void> {
    try {
      for await (const line of this.#operator.lines(id, { signal: this.#signal })) {
        if (line.attempt <= (this.#attempts.get(id) ?? 0)) this.notice.put({ kind: 'log', id, line });
        else this.#earlyOf(id).push(line);
      }
    } catch (error) {
      this.notice.fail(error);
    }
  }

  #release(id: string, attempt: number): void {
    if (attempt <= (this.#attempts.get(id) ?? 0)) return;
    this.#attempts.set(id, attempt);
    const lines = this.#earlyOf(id);
    const due = lines.findIndex((line) => line.attempt > attempt);
    for (const line of lines.splice(0, due === -1 ? lines.length : due)) {
      this.notice.put({ kind: 'log', id, line });
    }
  }

  #earlyOf(id: string): LogLineView[] {
    const lines = this.#early.get(id) ?? [];
    this.#early.set(id, lines);
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
