import type { Duration } from '../../core/duration.ts';
import type { RetryInput } from '../../core/task/retry.ts';
import type { AnyPushable, InputOf, ResultOf } from '../define/pushable-task.ts';
import type { ApprovalRequest, Decision, HandlerRef, SpawnOptions, Stored } from '../durable/durable-context.ts';

/**
 * What a workflow calls for everything that must be remembered. Code between these calls may run again: it has no effects of its own. Calls in the
 * same order give the same results in every attempt, also those that are under way together.
 */
export interface WorkflowContext {
  /** The public id of the run. */
  readonly id: string;
  /** Grows with every attempt. */
  readonly attempt: number;
  /** Aborts when the attempt should stop: the run was cancelled, its lease is lost, or the worker shuts down. */
  readonly abort: AbortSignal;

  /** Runs `fn` once and keeps its value. A crash between the two repeats this step alone. */
  step<R>(name: string, fn: (step: WorkflowStep) => R | Promise<R>, options?: StepRules): Promise<Stored<Awaited<R>>>;

  /** Starts a task of the tree of this run, on whatever worker has it, and waits for its result without a slot. */
  child<T extends AnyPushable>(task: T, input: InputOf<T>, options?: SpawnOptions): Promise<ResultOf<T>>;
  child<R = unknown>(task: HandlerRef, input?: unknown, options?: SpawnOptions): Promise<R>;

  /** A step or a child for each item, in the order of the items. The first that fails fails the call. */
  map<I, T extends AnyPushable>(items: readonly I[], task: T, options?: MapOptions): Promise<ResultOf<T>[]>;
  map<I, R>(
    items: readonly I[],
    fn: (item: I, step: WorkflowStep & { readonly index: number }) => R | Promise<R>,
    options?: MapOptions & StepRules,
  ): Promise<Stored<Awaited<R>>[]>;

  /** Waits without a slot for a signal to this run. Each is taken once; one that came before counts. */
  signal<T = unknown>(name: string): Promise<T>;
  /** Undefined: none came in time. */
  signal<T = unknown>(name: string, options: { readonly timeout: Duration }): Promise<T | undefined>;

  /** Waits without a slot for the decision of a person. */
  approval<V = unknown>(name: string, request?: Partial<ApprovalRequest>): Promise<Decision<V>>;
  approval<V = unknown>(
    name: string,
    request: Partial<ApprovalRequest> & { readonly timeout: Duration },
  ): Promise<Decision<V> | undefined>;

  /** Goes on after this long, without a slot. */
  sleep(duration: Duration): Promise<void>;
  /** Goes on at this calendar time in milliseconds. */
  sleepUntil(time: number): Promise<void>;

  /** Calendar time in milliseconds, the same in every attempt. */
  now(): number;
  /** A number from 0 to below 1, the same in every attempt. */
  random(): number;
  /** Adds a line to the log of the run, once: what is replayed says nothing. */
  log(message: string): void;
}

export interface WorkflowStep {
  /** The same in every attempt, and unique to this step: an idempotency key for services that take one. */
  readonly key: string;
  /** Tries of this step, this one included. A crash may not have been counted. */
  readonly tries: number;
  /** Aborts when the step takes too long, or the attempt should stop. */
  readonly signal: AbortSignal;
}

export interface StepRules {
  /** How often it is tried, and how long it waits before the next try; default once. */
  readonly retry?: number | (RetryInput & { readonly maxAttempts?: number });
  /** How long one try may take; then it fails with `TimeoutError`. */
  readonly timeout?: Duration;
  /** `exact`: a step that was begun and left no result does not run again, and fails with `STEP_UNCERTAIN`. Default `repeat`. */
  readonly policy?: 'repeat' | 'exact';
}

export interface MapOptions {
  /** Under way at once; default all. */
  readonly window?: number;
  /** Names the steps or children: `NAME[0]`, …; default `map`, or the name of the task. */
  readonly name?: string;
}
