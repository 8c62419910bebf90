import type { Duration } from '../../core/duration.ts';
import type { TaskState } from '../../core/task/task.ts';
import type { ChildRequest } from '../../protocol/link.ts';
import type { AnyPushable, InputOf, Jsonify, ResultOf } from '../define/pushable-task.ts';

/** The durable calls of a handler. They cost nothing before they are used. */
export interface DurableContext {
  /**
   * Runs `fn` once and stores its value: after a crash, a retry or a wake-up the stored value is returned, and `fn` is not called.
   * The n-th call with a name is the n-th in every attempt, so a handler must reach its steps in the same order each time. An
   * error of `fn` is not stored.
   */
  step<R>(name: string, fn: (step: StepInfo) => R | Promise<R>, options?: StepOptions): Promise<Stored<Awaited<R>>>;

  /** A list to which each attempt adds in the same order; each element is stored by itself. */
  list<T = unknown>(name: string): DurableList<T>;

  /**
   * Gives the slot back until the wait is over. Then the handler runs again from its beginning, passes its stored steps, and goes on
   * from here. Each wake-up is delivered once. Meanwhile the call throws, to end the handler. The handler need not rethrow that
   * error, but nothing that it does afterwards counts.
   */
  wait(name: string, what: TimeWait): Promise<Woken<undefined>>;
  wait<T = unknown>(name: string, what: SignalWait & Endless): Promise<Woken<T>>;
  wait<T = unknown>(name: string, what: SignalWait): Promise<Woken<T> | TimedOut>;
  wait<V = unknown>(name: string, what: ApprovalWait & Endless): Promise<Woken<Decision<V>>>;
  wait<V = unknown>(name: string, what: ApprovalWait): Promise<Woken<Decision<V>> | TimedOut>;
  wait<R = unknown>(name: string, what: ChildrenWait<R>): Promise<ChildrenWoken<R>>;

  /** Starts another task, once for each place in the handler. It runs on whatever becomes of this task. */
  spawn<T extends AnyPushable>(task: T, input: InputOf<T>, options?: SpawnOptions): Promise<Child<ResultOf<T>>>;
  spawn(task: HandlerRef, input?: unknown, options?: SpawnOptions): Promise<Child>;

  /** The states and results of the tasks that this one depends on, and of those whose end it has waited for since. */
  dependencies(): Promise<readonly DependencyResult[]>;
}

/** The type of a value that was stored as JSON; undefined is stored as null. */
export type Stored<T> = T extends undefined | void ? null : Jsonify<T>;

export interface StepInfo {
  /** The same in every attempt, and unique to this step: an idempotency key for services that take one. */
  readonly key: string;
  /** With the policy `relaunch`: an earlier attempt began the step and left no result. */
  readonly again: boolean;
}

/**
 * What happens to a step that was begun and left no result, because its attempt ended or `fn` threw. `repeat`: it runs again.
 * `exact`: it does not run, and fails with `STEP_UNCERTAIN`. `relaunch`: it runs again, with `again` set.
 */
export type StepPolicy = 'repeat' | 'exact' | 'relaunch';

export interface StepOptions {
  /** Default `repeat`. The others cost one more write before the step begins. */
  readonly policy?: StepPolicy;
}

export interface DurableList<T = unknown> {
  /** Adds a value. Where an earlier attempt has added one in this place, that one stays and is returned. */
  push(value: T): Promise<Stored<T>>;
  /** The values that this attempt has added so far, as they were stored. */
  values(): Stored<T>[];
  readonly length: number;
}

export type TimeWait =
  | { readonly for: Duration }
  /** Calendar time in milliseconds. */
  | { readonly until: number };

export interface SignalWait {
  /** The channel; a signal that came before the wait counts, once. */
  readonly signal: string;
  readonly timeout?: Duration;
}

export interface ApprovalWait {
  readonly approval: ApprovalRequest;
  readonly timeout?: Duration;
}

/** Without a timeout. */
interface Endless {
  readonly timeout?: never;
}

export interface ApprovalRequest {
  /** What is asked, in one line. */
  readonly title: string;
  /** The form for the person who decides; any JSON value, such as a JSON Schema. */
  readonly form?: unknown;
  /** Default `approve` and `reject`. */
  readonly actions?: readonly string[];
  /** What this person should know; any JSON value. */
  readonly context?: unknown;
}

/** The decision on an approval. */
export interface Decision<V = unknown> {
  readonly action: string;
  readonly value?: V;
  readonly by?: string;
}

export interface ChildrenWait<R = unknown> {
  readonly children: readonly ChildRef<R>[];
  /** The first that ends is enough. */
  readonly any?: boolean;
  readonly timeout?: Duration;
}

export interface Woken<T> {
  readonly outcome: 'woken';
  readonly value: T;
}

export interface TimedOut {
  readonly outcome: 'timed_out';
  readonly value?: undefined;
}

export interface ChildrenWoken<R> {
  readonly outcome: 'woken' | 'timed_out';
  /** In the order of the request. */
  readonly value: readonly ChildResult<R>[];
}

/** A started task; a handle of the library fits as well. */
export interface Child<R = unknown> {
  readonly id: string;
  /** The number of the task in the store. */
  readonly task: number;
  /** Only for the types of `wait`. */
  readonly '~result'?: R;
}

export type ChildRef<R = unknown> = Child<R> | string | number;

export interface ChildResult<R = unknown> {
  readonly id: string;
  /** `gone`: it is no longer kept. */
  readonly state: TaskState | 'gone';
  /** Of a completed task. */
  readonly result?: R;
  /** Of a failed task. */
  readonly error?: unknown;
}

export interface DependencyResult extends ChildResult {
  /** Any end of the task satisfies the dependency. */
  readonly optional: boolean;
}

/** A task of which only the names are known. */
export interface HandlerRef {
  readonly queue: string;
  readonly handler: string;
}

export interface SpawnOptions extends Partial<Omit<ChildRequest, 'handler' | 'input'>> {
  /** Names the place in the handler; default the name of the task. */
  readonly name?: string;
}
