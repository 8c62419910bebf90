import { type Artifact, type Message, type Part, Role, type Task, TaskState, type TaskStatus } from '@a2a-js/sdk';
import { fault } from '../../core/errors.ts';
import type { TaskView } from '../../operate/views.ts';

/** The push that a message asks for. */
export interface PushOrder {
  readonly handler: string;
  readonly queue: string;
  readonly input: unknown;
  readonly context: string;
  /** Unique to the message within its context: a repeat leads to the same task. */
  readonly key: string;
}

/** The key holds the context. No other place keeps it. */
const KEY = /^a2a:([\w.-]{1,80}):([\w.-]{1,80})$/;
const WORD = /^[\w.-]{1,80}$/;

export function pushOrderOf(message: Message, newContext: () => string): PushOrder {
  const { handler, queue = 'a2a' } = (message.metadata ?? {}) as {
    readonly handler?: unknown;
    readonly queue?: unknown;
  };
  if (typeof handler !== 'string')
    throw wrong('message.metadata.handler', 'it names the handler, one of the skills on the card');
  if (typeof queue !== 'string') throw wrong('message.metadata.queue', 'it is the name of a queue');
  const context = message.contextId === '' ? newContext() : message.contextId;
  if (!WORD.test(context)) throw wrong('message.contextId', 'it has 1 to 80 letters, digits, dots and dashes');
  if (!WORD.test(message.messageId))
    throw wrong('message.messageId', 'it has 1 to 80 letters, digits, dots and dashes');
  return { handler, queue, input: inputOf(message.parts), context, key: `a2a:${context}:${message.messageId}` };
}

/** One data part is the input itself; texts become `{text}`. */
export function inputOf(parts: readonly Part[]): unknown {
  const contents = parts.map(({ content }) => content);
  const data = contents.filter((content) => content?.$case === 'data');
  const texts = contents.filter((content) => content?.$case === 'text');
  if (data.length + texts.length < parts.length) throw wrong('message.parts', 'only data and text parts are taken');
  if (data.length > 1) throw wrong('message.parts', 'there is one input, and so at most one data part');
  if (data.length === 1 && texts.length > 0) throw wrong('message.parts', 'it is either a data part or text');
  if (data.length === 1) return data[0]?.value;
  if (texts.length === 0) throw wrong('message.parts', 'there is no part');
  return { text: texts.map(({ value }) => value as string).join('\n') };
}

/** The A2A context of a task; undefined: no message has made it. */
export function contextOf({ unique }: Pick<TaskView, 'unique'>): string | undefined {
  return unique === undefined ? undefined : KEY.exec(unique)?.[1];
}

/** The id of the message that has made it. */
export function messageIdOf({ unique }: Pick<TaskView, 'unique'>): string | undefined {
  return unique === undefined ? undefined : KEY.exec(unique)?.[2];
}

const STATES: Readonly<Record<TaskView['state'], TaskState>> = {
  scheduled: TaskState.TASK_STATE_SUBMITTED,
  ready: TaskState.TASK_STATE_SUBMITTED,
  running: TaskState.TASK_STATE_WORKING,
  waiting: TaskState.TASK_STATE_WORKING,
  completed: TaskState.TASK_STATE_COMPLETED,
  failed: TaskState.TASK_STATE_FAILED,
  cancelled: TaskState.TASK_STATE_CANCELED,
};

/** Our states behind a state of A2A; empty: all. */
export function statesOf(state: TaskState): readonly TaskView['state'][] {
  if (state === TaskState.TASK_STATE_UNSPECIFIED) return [];
  return (Object.keys(STATES) as TaskView['state'][]).filter((ours) => STATES[ours] === state);
}

/** `question`: the task waits for a decision, and this is its title. */
export function statusOf(task: TaskView, question?: string): TaskStatus {
  const state = question === undefined ? STATES[task.state] : TaskState.TASK_STATE_INPUT_REQUIRED;
  const text = question ?? (task.state === 'failed' ? failureOf(task) : undefined);
  const at = task.finishedAt ?? task.startedAt ?? task.createdAt;
  return {
    state,
    message: text === undefined ? undefined : messageOf(task, text),
    timestamp: new Date(at).toISOString(),
  };
}

export function taskOf(task: TaskView, question: string | undefined, history: Message[]): Task {
  return {
    id: task.id,
    contextId: contextOf(task) ?? '',
    status: statusOf(task, question),
    artifacts: task.state === 'completed' ? [resultOf(task)] : [],
    history,
    metadata: { queue: task.queue, handler: task.handler, attempt: task.attempt, tries: task.tries },
  };
}

export function resultOf(task: TaskView): Artifact {
  return {
    artifactId: 'result',
    name: 'result',
    description: '',
    parts: [
      {
        content: { $case: 'data', value: task.result ?? null },
        metadata: undefined,
        filename: '',
        mediaType: 'application/json',
      },
    ],
    metadata: undefined,
    extensions: [],
  };
}

function failureOf({ error, reason }: TaskView): string {
  const message = (error as { readonly message?: unknown } | undefined)?.message;
  return typeof message === 'string' ? message : (reason ?? 'it failed');
}

function messageOf(task: TaskView, text: string): Message {
  return {
    messageId: `${task.id}.${task.attempt}`,
    contextId: contextOf(task) ?? '',
    taskId: task.id,
    role: Role.ROLE_AGENT,
    parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: 'text/plain' }],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

function wrong(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}
