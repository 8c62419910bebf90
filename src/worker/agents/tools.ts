/** The tools of a tool loop: functions that are registered, and those that hooks provide. */
import type { AgentToolDefinition } from '../../flow/agent/definition.ts';
import { toolDefinitionOf } from '../../flow/agent/read-agent.ts';
import type { ToolDefinition } from '../../flow/agent/result.ts';
import { type ReplayPolicy, replayPolicyOf } from '../../flow/agent/tool-loop-options.ts';
import { isMap, type Value, type ValueMap } from '../../flow/expression/values.ts';

import type { ConnectedTools } from './mcp/mcp-tools.ts';
import type { ToolResult } from './tool-result.ts';

/** What comes with the arguments of a tool call. */
export interface ToolCallOptions {
  readonly id: string;
  /** The same for every attempt at this call. */
  readonly key: string;
  /** An earlier attempt may have made this call already. */
  readonly again: boolean;
  readonly signal: AbortSignal;
  readonly context: ValueMap;
}

export interface AgentTool {
  readonly description?: string;
  /** A JSON schema. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** What to do if a crash interrupts it; default `exact`. */
  readonly replay?: ReplayPolicy;
  run(args: Readonly<Record<string, unknown>>, call: ToolCallOptions): unknown;
  /** Of a call that a crash has cut off: what it gave if it has happened, `undefined` if it has not. */
  lookup?(args: Readonly<Record<string, unknown>>, call: Pick<ToolCallOptions, 'id' | 'key' | 'signal'>): unknown;
}

/** Hooks may give one. Names of Python (`execute_tool`) are taken as well. */
export interface ToolProvider {
  getToolDefinitions?(): unknown;
  executeTool?(name: string, id: string, args: Readonly<Record<string, unknown>>, call: ToolCallOptions): unknown;
}

/** More than this of a result is cut off: it goes into the next prompt, and into every one after it. */
const MOST_CONTENT = 256 * 1024;

export class ToolBox {
  readonly #tools: ReadonlyMap<string, AgentTool>;
  readonly #provider: ToolProvider | undefined;
  readonly #definitions: ReadonlyMap<string, AgentToolDefinition>;
  /** Tools of servers, but for those that a function or the provider stands in for. */
  readonly #connected: ConnectedTools | undefined;
  readonly #ofServers: ReadonlySet<string>;

  private constructor(
    tools: ReadonlyMap<string, AgentTool>,
    provider: ToolProvider | undefined,
    definitions: ReadonlyMap<string, AgentToolDefinition>,
    connected: ConnectedTools | undefined,
    ofServers: ReadonlySet<string>,
  ) {
    this.#connected = connected;
    this.#ofServers = ofServers;
    this.#tools = tools;
    this.#provider = provider;
    this.#definitions = definitions;
  }

  /** The provider of the hooks goes before functions, these before servers, and all before what the agent's file says of a tool. */
  static async of(
    tools: ReadonlyMap<string, AgentTool>,
    provider: ToolProvider | undefined,
    own: readonly AgentToolDefinition[],
    connected?: ConnectedTools,
  ): Promise<ToolBox> {
    const given = provider === undefined ? undefined : await methodOf(provider, 'getToolDefinitions')?.call(provider);
    const provided = (Array.isArray(given) ? given : []).flatMap((one: unknown) => toolDefinitionOf(one) ?? []);
    const registered = [...tools].map(([name, { description, parameters, replay }]): AgentToolDefinition => {
      const file = own.find((one) => one.function.name === name);
      return {
        type: 'function',
        function: {
          ...file?.function,
          name,
          ...(description === undefined ? {} : { description }),
          ...(parameters === undefined ? {} : { parameters }),
        },
        ...(replay === undefined ? {} : { replay }),
      };
    });
    const served = connected?.definitions ?? [];
    // Functions that the file does not name are for other agents, unless it names none at all.
    const named = [...own, ...served];
    const meant = registered.filter(
      ({ function: { name } }) => named.length === 0 || named.some((one) => one.function.name === name),
    );
    const others = new Set([...meant, ...provided].map((one) => one.function.name));
    const ofServers = served.map((one) => one.function.name).filter((name) => !others.has(name));
    const all = [...own, ...served, ...meant, ...provided];
    const definitions = new Map(all.map((one) => [one.function.name, one]));
    return new ToolBox(tools, provider, definitions, connected, new Set(ofServers));
  }

  /** What the model is told of them. */
  definitions(isAllowed: (name: string) => boolean): readonly ToolDefinition[] {
    return [...this.#definitions.values()]
      .filter((one) => isAllowed(one.function.name))
      .map(({ type, function: inner }) => ({ type, function: inner }));
  }

  /** The names by which a machine may mean this tool. */
  namesOf(name: string): readonly string[] {
    const qualified = this.#ofServers.has(name) ? this.#connected?.qualified(name) : undefined;
    return qualified === undefined ? [name] : [name, qualified];
  }

  /** A tool that nobody has said anything about may do anything. */
  policyOf(name: string): ReplayPolicy {
    return replayPolicyOf(this.#definitions.get(name)?.replay) ?? 'exact';
  }

  /** Undefined: nobody can say whether a call has happened. */
  lookup(
    name: string,
    args: Value,
    call: Pick<ToolCallOptions, 'id' | 'key' | 'signal'>,
  ): (() => Promise<unknown>) | undefined {
    const tool = this.#provider === undefined ? this.#tools.get(name) : undefined;
    if (tool?.lookup === undefined || !isMap(args)) return undefined;
    return async () => {
      const found = await tool.lookup?.(args, call);
      return found === undefined ? undefined : toolResultOf(found);
    };
  }

  /** Rejects with what the tool throws. */
  async run(name: string, args: Value, call: ToolCallOptions): Promise<ToolResult> {
    if (!isMap(args)) return { content: `The arguments of '${name}' are not a JSON object.`, isError: true };
    if (this.#ofServers.has(name) && this.#connected !== undefined)
      return toolResultOf(await this.#connected.run(name, args, call.signal));
    const provider = this.#provider;
    const execute = provider === undefined ? undefined : methodOf(provider, 'executeTool');
    const tool = this.#tools.get(name);
    if (execute !== undefined) return toolResultOf(await execute.call(provider, name, call.id, args, call));
    if (tool !== undefined) return toolResultOf(await tool.run(args, call));
    return { content: `No tool provider configured for '${name}'`, isError: true };
  }
}

function toolResultOf(value: unknown): ToolResult {
  if (isMap(value) && 'content' in value) {
    return { content: contentOf(value['content']), isError: value['is_error'] === true || value['isError'] === true };
  }
  return { content: contentOf(value), isError: false };
}

function contentOf(value: unknown): string {
  const text = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
  return text.length > MOST_CONTENT ? `${text.slice(0, MOST_CONTENT).toWellFormed()}\n[cut off]` : text;
}

type Method = (this: unknown, ...given: readonly unknown[]) => unknown;

function methodOf(provider: ToolProvider, name: string): Method | undefined {
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const methods = provider as unknown as Readonly<Record<string, unknown>>;
  const method = methods[name] ?? methods[snake];
  return typeof method === 'function' ? (method as Method) : undefined;
}
