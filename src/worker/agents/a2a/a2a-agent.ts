/**
 * An A2A agent, asked over the official SDK. Its task is the work: the id is kept as soon as it is known, so that another attempt at the step
 * hears how that task goes on, and sends nothing again. A cancel goes to the task too; a crash, a lost lease or a shutdown leave it alone.
 */
import { createHash } from 'node:crypto';
import type { Message, SendMessageRequest, StreamResponse } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import { pause } from '../../../core/pause.ts';
import type { Agent } from '../../../flow/agent/definition.ts';
import type { AgentResult } from '../../../flow/agent/result.ts';
import { isMap, type Value } from '../../../flow/expression/values.ts';
import { StateError } from '../../../flow/machine/scopes.ts';
import { StopError } from '../../runner/inline-runner.ts';
import type { AgentExecutor, CallOptions } from '../executor.ts';
import { broken } from '../gateway/answer.ts';
import { errorOf, type GatewaySurroundings, promptOf, settingsOf, withoutToken } from '../gateway/gateway-agent.ts';
import { GatewayFailed } from '../gateway/session.ts';
import type { GatewayKind, GatewaySettings } from '../gateway/settings.ts';
import { heldToOutput } from '../held-to-output.ts';
import { withinMs } from '../within.ts';
import { A2aAnswer, AUTH, CANCELED, COMPLETED, FAILED, otherTask } from './answer.ts';
import { clientFor } from './client.ts';

const A2A: GatewayKind = {
  name: 'an A2A agent',
  known: ['url', 'base_url', 'token_env', 'metadata', 'timeout', 'type', 'name'],
  tokens: [],
};

const POLL_MS = 1_000;
const LONGEST_POLL_MS = 15_000;
const CANCEL_MS = 3_000;

export function a2aAgent(agent: Agent, around: GatewaySurroundings): AgentExecutor {
  return {
    metadata: agent.metadata,
    tools: [],
    execute: async (input, call) => heldToOutput(agent, await asked(agent, input, call, around)),
  };
}

async function asked(agent: Agent, input: Value, call: CallOptions, around: GatewaySurroundings): Promise<AgentResult> {
  const settings = settingsOf(agent, around, A2A);
  const prompt = promptOf(agent, input);
  const { signal, onEvent } = call;
  const answer = new A2aAnswer(onEvent);
  const facts = isMap(input) && isMap(input['context']) ? input['context'] : {};
  try {
    const result = await withinMs(around.world.timers, settings.timeoutMs, signal, (stop) =>
      new Conversation({ settings, around, call, answer, prompt, facts, stop }).end(),
    );
    return withoutToken(result, settings);
  } catch (error) {
    const isCancelled = signal.aborted && signal.reason instanceof StopError && signal.reason.why === 'cancelled';
    const isLate = error instanceof StateError && error.type === 'TimeoutError';
    if (isCancelled || isLate) await cancelled(settings, around, answer);
    signal.throwIfAborted();
    if (error instanceof StateError && error.type === 'Parked') throw error;
    return withoutToken({ error: errorOf(causeOf(error)), finish_reason: 'error', ...answer.session }, settings);
  }
}

/** Nobody waits for the task any more. It may have ended by now. */
async function cancelled(
  settings: GatewaySettings,
  { reach }: GatewaySurroundings,
  { task }: A2aAnswer,
): Promise<void> {
  if (task === undefined) return;
  const signal = AbortSignal.timeout(CANCEL_MS);
  try {
    const client = await clientFor(settings, reach, signal);
    await client.cancelTask({ tenant: '', id: task, metadata: undefined });
  } catch {
    // It was told, or cannot be.
  }
}

interface ConversationDeps {
  readonly settings: GatewaySettings;
  readonly around: GatewaySurroundings;
  readonly call: CallOptions;
  readonly answer: A2aAnswer;
  readonly prompt: string;
  readonly facts: object;
  readonly stop: AbortSignal;
}

class Conversation {
  readonly #deps: ConversationDeps;
  #kept: string | undefined;
  /** The question that was answered last: the agent may still show it for a while. */
  #answeredPlace: string | undefined;

  constructor(deps: ConversationDeps) {
    this.#deps = deps;
  }

