import { type Duration, parseDuration } from '../duration.ts';
import { type EngineError, fault } from '../errors.ts';
import { checkName } from '../names.ts';
import { STATES, type TaskState } from '../task/task.ts';

export const TRIGGER_KINDS = ['webhook', 'event', 'file', 'manual'] as const;
export type TriggerKind = (typeof TRIGGER_KINDS)[number];

/** What an event trigger can listen to. */
export const TRIGGER_EVENTS = [
  'work_added',
  'task_started',
  'task_finished',
  'worker_registered',
  'worker_lost',
] as const;
export type TriggerEvent = (typeof TRIGGER_EVENTS)[number];

/** How the sender of a webhook signs. */
export const SIGNATURES = ['leasehold', 'github', 'stripe'] as const;
export type Signature = (typeof SIGNATURES)[number];

/** Who runs what a trigger starts: any worker, the process that fired it, or a new process beside that. */
export const EXECUTIONS = ['task', 'loop', 'process'] as const;
export type Execution = (typeof EXECUTIONS)[number];

/** What became of a firing; stored by position, so only append. */
export const TRIGGER_OUTCOMES = ['pushed', 'refused', 'accepted', 'done', 'failed', 'stopped', 'held', 'lost'] as const;
export type TriggerOutcome = (typeof TRIGGER_OUTCOMES)[number];

/** How many lines a store keeps of each trigger. */
export const FIRINGS_KEPT = 100;
/** Triggers that start each other: more links than these in one chain are a circle. */
export const MOST_LINKS = 8;
/** The name of a trigger, which the names of its queues contain. */
export const MOST_NAME = 50;
/** What the names of its runs begin with; the key of a delivery follows. */
export const MOST_RUN_NAME = 100;
export const DEFAULT_WINDOW_MS = 5 * 60_000;
const MAX_WINDOW_MS = 24 * 3_600_000;
/** Firings a minute. */
export const DEFAULT_RATE = 600;
export const MOST_RATE = 60_000;
const MOST_QUEUES = 100;
const MOST_PATTERN = 200;
const MOST_PATH = 1000;
/** Variables that a secret may be in: nobody proves what another variable holds by signing with it. */
export const SECRET_VARIABLE = /^LEASEHOLD_HOOK_[A-Z0-9_]{1,100}$/;

/** Where the secret of a webhook is. Absent: the node makes one. */
export type SecretSource =
  | { readonly env: string }
  /** As a node has sealed it. */
  | { readonly sealed: string };

/** A trigger: one kind, one action. The task or run itself is checked by whoever makes it. */
export interface Trigger {
  readonly name: string;
  readonly kind: TriggerKind;
  /** Of an event. */
  readonly on?: TriggerEvent | undefined;
  /** Only events of these queues; default all. */
  readonly queues?: readonly string[] | undefined;
  /** Only tasks that finished so; default all. */
  readonly states?: readonly TaskState[] | undefined;
  /** One firing for all events that are read together; default false, but true for a check. */
  readonly together?: boolean | undefined;
  /** Of files: an absolute folder of the node, and which names in it. */
  readonly folder?: string | undefined;
  readonly match?: string | undefined;
  /** Only this node watches it; default each that may. */
  readonly node?: string | undefined;
  /** Of a webhook. */
  readonly signature?: Signature | undefined;
  readonly secret?: SecretSource | undefined;
  readonly window?: Duration | undefined;
  /** The action: one of the three. */
  readonly push?: object | undefined;
  readonly run?: object | undefined;
  /** The name of a pool. */
  readonly check?: string | undefined;
  /** What the action is given, whatever has happened. */
  readonly input?: unknown;
  /** Whether it is also told what has happened; default true. */
  readonly tell?: boolean | undefined;
  readonly execution?: Execution | undefined;
  /** Firings a minute; more wait, or are refused where somebody waits for the answer. */
  readonly rate?: number | undefined;
}

export interface TriggerProblem {
  readonly field: string;
  readonly problem: string;
}

const COMMON = ['name', 'kind', 'push', 'run', 'check', 'input', 'tell', 'execution', 'rate'] as const;
const OF_KIND: Readonly<Record<TriggerKind, readonly (keyof Trigger)[]>> = {
  webhook: ['signature', 'secret', 'window'],
  event: ['on', 'queues', 'states', 'together'],
  file: ['folder', 'match', 'node'],
  manual: [],
};
const ACTIONS = ['push', 'run', 'check'] as const;

/** Throws the first problem. */
export function checkTrigger(given: unknown): Trigger {
  const [first] = triggerProblems(given);
  if (first === undefined) return given as Trigger;
  throw fault('INVALID_INPUT', { field: first.field, problem: first.problem });
}

/** All that is wrong with it; what is pushed or run is looked at elsewhere. */
export function triggerProblems(given: unknown): readonly TriggerProblem[] {
  if (!isMap(given)) return [{ field: 'trigger', problem: 'it is a map' }];
  const trigger = given as Readonly<Record<string, unknown>>;
  const { kind, name } = trigger;
  if (!isOneOf(TRIGGER_KINDS, kind)) {
    return [...nameProblems(name), { field: 'kind', problem: `it is one of ${TRIGGER_KINDS.join(', ')}` }];
  }
  const known: readonly string[] = [...COMMON, ...OF_KIND[kind]];
  const foreign = Object.keys(trigger).filter((field) => trigger[field] !== undefined && !known.includes(field));
  const checks = { webhook: webhookProblems, event: eventProblems, file: fileProblems, manual: () => [] } as const;
  return [
    ...nameProblems(name),
    ...foreign.map((field) => ({ field, problem: `a trigger of kind ${kind} has no such field` })),
    ...checks[kind](trigger),
    ...actionProblems(trigger),
  ];
}

