/** What an A2A agent has said of one task. An agent may be broken or hostile: nothing is believed to be of a form. */
import type { Artifact, Message, Part, StreamResponse, Task, TaskStatus } from '@a2a-js/sdk';
import type { AgentError, AgentResult } from '../../../flow/agent/result.ts';
import { isMap, type Value, type ValueMap } from '../../../flow/expression/values.ts';
import { broken } from '../gateway/answer.ts';
import { GatewayFailed } from '../gateway/session.ts';

const MOST_TEXT = 4 * 1024 * 1024;
const MOST_ARTIFACTS = 100;
const MOST_EVENTS = 100_000;
const MOST_WORDS = 2_000;
const ID = /^[\w.:-]{1,200}$/;

/** `TaskState`, which is not loaded for its numbers. */
export const [COMPLETED, FAILED, CANCELED, INPUT, REJECTED, AUTH] = [3, 4, 5, 6, 7, 8];
const ENDS: ReadonlySet<number> = new Set([COMPLETED, FAILED, CANCELED, REJECTED] as number[]);
const ASKS: ReadonlySet<number> = new Set([INPUT, AUTH] as number[]);

interface HeldArtifact {
  readonly name: string;
  texts: string[];
  data: Value[];
}

export class A2aAnswer {
  readonly #artifacts = new Map<string, HeldArtifact>();
  readonly #onEvent: ((event: ValueMap) => void) | undefined;
  #length = 0;
  #events = 0;
  #task: string | undefined;
  #context: string | undefined;
  #status: TaskStatus | undefined;
  #message: Message | undefined;

  constructor(onEvent: ((event: ValueMap) => void) | undefined) {
    this.#onEvent = onEvent;
  }

  /** Undefined: it has not said so, or not so that it could be asked for it. */
  get task(): string | undefined {
    return this.#task;
  }

  get context(): string | undefined {
    return this.#context;
  }

  /** As a number of `TaskState`. */
  get state(): number {
    return this.#status?.state ?? 0;
  }

  /** It answered with a message in place of a task. */
  get isMessage(): boolean {
    return this.#message !== undefined;
  }

  /** Its task has come to its end. */
  get isEnded(): boolean {
    return ENDS.has(this.state);
  }

  /** It waits for somebody to tell it something. */
  get asks(): boolean {
    return ASKS.has(this.state);
  }

  get words(): string {
    return textOf(this.#status?.message?.parts).slice(0, MOST_WORDS);
  }

  /** Differs with each question. */
  get question(): string {
    const { message, timestamp } = this.#status ?? {};
    return `${message?.messageId ?? ''} ${timestamp ?? ''} ${this.words}`;
  }

  /** Throws `GatewayFailed` for what is beyond the bounds. */
  take({ payload }: StreamResponse): void {
    if (++this.#events > MOST_EVENTS)
      throw new GatewayFailed(broken('TooMany', `it says more than ${MOST_EVENTS} events`, false));
    switch (payload?.$case) {
      case 'task':
        return this.whole(payload.value);
      case 'message':
        this.#names(payload.value.taskId, payload.value.contextId);
        this.#message = payload.value;
        this.#bound(textOf(payload.value.parts), dataOf(payload.value.parts));
        return this.#words(textOf(payload.value.parts));
      case 'statusUpdate':
        this.#names(payload.value.taskId, payload.value.contextId);
        return this.#takeStatus(payload.value.status);
      case 'artifactUpdate': {
        const { artifact, append, taskId, contextId } = payload.value;
        this.#names(taskId, contextId);
        if (artifact !== undefined) this.#takeArtifact(artifact, append, true);
        return;
      }
      case undefined:
        return;
    }
  }

  /** All of the task as it stands now. */
  whole({ id, contextId, status, artifacts }: Task): void {
    this.#names(id, contextId);
    this.#artifacts.clear();
    this.#length = 0;
    for (const artifact of artifacts) this.#takeArtifact(artifact, false, false);
    this.#takeStatus(status);
  }

  result(): AgentResult {
    const held = [...this.#artifacts.values()];
    const data = [...held.flatMap((one) => one.data), ...dataOf(this.#message?.parts)];
    const texts = held.map(({ texts: own }) => own.join('')).filter((text) => text !== '');
    const text = texts.length > 0 ? texts.join('\n\n') : textOf(this.#message?.parts) || this.words;
    const [only] = data;
    const output = data.length === 1 && isMap(only) ? only : data.length > 0 ? { content: text, data } : undefined;
    const names = held.map(({ name }) => name).filter((name) => name !== '');
    return {
      ...(output === undefined ? {} : { output }),
      content: text === '' && data.length === 1 ? JSON.stringify(only) : text,
      finish_reason: 'stop',
      metadata: {
        ...(this.#task === undefined ? {} : { task: this.#task }),
        ...(names.length === 0 ? {} : { artifacts: names }),
      },
      ...this.session,
    };
  }

  /** The context: by it the next task goes on with the conversation. */
  get session(): { readonly session_id?: string } {
    return this.#context === undefined ? {} : { session_id: this.#context };
  }

  /** What an agent says of another task belongs to somebody else. */
  #names(task: unknown, context: unknown): void {
    if (typeof task === 'string' && task !== '' && this.#task !== undefined && task !== this.#task) {
      throw new GatewayFailed(otherTask(this.#task));
    }
    if (typeof task === 'string' && ID.test(task)) this.#task ??= task;
    if (typeof context === 'string' && ID.test(context)) this.#context ??= context;
  }

  #takeStatus(status: TaskStatus | undefined): void {
    if (status === undefined) return;
    const before = [this.state, this.words].join(' ');
    this.#status = status;
    if ([this.state, this.words].join(' ') === before) return;
    this.#onEvent?.({ type: 'status', data: { message: this.words, state: this.state } });
  }

  #takeArtifact({ artifactId, name, parts }: Artifact, append: boolean, tells: boolean): void {
    const known = this.#artifacts.get(artifactId);
    const held: HeldArtifact =
      append && known !== undefined ? known : { name: String(name ?? '').slice(0, 200), texts: [], data: [] };
    this.#artifacts.set(artifactId, held);
    if (this.#artifacts.size > MOST_ARTIFACTS) {
      throw new GatewayFailed(broken('TooMany', `it made more than ${MOST_ARTIFACTS} artifacts`, false));
    }
    const text = textOf(parts);
    const data = dataOf(parts);
    this.#bound(text, data);
    held.texts.push(text);
    held.data.push(...data);
    if (tells) this.#words(text);
  }

  #bound(text: string, data: readonly Value[]): void {
    this.#length += text.length + data.reduce<number>((sum, one) => sum + (JSON.stringify(one) ?? '').length, 0);
    if (this.#length <= MOST_TEXT) return;
    throw new GatewayFailed(broken('TooLong', `its answer has more than ${MOST_TEXT} characters`, false));
  }

  #words(text: string): void {
    if (text !== '') this.#onEvent?.({ type: 'text', data: { text } });
  }
}

export const otherTask = (asked: string): AgentError =>
  broken('OtherTask', `it tells of another task than ${asked}, which it was asked for`, false);

function textOf(parts: readonly Part[] | undefined): string {
  const texts = (parts ?? []).map(({ content }) => (content?.$case === 'text' ? content.value : ''));
  return texts.filter((one) => typeof one === 'string' && one !== '').join('\n');
}

function dataOf(parts: readonly Part[] | undefined): readonly Value[] {
  return (parts ?? []).flatMap(({ content }) => (content?.$case === 'data' ? [content.value as Value] : []));
}
