/** A trigger as a form has it, and as the node takes it. */

import { jsonIn } from '../json-text.ts';
import { commaList } from '../text.ts';
import type { EVENTS } from './words.ts';

export const KINDS = ['webhook', 'event', 'file', 'manual'] as const;
export type TriggerKind = (typeof KINDS)[number];
export type TriggerAction = 'push' | 'run' | 'check';
export type RunBy = 'workflow' | 'use' | 'json';

export interface TriggerDraft {
  readonly name: string;
  readonly kind: TriggerKind;
  readonly on: keyof typeof EVENTS;
  readonly queues: string;
  readonly states: readonly string[];
  readonly together: boolean | undefined;
  readonly folder: string;
  readonly match: string;
  readonly node: string;
  readonly signature: 'leasehold' | 'github' | 'stripe';
  /** Where the secret comes from; `keep`: it stays as it is. */
  readonly secret: 'keep' | 'made' | 'value' | 'env';
  readonly secretText: string;
  readonly window: string;
  readonly action: TriggerAction;
  /** Of a task, what has no field of its own: JSON. */
  readonly more: string;
  readonly runBy: RunBy;
  /** The name of a workflow or a machine, or all of it as JSON. */
  readonly run: string;
  readonly input: string;
  readonly execution: 'task' | 'loop' | 'process';
  readonly check: string;
  readonly tell: boolean;
  readonly rate: string;
}

/** A trigger as the node shows it. */
export interface TriggerLike {
  readonly name: string;
  readonly kind: TriggerKind;
  readonly on?: keyof typeof EVENTS | undefined;
  readonly queues?: readonly string[] | undefined;
  readonly states?: readonly string[] | undefined;
  readonly together?: boolean | undefined;
  readonly folder?: string | undefined;
  readonly match?: string | undefined;
  readonly node?: string | undefined;
  readonly signature?: TriggerDraft['signature'] | undefined;
  readonly window?: string | number | undefined;
  readonly push?: unknown;
  readonly run?: unknown;
  readonly check?: string | undefined;
  readonly input?: unknown;
  readonly tell?: boolean | undefined;
  readonly execution?: TriggerDraft['execution'] | undefined;
  readonly rate?: number | undefined;
}

const NEW: TriggerDraft = {
  name: '',
  kind: 'webhook',
  on: 'task_finished',
  queues: '',
  states: [],
  together: undefined,
  folder: '',
  match: '',
  node: '',
  signature: 'leasehold',
  secret: 'made',
  secretText: '',
  window: '',
  action: 'push',
  more: '',
  runBy: 'workflow',
  run: '',
  input: '',
  execution: 'task',
  check: '',
  tell: true,
  rate: '',
};

const text = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value, undefined, 2));

export function triggerDraft(of: TriggerLike | undefined): TriggerDraft {
  if (of === undefined) return NEW;
  const { push, run, check } = of;
  const { queue: _queue, handler: _handler, ...more } = (push ?? {}) as Readonly<Record<string, unknown>>;
  return {
    ...NEW,
    name: of.name,
    kind: of.kind,
    on: of.on ?? NEW.on,
    queues: of.queues?.join(', ') ?? '',
    states: of.states ?? [],
    together: of.together,
    folder: of.folder ?? '',
    match: of.match ?? '',
    node: of.node ?? '',
    signature: of.signature ?? 'leasehold',
    secret: of.kind === 'webhook' ? 'keep' : 'made',
    window: typeof of.window === 'number' ? `${of.window}ms` : (of.window ?? ''),
    action: check !== undefined ? 'check' : run !== undefined ? 'run' : 'push',
    more: Object.keys(more).length === 0 ? '' : text(more),
    ...runDraft(run),
    input: text(of.input),
    execution: of.execution ?? 'task',
    check: check ?? '',
    tell: of.tell ?? true,
    rate: of.rate === undefined ? '' : String(of.rate),
  };
}

function runDraft(run: unknown): Pick<TriggerDraft, 'runBy' | 'run'> {
  if (run === undefined) return { runBy: 'workflow', run: '' };
  const [[field, value] = [], ...others] = Object.entries(run as object);
  const named = others.length === 0 && typeof value === 'string';
  if (named && (field === 'workflow' || field === 'use')) return { runBy: field, run: value };
  return { runBy: 'json', run: text(run) };
}

/** The task of a trigger that pushes one, as the fields of a push have read it. */
export interface PushedTask {
  readonly queue: string;
  readonly handler: string;
  readonly input: unknown;
}

export interface TriggerIn {
  readonly body: Readonly<Record<string, unknown>>;
  readonly problems: Readonly<Record<string, string>>;
}

