import type { Duration } from '../../core/duration.ts';
import type { TaskState } from '../../core/task/task.ts';
import type { ChildRequest } from '../../protocol/link.ts';
import type { AnyPushable, InputOf, Jsonify, ResultOf } from '../define/pushable-task.ts';

/** What a handler may remember and wait for. Nothing of it costs anything before it is used. */
export interface DurableContext {
  /**
   * Runs `fn` once and remembers what it returns: after a crash, a retry or a wake-up the value comes back, and `fn` is not
   * called. The n-th call with a name in an attempt is the n-th in every attempt, so a handler has to come to its steps in the
   * same order each time. What `fn` throws is not remembered.
   */
  step<R>(name: string, fn: (step: StepInfo) => R | Promise<R>, options?: StepOptions): Promise<Stored<Awaited<R>>>;

  /** A list to which each attempt adds in the same order; each element is remembered by itself. */
  list<T = unknown>(name: string): DurableList<T>;

  /**
   * Gives the slot back until what is waited for has come. The handler is then started again from its beginning, and comes
   * through its steps to this place, where it goes on. Each wake-up is delivered once. The error with which it leaves the
   * handler meanwhile need not be passed on, but nothing that the handler does after it counts.
   */
  wait(name: string, what: TimeWait): Promise<Woken<undefined>>;
  wait<T = unknown>(name: string, what: SignalWait & Endless): Promise<Woken<T>>;
  wait<T = unknown>(name: string, what: SignalWait): Promise<Woken<T> | TimedOut>;
  wait<V = unknown>(name: string, what: ApprovalWait & Endless): Promise<Woken<Decision<V>>>;
  wait<V = unknown>(name: string, what: ApprovalWait): Promise<Woken<Decision<V>> | TimedOut>;
  wait<R = unknown>(name: string, what: ChildrenWait<R>): Promise<ChildrenWoken<R>>;

  /** Starts another task, once for each place in the handler; it goes on whatever becomes of this one. */
  spawn<T extends AnyPushable>(task: T, input: InputOf<T>, options?: SpawnOptions): Promise<Child<ResultOf<T>>>;
  spawn(task: HandlerRef, input?: unknown, options?: SpawnOptions): Promise<Child>;

  /** How the tasks stand that this one was made to wait for, and those whose end it has waited for since. */
  dependencies(): Promise<readonly DependencyResult[]>;
}

/** What comes back of a value that was stored as JSON; nothing at all is stored as null. */
export type Stored<T> = T extends undefined | void ? null : Jsonify<T>;

export interface StepInfo {
  /** The same in every attempt, and of no other step: an idempotency key for whoever takes one. */
  readonly key: string;
  /** With the policy `relaunch`: it was begun before, and left no result. */
  readonly again: boolean;
}

/**
 * What becomes of a step that was begun and left no result, because its attempt ended or `fn` threw. `repeat`: it runs again.
 * `exact`: it does not, and fails with `STEP_UNCERTAIN`. `relaunch`: it runs again and is told so.
 */
export type StepPolicy = 'repeat' | 'exact' | 'relaunch';

export interface StepOptions {
  /** Default `repeat`. The others cost one more write, before the step begins. */
  readonly policy?: StepPolicy;
}

export interface DurableList<T = unknown> {
  /** Adds a value. Where an earlier attempt has added one in this place, that one stays and comes back. */
  push(value: T): Promise<Stored<T>>;
  /** Those that this attempt has added so far, as they were stored. */
  values(): Stored<T>[];
  readonly length: number;
}

export type TimeWait =
  | { readonly for: Duration }
  /** Calendar time in milliseconds. */
  | { readonly until: number };

export interface SignalWait {
  /** The channel; a signal that came before counts, once. */
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
  /** What whoever decides may fill in; any JSON value, such as a JSON Schema. */
  readonly form?: unknown;
  /** Default `approve` and `reject`. */
  readonly actions?: readonly string[];
  /** What they should know: any JSON value. */
  readonly context?: unknown;
}

/** What somebody has decided. */
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
  /** In the order in which they were named. */
  readonly value: readonly ChildResult<R>[];
}

/** A task that was started; a handle of the library is one too. */
export interface Child<R = unknown> {
  readonly id: string;
  /** The number by which the engine knows it. */
  readonly task: number;
  /** Only for the types of `wait`. */
  readonly '~result'?: R;
}

export type ChildRef<R = unknown> = Child<R> | string | number;

export interface ChildResult<R = unknown> {
  readonly id: string;
  /** `gone`: it is no longer kept. */
  readonly state: TaskState | 'gone';
  /** Of one that has completed. */
  readonly result?: R;
  /** Of one that has failed. */
  readonly error?: unknown;
}

export interface DependencyResult extends ChildResult {
  /** Its end was waited for, whatever it is. */
  readonly optional: boolean;
}

/** A task of which only the names are known here. */
export interface HandlerRef {
  readonly queue: string;
  readonly handler: string;
}

export interface SpawnOptions extends Partial<Omit<ChildRequest, 'handler' | 'input'>> {
  /** Names the place in the handler; default the name of the task. */
  readonly name?: string;
}
