import { EngineError } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import type { Agent } from '../../flow/agent/definition.ts';
import { outputSchema } from '../../flow/agent/output-fields.ts';
import { outputInstruction, type Prompts, renderPrompts } from '../../flow/agent/prompt.ts';
import type { AgentResult, Message } from '../../flow/agent/result.ts';
import type { Value, ValueMap } from '../../flow/expression/values.ts';
import { StateError } from '../../flow/machine/scopes.ts';
import { askEndpoint, type Reach } from './chat-endpoint.ts';
import type { AgentExecutor, CallOptions, ToolTurn } from './executor.ts';
import { heldToOutput } from './held-to-output.ts';
import { connectedTools } from './mcp/mcp-tools.ts';
import { type ModelSettings, modelSettings } from './model-settings.ts';

export interface ChatSurroundings {
  readonly environment: () => Readonly<Record<string, string | undefined>>;
  /** Variables that may go to any address that an agent names. Undefined: all of them. */
  readonly sendable?: ReadonlySet<string> | undefined;
  readonly world: Pick<World, 'clock' | 'timers'>;
  readonly reach: Reach;
  /** Where servers of its tools run that are programs; false: none are started. Default: in this folder. */
  readonly folder?: string | false;
}

const DEFAULT_SYSTEM = 'You are a helpful assistant.';

/** An agent that is a prompt and a model behind an endpoint. */
export function chatAgent(agent: Agent, around: ChatSurroundings): AgentExecutor {
  const chat = new ChatAgent(agent, around);
  const { mcp } = agent;
  const { folder = '.', environment, sendable, reach } = around;
  return {
    ...(mcp === undefined
      ? {}
      : { connect: (scope, signal) => connectedTools(mcp, { folder, environment, sendable, reach }, scope, signal) }),
    metadata: agent.metadata,
    tools: agent.tools,
    execute: async (input, call) => {
      const { system, user } = chat.prompts(input, call);
      const tools = agent.tools.map(({ type, function: inner }) => ({ type, function: inner }));
      return heldToOutput(agent, await chat.ask([system, { role: 'user', content: user }], { tools }, call));
    },
    executeWithTools: async (input, turn, call) => {
      const { system, user } = chat.prompts(input, call);
      const { messages } = turn;
      const own = messages ?? [{ role: 'user', content: user }];
      const result = await chat.ask([system, ...own], turn, call);
      return messages === undefined ? { ...result, rendered_user_prompt: user } : result;
    },
  };
}

class ChatAgent {
  readonly #agent: Agent;
  readonly #around: ChatSurroundings;

  constructor(agent: Agent, around: ChatSurroundings) {
    this.#agent = agent;
    this.#around = around;
  }

  prompts(input: Value, { connected }: CallOptions): { readonly system: Message; readonly user: string } {
    const { system = DEFAULT_SYSTEM, user }: Prompts = renderPrompts(this.#agent, input, connected?.listed);
    const instruction = outputInstruction(this.#agent);
    const content = instruction === undefined ? system : `${system}\n\n${instruction}`;
    return { system: { role: 'system', content }, user };
  }

  /** The settings are read for each call: a key may have been changed. */
  async ask(
    messages: readonly Message[],
    { tools }: Pick<ToolTurn, 'tools'>,
    { key, signal, onEvent, sessionName }: CallOptions,
  ): Promise<AgentResult> {
    const { environment, world, reach } = this.#around;
    const settings = this.#settings(environment());
    const body = {
      messages,
      ...(tools.length === 0 ? this.#format(settings) : { tools }),
      ...this.#cacheKey(sessionName),
    };
    return askEndpoint(settings, { body, key, signal, onEvent }, world, reach);
  }

  /** A profile that leads nowhere does so at the next try as well. */
  #settings(environment: Readonly<Record<string, string | undefined>>): ModelSettings {
    try {
      return modelSettings(this.#agent.profile.config, this.#agent.name, environment, this.#around.sendable);
    } catch (error) {
      if (error instanceof EngineError) throw new StateError('ValidationError', [error.message, error.hint].join(' '));
      throw error;
    }
  }

  /** An endpoint remembers nothing but the beginning of a chain, and that only where its profile says that it understands the key. */
  #cacheKey(session: string | undefined): ValueMap {
    const understands = this.#agent.profile.config['session'] === 'resume';
    return understands && session !== undefined ? { prompt_cache_key: session } : {};
  }

  /** With tools some endpoints answer in JSON instead of calling one. */
  #format({ responseFormat }: ModelSettings): ValueMap {
    const { output } = this.#agent;
    if (output.size === 0 || responseFormat === 'none') return {};
    if (responseFormat === 'json_object') return { response_format: { type: 'json_object' } };
    const schema = { name: 'answer', schema: outputSchema(output) };
    return { response_format: { type: 'json_schema', json_schema: schema } };
  }
}