/** What the node is given, or what is wrong, by field. */
export function triggerIn(draft: TriggerDraft, task: PushedTask): TriggerIn {
  const problems: Record<string, string> = {};
  const name = draft.name.trim();
  if (name === '') problems.name = 'is required';
  const rate = draft.rate.trim();
  if (rate !== '' && !/^[1-9]\d{0,4}$/.test(rate)) problems.rate = 'is a whole number of firings a minute';
  return {
    body: {
      name,
      kind: draft.kind,
      ...sourceIn(draft, problems),
      ...actionIn(draft, task, problems),
      ...(draft.tell || draft.action === 'check' ? {} : { tell: false }),
      ...(rate === '' ? {} : { rate: Number(rate) }),
    },
    problems,
  };
}

type Problems = Record<string, string>;

const given = (field: string, value: string): object => (value.trim() === '' ? {} : { [field]: value.trim() });

function sourceIn(draft: TriggerDraft, problems: Problems): object {
  switch (draft.kind) {
    case 'webhook':
      return {
        ...(draft.signature === 'leasehold' ? {} : { signature: draft.signature }),
        ...given('window', draft.window),
        ...secretIn(draft, problems),
      };
    case 'event': {
      const queues = commaList(draft.queues);
      return {
        on: draft.on,
        ...(queues.length === 0 || draft.on.startsWith('worker_') ? {} : { queues }),
        ...(draft.states.length === 0 || draft.on !== 'task_finished' ? {} : { states: draft.states }),
        ...(draft.together === undefined ? {} : { together: draft.together }),
      };
    }
    case 'file':
      if (!/^(\/|[A-Za-z]:[\\/])/.test(draft.folder.trim())) problems.folder = 'is an absolute path';
      return { folder: draft.folder.trim(), ...given('match', draft.match), ...given('node', draft.node) };
    case 'manual':
      return {};
  }
}

function secretIn({ secret, secretText }: TriggerDraft, problems: Problems): object {
  if (secret === 'value') {
    if (secretText.length < 16) problems.secretText = 'has at least 16 characters';
    return { secret: { value: secretText } };
  }
  if (secret === 'env') {
    if (!/^LEASEHOLD_HOOK_[A-Z0-9_]+$/.test(secretText.trim())) problems.secretText = 'is LEASEHOLD_HOOK_ and a name';
    return { secret: { env: secretText.trim() } };
  }
  return {};
}

function actionIn(draft: TriggerDraft, task: PushedTask, problems: Problems): object {
  const check = draft.check.trim();
  switch (draft.action) {
    case 'check':
      if (check === '') problems.check = 'is the name of a pool';
      return { check };
    case 'push': {
      const queue = task.queue.trim() || task.handler.trim();
      const more = objectIn(draft.more);
      if (queue === '') problems.handler = 'is required';
      if (more === undefined) problems.more = 'is a JSON object, such as {"priority": 5}';
      const input = isEmptyObject(task.input) ? {} : { input: task.input };
      return { push: { ...more, queue, ...given('handler', task.handler) }, ...input };
    }
    case 'run': {
      const input = jsonIn(draft.input);
      if (!input.ok) problems.input = input.problem;
      return {
        run: runIn(draft, problems),
        ...(input.ok && input.value !== undefined ? { input: input.value } : {}),
        ...(draft.execution === 'task' ? {} : { execution: draft.execution }),
      };
    }
  }
}

function runIn({ runBy, run }: TriggerDraft, problems: Problems): object {
  if (runBy !== 'json') {
    if (run.trim() === '') problems.run = 'is required';
    return { [runBy]: run.trim() };
  }
  const value = objectIn(run);
  if (value === undefined || isEmptyObject(value)) problems.run = 'is a JSON object, such as {"machine": {…}}';
  return value ?? {};
}

function objectIn(written: string): object | undefined {
  const read = jsonIn(written);
  if (!read.ok) return undefined;
  const { value = {} } = read;
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
}

function isEmptyObject(value: unknown): boolean {
  return (
    value === undefined ||
    (typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0)
  );
}

/** The field of the form to which an error of the node belongs; undefined: to none. */
export function fieldOfTriggerProblem(field: unknown): string | undefined {
  if (typeof field !== 'string') return undefined;
  if (/^secret\b/.test(field)) return 'secretText';
  if (field === 'trigger name') return 'name';
  const [first = '', second = ''] = field.split(/[.[ ]/);
  if (first === 'push') return second === 'handler' || second === 'queue' || second === '' ? 'handler' : 'more';
  const own = ['name', 'on', 'queues', 'states', 'folder', 'match', 'node', 'signature', 'window', 'run', 'check'];
  if (first === 'pool') return 'check';
  if (['queue', 'handler'].includes(first)) return 'handler';
  return [...own, 'input', 'rate', 'execution'].includes(first) ? first : undefined;
}
