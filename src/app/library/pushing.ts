import type { AfterFailure } from '../../core/graph/graph.ts';
import { encodePayload } from '../../core/task/payload.ts';
import { checkList, checkOptions } from '../../engine/check.ts';
import type { PushRequest } from '../../engine/push/push.ts';
import type { RequestOf } from '../../protocol/paths.ts';
import { type SigningKey, signTask } from '../../protocol/signed-task.ts';
import type { CallerTransaction } from '../../store/store.ts';
import type { AnyTask } from '../../worker/define/definition.ts';
import type { InputOf } from '../../worker/define/pushable-task.ts';
import { parseInput } from '../../worker/define/schema.ts';
import { placedForWorkspace } from '../../worker/define/workspace-placement.ts';

/** Options of one push of a defined task, instead of those of its definition. */
export interface PushOptions
  extends Pick<
    PushRequest,
    | 'priority'
    | 'delay'
    | 'runAt'
    | 'unique'
    | 'maxAttempts'
    | 'op'
    | 'placement'
    | 'limits'
    | 'fairness'
    | 'reuse'
    | 'permissions'
  > {
  /** Another queue than that of the definition. */
  readonly queue?: string | undefined;
  /** The caller's own transaction: the task exists if, and only if, it commits. Not over HTTP. */
  readonly tx?: CallerTransaction | undefined;
  /** Signs the task, for workers that demand it: a key of `signingKey`, and until when (calendar time) it may be run. */
  readonly signWith?: (SigningKey & { readonly notAfter?: number | undefined }) | undefined;
}

/** A task of a graph, and what it waits for. */
export interface GraphTaskInput extends Omit<PushOptions, 'tx'> {
  /** The name by which other tasks of the graph refer to it; default the name of the task. */
  readonly name?: string;
  readonly task: AnyTask;
  /** Checked against the schema of the task. */
  readonly input?: unknown;
  /** What must have ended before: names of the graph, or handles and ids of existing tasks. */
  readonly after?: readonly (Upstream | { readonly on: Upstream; readonly optional?: boolean })[];
  /** What becomes of it when a dependency has failed or was cancelled; default `cancel`. */
  readonly afterFailure?: AfterFailure;
}

export type Upstream = string | { readonly id: string };

/** A task without input needs no input argument. */
export type PushArguments<T> =
  undefined extends InputOf<T>
    ? [input?: InputOf<T>, options?: PushOptions]
    : [input: InputOf<T>, options?: PushOptions];

/** A checked task of a graph, in the form of the routes. */
export interface GraphPush extends PushRequest, Pick<GraphTask, 'afterFailure'> {
  readonly name: string;
  readonly after?: readonly { readonly on: string; readonly optional?: boolean }[];
}

type GraphTask = RequestOf<'pushGraph'>['tasks'][number];

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
  'permissions',
  'tx',
  'signWith',
] satisfies (keyof PushOptions)[]);
const GRAPH: ReadonlySet<string> = new Set([
  ...[...PUSH].filter((option) => option !== 'tx'),
  ...(['name', 'task', 'input', 'after', 'afterFailure'] satisfies (keyof GraphTaskInput)[]),
]);
/** Without `unique` and `op`: each of these names one task. */
const PUSH_MANY: ReadonlySet<string> = new Set([...PUSH].filter((option) => option !== 'unique' && option !== 'op'));

/** The push request of one task, after its input was checked. */
export function pushOf(
  task: AnyTask,
  input: unknown,
  options: PushOptions | undefined,
): PushRequest | Promise<PushRequest> {
  if (options !== undefined) checkOptions('push options', options, PUSH);
  if (task.schema === undefined) return requestOf(task, input, options);
  return parseInput(task.schema, input, task.name).then((parsed) => requestOf(task, input, options, parsed));
}

/** All inputs are checked first. */
export async function pushesOf(
  task: AnyTask,
  inputs: readonly unknown[],
  options: PushOptions,
): Promise<readonly PushRequest[]> {
  checkOptions('options of pushMany', options, PUSH_MANY);
  checkList('inputs', inputs);
  if (task.schema === undefined) return inputs.map((input) => requestOf(task, input, options));
  const requests: PushRequest[] = [];
  for (const input of inputs)
    requests.push(requestOf(task, input, options, await parseInput(task.schema, input, task.name)));
  return requests;
}

export async function graphOf(graph: readonly GraphTaskInput[]): Promise<readonly GraphPush[]> {
  checkList('graph', graph);
  const requests: GraphPush[] = [];
  for (const one of graph) {
    checkOptions('options of a task in a graph', one, GRAPH);
    const { name = one.task.name, task, input, after, afterFailure, ...options } = one;
    const parsed = await parseInput(task.schema, input, task.name);
    requests.push({
      ...requestOf(task, input, options, parsed),
      name,
      ...(after === undefined ? {} : { after: after.map(upstreamOf) }),
      ...(afterFailure === undefined ? {} : { afterFailure }),
    });
  }
  return requests;
}

function upstreamOf(given: NonNullable<GraphTaskInput['after']>[number]): NonNullable<GraphPush['after']>[number] {
  if (typeof given === 'string') return { on: given };
  if (!('on' in given)) return { on: given.id };
  const { on } = upstreamOf(given.on);
  return given.optional === undefined ? { on } : { on, optional: given.optional };
}

/** `parsed`: what the handler will be given. */
function requestOf(
  task: AnyTask,
  input: unknown,
  options: PushOptions | undefined,
  parsed: unknown = input,
): PushRequest {
  const request = plainRequestOf(task, input, options);
  if (task.workspace === undefined) return request;
  const { placement } = request;
  return { ...request, placement: placedForWorkspace(task.name, task.workspace, parsed, placement) };
}

function plainRequestOf(task: AnyTask, input: unknown, options: PushOptions | undefined): PushRequest {
  const { name, queue, retry, maxAttempts, timeoutMs: timeout, waitTimeoutMs: waitTimeout } = task;
  const { placement, limits, reuse, permissions } = task;
  const defined = {
    queue,
    handler: name,
    input,
    retry,
    maxAttempts,
    timeout,
    waitTimeout,
    placement,
    limits,
    reuse,
    permissions,
  };
  if (options === undefined) return defined;
  const { tx: _tx, signWith, ...given } = options;
  const request: PushRequest = { ...defined, ...withoutUndefined(given) };
  if (signWith === undefined) return request;
  const signable = { queue: request.queue, handler: request.handler, payload: encodePayload(input) };
  return { ...request, input: signTask(signable, signWith, signWith.notAfter) };
}

/** Without the options that are undefined: these must not hide what the definition sets. */
function withoutUndefined<T extends object>(options: T): Defined<T> {
  if (!Object.values(options).includes(undefined)) return options;
  return Object.fromEntries(Object.entries(options).filter((entry) => entry[1] !== undefined)) as Defined<T>;
}

type Defined<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };
