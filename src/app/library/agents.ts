/** What runs AI agents as tasks in a worker of a program. */
import { environment } from '../../config/environment.ts';
import { checkOptions } from '../../engine/check.ts';
import { AGENT_HANDLER } from '../../flow/agent/definition.ts';
import { AGENT_TRIES, type AgentInput, agentInput } from '../../worker/agent-run/agent-input.ts';
import type { AgentRunResult } from '../../worker/agent-run/agent-result.ts';
import type { AgentTaskOptions } from '../../worker/agent-run/agent-task.ts';
import type { AgentFunction } from '../../worker/agents/registry.ts';

import type { AgentTool } from '../../worker/agents/tools.ts';
import type { AnyTask, TaskDefinition } from '../../worker/define/definition.ts';
import { task } from '../../worker/define/task.ts';
import { realWorld } from '../world.ts';

export type { AgentFunction };

export interface AgentsOptions {
  /** Agents that are functions, by the names that tasks have for them: `gateway: "writer"`. */
  readonly agents?: Readonly<Record<string, AgentFunction>>;
  /** Tools for agents behind endpoints. */
  readonly tools?: Readonly<Record<string, AgentTool | AgentTool['run']>>;
  /** Private addresses that agents may be at besides public ones, as `--allow-http` takes them; default none. */
  readonly allowHttp?: readonly string[];
  /**
   * Variables of this process that may go to any address that a task names; default none. The key of a known provider, such as
   * `OPENAI_API_KEY`, goes to that provider in any case. With `programs` all of them can be read.
   */
  readonly env?: readonly string[];
  /** Tasks may start programs as their agents; default false, because whoever pushes a task names the program. */
  readonly programs?: boolean;
  /** Where programs run whose task names no workspace; default: the folder of the process. */
  readonly folder?: string;
}

/** Pushed with what the agent is to do. */
export type AgentTask = TaskDefinition<AgentInput, AgentRunResult>;

const KNOWN: ReadonlySet<string> = new Set([
  'agents',
  'tools',
  'allowHttp',
  'env',
  'programs',
  'folder',
] satisfies (keyof AgentsOptions)[]);

/** The handler `agent`: `app.worker({ tasks: [agents({ agents: { writer } })] })`. */
export function agents(options: AgentsOptions = {}): AgentTask {
  checkOptions('agents options', options, KNOWN);
  const { agents: functions = {}, tools = {}, allowHttp = [], env = [], programs = false, folder } = options;
  return agentHandler({
    functions,
    tools,
    allowHttp,
    programs,
    ...(programs ? {} : { sendable: new Set(env) }),
    ...(folder === undefined ? {} : { folder }),
  });
}

export interface AgentHandlerOptions
  extends Partial<Pick<AgentTaskOptions, 'allowHttp' | 'sendable' | 'programs' | 'folder' | 'environment'>> {
  readonly functions?: Readonly<Record<string, AgentFunction>>;
  readonly tools?: Readonly<Record<string, AgentTool | AgentTool['run']>>;
}

/** What runs agents is loaded with the first of them. */
export function agentHandler(options: AgentHandlerOptions = {}): AgentTask {
  let loaded: Promise<AnyTask> | undefined;
  const definition = task(AGENT_HANDLER, {
    maxAttempts: AGENT_TRIES,
    input: agentInput,
    // It prepares it itself: this is for the placement of its tasks.
    workspace: ({ workspace }) => (typeof workspace === 'object' ? workspace : undefined),
    run: () => {
      throw new Error('an agent is driven');
    },
  });
  return Object.freeze({
    ...definition,
    givesWay: true,
    drive: async (...given: Parameters<NonNullable<AnyTask['drive']>>) => {
      loaded ??= load(options);
      const { drive } = await loaded;
      return (drive as NonNullable<typeof drive>)(...given);
    },
  }) as unknown as AgentTask;
}

async function load({ functions = {}, tools = {}, ...options }: AgentHandlerOptions): Promise<AnyTask> {
  const [{ agentTask }, { AgentRegistry }] = await Promise.all([
    import('../../worker/agent-run/agent-task.ts'),
    import('../../worker/agents/registry.ts'),
  ]);
  const registry = new AgentRegistry();
  for (const [name, run] of Object.entries(functions)) registry.agent(name, run);
  for (const [name, tool] of Object.entries(tools)) registry.tool(name, tool);
  return agentTask({ world: realWorld(), agents: registry, environment, ...options });
}
