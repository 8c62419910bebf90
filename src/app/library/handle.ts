import { fault } from '../../core/errors.ts';
import { isTaskEvent, type TaskEvent } from '../../core/task/event.ts';
import type { LogEntry } from '../../core/task/log.ts';
import { isFinal, type Reason, type TaskState } from '../../core/task/task.ts';
import type { Engine } from '../../engine/engine.ts';
import type { CancelAct, RetryAct, TreeAnswer, TreeOptions } from '../../engine/trees/trees.ts';
import { isReference, wholeResult } from '../../operate/large-result.ts';
import type { Operator } from '../../operate/operator.ts';
import type { CancelAnswer, TaskRecord } from '../../store/store.ts';
import type { AppEvent, FollowOptions, Handle } from './leasehold.ts';

const PAGE = 500;

/** A task that was pushed: what became of it, and how to stop it. */
export class TaskHandle<Result = unknown> implements Handle<Result> {
  readonly id: string;
  /** The number by which the engine knows it. */
  readonly task: number;
  /** False when a unique key or an operation id led to an existing task. */
  readonly fresh: boolean;
  readonly #engine: Engine;
  readonly #operator: (() => Promise<Operator>) | undefined;

  /** `operator`: reads a result that was too large for its row. */
  constructor(
    engine: Engine,
    pushed: { id: string; task: number; fresh: boolean },
    operator?: () => Promise<Operator>,
  ) {
    this.#engine = engine;
    this.#operator = operator;
    this.id = pushed.id;
    this.task = pushed.task;
    this.fresh = pushed.fresh;
  }

  /** Waits for its end. Rejects with `TASK_FAILED` when it failed or was cancelled, however many attempts it took. */
  async result(options: FollowOptions = {}): Promise<Result> {
    const record = await this.#engine.finished(this.task, options.signal);
    if (record.state === 'completed') {
      const result: unknown = record.result === undefined ? undefined : JSON.parse(record.result);
      if (!isReference(result) || this.#operator === undefined) return result as Result;
      return (await wholeResult(await this.#operator(), result, options.signal)) as Result;
    }
    const { state, reason, result } = record;
    const error = result === undefined ? undefined : (JSON.parse(result) as unknown);
    throw failureOf(this.id, { state, reason, error });
  }

  async state(): Promise<TaskState> {
    return (await this.#record()).state;
  }

  /** The last value that its handler gave to `ctx.progress`; undefined before the first. */
  async progress(): Promise<unknown> {
    let latest: string | undefined;
    for await (const entry of this.#entries()) if (entry.stream === 'progress') latest = entry.text;
    return latest === undefined ? undefined : JSON.parse(latest);
  }

  /** Its log, line by line, as it is written; ends with the task. */
  logs(options: FollowOptions = {}): AsyncIterable<LogEntry & { readonly attempt: number }> {
    return this.#engine.logs.follow(this.task, options);
  }

  /** Its events from now on, or after this position of the feed; ends with its end. */
  async *events(options: FollowOptions & { readonly after?: number } = {}): AsyncIterable<TaskEvent & AppEvent> {
    // Before the task is read: an end that comes after that read also comes after this position.
    const after = options.after ?? (await this.#engine.newestEvent());
    if (await this.#isOver()) {
      yield* this.#pastEvents(after);
      return;
    }
    for await (const item of this.#engine.events({ ...options, after })) {
      if (item.kind === 'reset') {
        if (!(await this.#isOver())) continue;
        // Its end may be among the removed events, and would never come.
        yield* this.#pastEvents(item.last);
        return;
      }
      if (item.kind !== 'event' || item.event.task !== this.task) continue;
      yield { ...item.event, id: this.id };
      if (isFinal(item.event.state)) return;
    }
  }

  /** Ends a waiting task; asks the worker of a running task to stop it. */
  cancel(): Promise<CancelAnswer> {
    return this.#engine.cancel(this.task);
  }

  /** Cancels it with everything that was made to wait for it, and with what any of these has spawned. */
  cancelTree(options: TreeOptions = {}): Promise<TreeAnswer<CancelAct>> {
    return this.#engine.trees.cancel(this.task, options);
  }

  /** Runs the failed and cancelled ones among the same tasks again. Completed ones keep their results. */
  retryTree(options: TreeOptions = {}): Promise<TreeAnswer<RetryAct>> {
    return this.#engine.trees.retry(this.task, options);
  }

  async #isOver(): Promise<boolean> {
    const record = await this.#engine.get(this.task);
    return record === undefined || isFinal(record.state);
  }

  /** Its events that the feed still has, without waiting for more. */
  async *#pastEvents(after: number): AsyncIterable<TaskEvent & AppEvent> {
    for (let last = after; ; ) {
      const page = await this.#engine.store.eventRead({ after: last, limit: PAGE });
      for (const event of page.events) {
        if (!isTaskEvent(event) || event.task !== this.task) continue;
        yield { ...event, id: this.id };
        if (isFinal(event.state)) return;
      }
      if (page.events.length === 0) return;
      last = page.last;
    }
  }

  async #record(): Promise<TaskRecord> {
    const record = await this.#engine.get(this.task);
    if (record === undefined) throw fault('NOT_FOUND', { kind: 'task', id: this.id });
    return record;
  }

  async *#entries(): AsyncIterable<LogEntry> {
    const limit = PAGE;
    for (let after: { attempt: number; seq: number } | undefined; ; ) {
      const page = await this.#engine.logs.read(this.task, after === undefined ? { limit } : { after, limit });
      yield* page;
      const last = page.at(-1);
      if (last === undefined || page.length < limit) return;
      after = { attempt: last.attempt, seq: last.seq };
    }
  }
}

export interface Ending {
  readonly state: TaskState;
  readonly reason?: Reason | undefined;
  readonly error?: unknown;
}

/** Why a task has no result. */
export function failureOf(id: string, { state, reason = 'none', error }: Ending): Error {
  const message = typeof error === 'string' ? error : (error as { message?: unknown } | null | undefined)?.message;
  const problem =
    state === 'cancelled'
      ? 'it was cancelled'
      : typeof message === 'string' && message !== ''
        ? message.replace(/\.$/, '')
        : `it ended for the reason ${reason}`;
  return fault('TASK_FAILED', { task: id, problem, state, reason, error });
}