  async end(): Promise<AgentResult> {
    const { settings, around, call, answer, stop } = this.#deps;
    const client = await clientFor(settings, around.reach, stop);
    const before = await call.memory?.newest();
    const known = before?.['task'];
    const isThere = typeof known === 'string' && (await this.#found(client, known));
    if (isThere) {
      this.#kept = known;
      call.onEvent?.({ type: 'resumed', data: { message: `task ${known}` } });
    } else await this.#hear(client.sendMessageStream(this.#request('', this.#deps.prompt)));
    for (;;) {
      if (answer.isMessage) return answer.result();
      const { state, task } = answer;
      if (state === COMPLETED) return answer.result();
      if (answer.isEnded) throw new GatewayFailed(ending(state as number, answer.words));
      if (task === undefined)
        throw new GatewayFailed(broken('BadAnswer', 'it says neither a task nor a message', true));
      if (this.#isOver) await this.#hear(client.sendMessageStream(await this.#answered(task)));
      else await this.#follow(client, task);
    }
  }

  /** The task, as it stands. False: the agent has lost it. */
  async #found(client: Client, id: string): Promise<boolean> {
    try {
      const task = await client.getTask({ tenant: '', id });
      if (task.id !== id) throw new GatewayFailed(otherTask(id));
      this.#deps.answer.whole(task);
      return true;
    } catch (error) {
      if (nameOf(error) === 'TaskNotFoundError') return false;
      throw error;
    }
  }

  /** Until it has something to say: over a stream, or by asking again where the agent has none. */
  async #follow(client: Client, id: string): Promise<void> {
    const { around, stop } = this.#deps;
    try {
      await this.#hear(client.resubscribeTask({ tenant: '', id }));
    } catch (error) {
      if (!WITHOUT_STREAM.has(nameOf(error))) throw error;
    }
    for (let ms = POLL_MS; !this.#isOver; ) {
      await pause(around.world.timers, ms, { signal: stop });
      stop.throwIfAborted();
      if (!(await this.#found(client, id)))
        throw new GatewayFailed(broken('TaskLost', 'it does not know its task any more', true));
      ms = Math.min(ms * 2, LONGEST_POLL_MS);
    }
  }

  /** No longer than it has something to say: an agent that has answered may leave its stream open, or answer once more. */
  async #hear(stream: AsyncIterable<StreamResponse>): Promise<void> {
    const { answer, call, stop } = this.#deps;
    for await (const one of stream) {
      stop.throwIfAborted();
      answer.take(one);
      const { task, context } = answer;
      if (task !== undefined && task !== this.#kept) {
        this.#kept = task;
        await call.memory?.keep({ task, ...(context === undefined ? {} : { context }) });
      }
      if (this.#isOver) break;
    }
    stop.throwIfAborted();
  }

  /** It has answered, or asks something that nobody has answered so far. */
  get #isOver(): boolean {
    const { answer } = this.#deps;
    if (answer.isMessage || answer.isEnded) return true;
    return answer.asks && answer.task !== undefined && this.#placeOf(answer.task) !== this.#answeredPlace;
  }

  #placeOf = (task: string): string => hashOf(`${task} ${this.#deps.answer.question}`);

  /** What a person says to what the agent asks. */
  async #answered(task: string): Promise<SendMessageRequest> {
    const { answer, call, settings } = this.#deps;
    const { words, state } = answer;
    const place = this.#placeOf(task);
    const asks = words === '' ? 'it does not say what' : words;
    if (state === AUTH) throw new GatewayFailed(broken('AuthRequired', `it asks for a login: ${asks}`, false));
    if (call.ask === undefined) throw new GatewayFailed(broken('InputRequired', `it asks a person: ${asks}`, false));
    const { action, value } = await call.ask(`input:${place}`, {
      title: `${call.key.split('/')[0]}: the agent asks: ${asks}`.slice(0, 500),
      actions: ['answer', 'stop'],
      context: { agent: settings.base.origin, task, question: words },
    });
    this.#answeredPlace = place;
    if (action !== 'answer') throw new GatewayFailed(broken('InputRequired', `nobody answered: ${asks}`, false));
    return this.#request(task, typeof value === 'string' ? value : JSON.stringify(value ?? 'yes'), place);
  }

  /** A message has the same id in every attempt: an agent that knows it has it already. */
  #request(task: string, text: string, place = ''): SendMessageRequest {
    const { call, answer, settings, facts } = this.#deps;
    const part = {
      content: { $case: 'text', value: text } as const,
      metadata: undefined,
      filename: '',
      mediaType: 'text/plain',
    };
    const message: Message = {
      messageId: hashOf(`${call.memory?.key ?? call.key} ${place}`),
      contextId: answer.context ?? call.sessionId ?? '',
      taskId: task,
      role: 1,
      parts: [part],
      metadata: { ...settings.metadata, ...(task === '' ? facts : {}) },
      extensions: [],
      referenceTaskIds: [],
    };
    const configuration = { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: false };
    return { tenant: '', message, configuration, metadata: undefined };
  }
}

const WITHOUT_STREAM: ReadonlySet<string> = new Set([
  'UnsupportedOperationError',
  'MethodNotFoundError',
  'TaskNotFoundError',
]);

/** The client has errors of its own around ours. */
function causeOf(error: unknown): unknown {
  for (let one = error; one instanceof Error; one = one.cause) {
    if (one instanceof GatewayFailed || one instanceof StateError || 'code' in one) return one;
  }
  return error;
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '');

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 40);

function ending(state: number, words: string): ReturnType<typeof broken> {
  const how = state === FAILED ? 'failed' : state === CANCELED ? 'was cancelled there' : 'was rejected';
  return broken('TaskFailed', `its task ${how}${words === '' ? '' : `: ${words}`}`, false);
}
