import { type Message, type Part, Role } from '@a2a-js/sdk';
import type { Engine } from '../../engine/engine.ts';
import type { TaskView } from '../../operate/views.ts';
import { contextOf, messageIdOf } from './convert.ts';

/** What a person or another agent has decided, as a wait has received it. */
interface Decision {
  readonly action?: unknown;
  readonly value?: unknown;
}

/**
 * The messages of a task, the oldest first: the one that made it, then questions and the decisions on them. They are read from the task itself, so
 * that every node shows the same. Of a wait that another one has followed only the decision is kept, and not its question.
 */
export async function historyOf(engine: Engine, task: TaskView, most: number | undefined): Promise<Message[]> {
  if (most !== undefined && most <= 0) return [];
  const first = messageOf(task, Role.ROLE_USER, messageIdOf(task) ?? task.id, inputPart(task.input), {
    handler: task.handler,
    queue: task.queue,
  });
  const later = task.attempt === 0 ? [] : await laterMessages(engine, task);
  const all = [first, ...later];
  return most === undefined ? all : all.slice(-most);
}

async function laterMessages(engine: Engine, task: TaskView): Promise<readonly Message[]> {
  const number = engine.parseId(task.id);
  const [journal, last] = await Promise.all([engine.journal(number), engine.waits.of(number)]);
  const outcomes = journal.filter(({ kind }) => kind === 'wait');
  const messages = outcomes.flatMap(({ key, value }) => {
    const { value: decision } = parsed(value) as { readonly value?: Decision };
    return decisionMessage(task, key, decision);
  });
  // The outcome of the last wait goes into the journal with the next turn, which may never come.
  if (last?.outcome !== 'woken' || last.form === undefined) return messages;
  const key = `wait:${last.key}`;
  const before = messages.filter(({ messageId }) => messageId !== `${task.id}.${key}`);
  const { title } = parsed(last.form) as { readonly title?: unknown };
  const question =
    typeof title === 'string' ? [messageOf(task, Role.ROLE_AGENT, `${task.id}.${key}.question`, textPart(title))] : [];
  return [...before, ...question, ...decisionMessage(task, key, parsed(last.body) as Decision)];
}

function decisionMessage(task: TaskView, key: string, decision: Decision | undefined): readonly Message[] {
  const { action, value } = decision ?? {};
  if (typeof action !== 'string') return [];
  const part = value === undefined ? textPart(action) : dataPart({ action, value });
  return [messageOf(task, Role.ROLE_USER, `${task.id}.${key}`, part)];
}

/** Texts became `{text}`. */
function inputPart(input: unknown): Part {
  const { text, ...more } = (typeof input === 'object' ? (input ?? {}) : {}) as Record<string, unknown>;
  return typeof text === 'string' && Object.keys(more).length === 0 ? textPart(text) : dataPart(input ?? null);
}

function textPart(value: string): Part {
  return { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' };
}

function dataPart(value: unknown): Part {
  return { content: { $case: 'data', value }, metadata: undefined, filename: '', mediaType: 'application/json' };
}

function messageOf(task: TaskView, role: Role, messageId: string, part: Part, metadata?: Message['metadata']): Message {
  return {
    messageId,
    contextId: contextOf(task) ?? '',
    taskId: task.id,
    role,
    parts: [part],
    metadata,
    extensions: [],
    referenceTaskIds: [],
  };
}

function parsed(text: string | undefined): unknown {
  const value: unknown = text === undefined ? undefined : JSON.parse(text);
  return typeof value === 'object' && value !== null ? value : {};
}