function nameProblems(name: unknown): readonly TriggerProblem[] {
  if (typeof name === 'string' && name.length > MOST_NAME) {
    return [{ field: 'name', problem: `it has more than ${MOST_NAME} characters` }];
  }
  return problemOf('name', () => checkName('trigger', name));
}

type Given = Readonly<Record<string, unknown>>;

function actionProblems(given: Given): readonly TriggerProblem[] {
  const actions = ACTIONS.filter((action) => given[action] !== undefined);
  const { push, run, check, tell, execution, rate } = given;
  return [
    ...wrong(actions.length !== 1, 'push', 'a trigger has one action: push, run or check'),
    ...wrong(push !== undefined && !isMap(push), 'push', 'it is a map: the task'),
    ...wrong(run !== undefined && !isMap(run), 'run', 'it is a map: the machine, graph or workflow'),
    ...(check === undefined ? [] : problemOf('check', () => checkName('pool', check))),
    ...wrong(tell !== undefined && typeof tell !== 'boolean', 'tell', 'it is true or false'),
    ...wrong(
      execution !== undefined && !isOneOf(EXECUTIONS, execution),
      'execution',
      `it is one of ${EXECUTIONS.join(', ')}`,
    ),
    ...wrong(
      (execution === 'loop' || execution === 'process') && run === undefined,
      'execution',
      'only a run is executed by the process that fired it; a task goes to the workers of its queue',
    ),
    ...wrong(
      rate !== undefined && !(Number.isSafeInteger(rate) && (rate as number) >= 1 && (rate as number) <= MOST_RATE),
      'rate',
      `it is a whole number from 1 to ${MOST_RATE}, in a minute`,
    ),
  ];
}

function webhookProblems({ signature, secret, window }: Given): readonly TriggerProblem[] {
  return [
    ...wrong(
      signature !== undefined && !isOneOf(SIGNATURES, signature),
      'signature',
      `it is one of ${SIGNATURES.join(', ')}`,
    ),
    ...wrong(
      window !== undefined && !isWindow(window),
      'window',
      'it is a duration from 1s to 1d: how old a delivery may be',
    ),
    ...wrong(
      secret !== undefined && !isSecret(secret),
      'secret',
      'it is {"env": NAME} with a variable LEASEHOLD_HOOK_… of the nodes, or {"value": TEXT} with at least 16 characters',
    ),
  ];
}

function isSecret(secret: unknown): boolean {
  if (!isMap(secret) || Object.keys(secret).length !== 1) return false;
  const { env, sealed } = secret as { env?: unknown; sealed?: unknown };
  return (typeof env === 'string' && SECRET_VARIABLE.test(env)) || typeof sealed === 'string';
}

function isWindow(window: unknown): boolean {
  try {
    const ms = parseDuration(window as Duration);
    return ms >= 1000 && ms <= MAX_WINDOW_MS;
  } catch {
    return false;
  }
}

function eventProblems({ on, queues, states, together }: Given): readonly TriggerProblem[] {
  const ofTasks = isOneOf(TRIGGER_EVENTS, on) && !on.startsWith('worker_');
  return [
    ...wrong(!isOneOf(TRIGGER_EVENTS, on), 'on', `it is one of ${TRIGGER_EVENTS.join(', ')}`),
    ...wrong(
      queues !== undefined && !(isList(queues, MOST_QUEUES) && queues.every((one) => typeof one === 'string')),
      'queues',
      `it is a list of at most ${MOST_QUEUES} names`,
    ),
    ...wrong(queues !== undefined && !ofTasks, 'queues', 'only tasks have a queue'),
    ...wrong(
      states !== undefined && !(isList(states, STATES.length) && states.every((one) => isOneOf(STATES, one))),
      'states',
      `it is a list of ${STATES.join(', ')}`,
    ),
    ...wrong(states !== undefined && on !== 'task_finished', 'states', 'it is of task_finished'),
    ...wrong(together !== undefined && typeof together !== 'boolean', 'together', 'it is true or false'),
  ];
}

function fileProblems({ folder, match, node }: Given): readonly TriggerProblem[] {
  return [
    ...wrong(
      !(typeof folder === 'string' && folder.length <= MOST_PATH && /^(\/|[A-Za-z]:[\\/])/.test(folder)),
      'folder',
      `it is the absolute path of a folder, at most ${MOST_PATH} characters`,
    ),
    ...wrong(
      match !== undefined && !(typeof match === 'string' && /^[^/\\]{1,200}$/.test(match)),
      'match',
      `it is a name of files with * and ?, at most ${MOST_PATTERN} characters and no folders`,
    ),
    ...wrong(node !== undefined && typeof node !== 'string', 'node', 'it is the id of a node'),
  ];
}

function wrong(is: boolean, field: string, problem: string): readonly TriggerProblem[] {
  return is ? [{ field, problem }] : [];
}

function problemOf(field: string, check: () => unknown): readonly TriggerProblem[] {
  try {
    check();
    return [];
  } catch (error) {
    const { details } = error as EngineError;
    return [{ field, problem: String((details as { readonly problem: unknown }).problem) }];
  }
}

function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isList(value: unknown, most: number): value is readonly unknown[] {
  return Array.isArray(value) && value.length > 0 && value.length <= most;
}

function isOneOf<const T extends string>(all: readonly T[], value: unknown): value is T {
  return (all as readonly unknown[]).includes(value);
}

/** How old a delivery may be. */
export function windowOf({ window }: Pick<Trigger, 'window'>): number {
  return window === undefined ? DEFAULT_WINDOW_MS : parseDuration(window, 'window');
}

/** Many events make one firing where the action looks at everything anyway. */
export function isTogether({ together, check }: Pick<Trigger, 'together' | 'check'>): boolean {
  return together ?? check !== undefined;
}
