import type { Duration } from '../core/duration.ts';
import type { AfterFailure } from '../core/graph.ts';
import type { FairnessInput } from '../core/lane.ts';
import type { LimitUseInput } from '../core/limit.ts';
import type { PlacementInput } from '../core/placement.ts';
import type { ReuseInput } from '../core/reuse.ts';
import { checkList, checkOptions } from '../engine/check.ts';
import type { PushRequest } from '../engine/push.ts';
import type { CallerTransaction } from '../store/store.ts';
import type { AnyTask, InputOf } from '../worker/definition.ts';
import { parseInput } from '../worker/schema.ts';

/** What a caller may say about one push of a defined task. */
export interface PushOptions {
  /** Whole number, higher first; default 0. */
  readonly priority?: number;
  /** Due this much later. */
  readonly delay?: Duration;
  /** Due at this calendar time, in milliseconds. */
  readonly runAt?: number;
  /** The same key and input lead to the same task, the same key and another input are refused. */
  readonly unique?: NonNullable<PushRequest['unique']>;
  /** Another queue than that of the definition. */
  readonly queue?: string;
  readonly maxAttempts?: number;
  /** Operation id: repeating the call with it gives the first answer. */
  readonly op?: string;
  /** Where it may run, instead of what the definition says. */
  readonly placement?: PlacementInput;
  /** What it takes of which limits while it runs, instead of what the definition says; a name alone takes one. */
  readonly limits?: readonly (string | LimitUseInput)[];
  /** Whose turn it uses: keys share what there is, however many tasks each of them has. */
  readonly fairness?: FairnessInput;
  /** Whether a result of the same input, or key, takes the place of a run, instead of what the definition says. */
  readonly reuse?: ReuseInput;
  /** The caller's own transaction: the task exists when, and only when, it commits. Not over HTTP. */
  readonly tx?: CallerTransaction;
}

/** A task of a graph, and what it waits for. */
export interface GraphTaskInput extends Omit<PushOptions, 'tx'> {
  /** What others of the graph know it by; default the name of the task. */
  readonly name?: string;
  readonly task: AnyTask;
  /** Checked against the schema of the task. */
  readonly input?: unknown;
  /** What must have ended before: names of the graph, or handles and ids of tasks that exist. */
  readonly after?: readonly (Upstream | { readonly on: Upstream; readonly optional?: boolean })[];
  /** What becomes of it when something that it needs has failed or was cancelled; default `cancel`. */
  readonly afterFailure?: AfterFailure;
}

export type Upstream = string | { readonly id: string };

/** A task that takes nothing needs no input. */
export type PushArguments<T> =
  undefined extends InputOf<T>
    ? [input?: InputOf<T>, options?: PushOptions]
    : [input: InputOf<T>, options?: PushOptions];

/** One of a graph that was checked: what it waits for by name, or by the id of a task that exists. */
export interface GraphPush extends PushRequest {
  readonly name: string;
  readonly after?: readonly { readonly on: string | { readonly id: string }; readonly optional?: boolean }[];
  readonly afterFailure?: AfterFailure;
}

const PUSH: ReadonlySet<string> = new Set([
  'priority',
  'delay',
  'runAt',
  'unique',
  'queue',
  'maxAttempts',
  'op',
  'placement',
  'limits',
  'fairness',
  'reuse',
  'tx',
] satisfies (keyof PushOptions)[]);
const GRAPH: ReadonlySet<string> = new Set([
  ...[...PUSH].filter((option) => option !== 'tx'),
  ...(['name', 'task', 'input', 'after', 'afterFailure'] satisfies (keyof GraphTaskInput)[]),
]);
/** Each names one task. */
const PUSH_MANY: ReadonlySet<string> = new Set([...PUSH].filter((option) => option !== 'unique' && option !== 'op'));

/** The push of one task, once its input was checked. */
export async function pushOf(task: AnyTask, input: unknown, options: PushOptions): Promise<PushRequest> {
  checkOptions('push options', options, PUSH);
  if (task.schema !== undefined) await parseInput(task.schema, input, task.name);
  return requestOf(task, input, options);
}

/** All inputs are checked before there is any. */
export async function pushesOf(
  task: AnyTask,
  inputs: readonly unknown[],
  options: PushOptions,
): Promise<readonly PushRequest[]> {
  checkOptions('options of pushMany', options, PUSH_MANY);
  checkList('inputs', inputs);
  if (task.schema !== undefined) for (const input of inputs) await parseInput(task.schema, input, task.name);
  return inputs.map((input) => requestOf(task, input, options));
}

export async function graphOf(graph: readonly GraphTaskInput[]): Promise<readonly GraphPush[]> {
  checkList('graph', graph);
  const names = new Set(graph.map((one) => one?.name ?? one?.task?.name));
  const requests: GraphPush[] = [];
  for (const one of graph) {
    checkOptions('options of a task in a graph', one, GRAPH);
    const { name = one.task.name, task, input, after, afterFailure, ...options } = one;
    await parseInput(task.schema, input, task.name);
    requests.push({
      ...requestOf(task, input, options),
      name,
      ...(after === undefined ? {} : { after: after.map((up) => upstreamOf(up, names)) }),
      ...(afterFailure === undefined ? {} : { afterFailure }),
    });
  }
  return requests;
}

function upstreamOf(
  given: NonNullable<GraphTaskInput['after']>[number],
  names: ReadonlySet<string>,
): NonNullable<GraphPush['after']>[number] {
  if (typeof given === 'string') return { on: names.has(given) || !given.startsWith('task_') ? given : { id: given } };
  if (!('on' in given)) return { on: { id: given.id } };
  const { on } = upstreamOf(given.on, names);
  return given.optional === undefined ? { on } : { on, optional: given.optional };
}

function requestOf(task: AnyTask, input: unknown, { tx: _tx, ...options }: PushOptions): PushRequest {
  const { name, queue, retry, maxAttempts, timeoutMs, waitTimeoutMs, placement, limits, reuse } = task;
  return {
    queue,
    handler: name,
    input,
    ...(retry === undefined ? {} : { retry }),
    ...(maxAttempts === undefined ? {} : { maxAttempts }),
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
    ...(waitTimeoutMs === undefined ? {} : { waitTimeout: waitTimeoutMs }),
    ...(placement === undefined ? {} : { placement }),
    ...(limits === undefined ? {} : { limits }),
    ...(reuse === undefined ? {} : { reuse }),
    ...said(options),
  };
}

/** Without what is there and undefined: that says nothing, and must not hide what the task says. */
function said<T extends object>(options: T): Partial<T> {
  for (const value of Object.values(options)) {
    if (value === undefined) {
      return Object.fromEntries(Object.entries(options).filter((entry) => entry[1] !== undefined)) as Partial<T>;
    }
  }
  return options;
}
