/** Agents and tools that a program brings: functions, by their names. */
import { type AgentResult, type Message, resultOf, type ToolDefinition } from '../../flow/agent/result.ts';
import type { Value } from '../../flow/expression/values.ts';
import type { AgentExecutor, CallOptions } from './executor.ts';
import type { AgentTool } from './tools.ts';

type Input = Readonly<Record<string, unknown>>;

/** What a function is told besides its input. */
export interface AgentFunctionCall extends CallOptions {
  /** In a tool loop: the tools that may be called, and the chain so far. */
  readonly tools?: readonly ToolDefinition[];
  readonly messages?: readonly Message[] | undefined;
}

/**
 * Gives a text, a map, or any part of an `AgentResult`. In a tool loop `finish_reason: tool_use` with `tool_calls` asks for tools.
 */
export type AgentFunction = (input: Input, call: AgentFunctionCall) => unknown;

export class AgentRegistry {
  readonly #agents = new Map<string, AgentFunction>();
  readonly #tools = new Map<string, AgentTool>();

  /** An agent of a machine with this name is this function, whatever its file says. */
  agent(name: string, run: AgentFunction): this {
    this.#agents.set(name, run);
    return this;
  }

  tool(name: string, tool: AgentTool | AgentTool['run']): this {
    this.#tools.set(name, typeof tool === 'function' ? { run: tool } : tool);
    return this;
  }

  find(name: string): AgentExecutor | undefined {
    const run = this.#agents.get(name);
    return run === undefined ? undefined : functionAgent(run);
  }

  get names(): readonly string[] {
    return [...this.#agents.keys()].sort();
  }

  get tools(): ReadonlyMap<string, AgentTool> {
    return this.#tools;
  }
}

function functionAgent(run: AgentFunction): AgentExecutor {
  const asked = async (input: Value, call: AgentFunctionCall): Promise<AgentResult> => {
    call.signal.throwIfAborted();
    return resultOf(await run(input as Input, call));
  };
  return {
    metadata: {},
    tools: [],
    execute: asked,
    executeWithTools: (input, { tools, messages }, call) => asked(input, { ...call, tools, messages }),
  };
}
