/** What runs machines in a worker of a program. */
import { checkOptions } from '../../engine/check.ts';
import type { AgentFunction } from '../../worker/agents/registry.ts';
import type { AgentTool } from '../../worker/agents/tools.ts';
import type { AnyTask } from '../../worker/define/definition.ts';
import type { HooksFactory, MachineHooks } from '../../worker/machine/machine-hooks.ts';
import { machineHandler } from '../machines/machine-handler.ts';

export interface MachinesOptions {
  /** Agents that are functions, before those of the same name that a machine brings. */
  readonly agents?: Readonly<Record<string, AgentFunction>>;
  /** Tools for agents in tool loops. */
  readonly tools?: Readonly<Record<string, AgentTool | AgentTool['run']>>;
  /** Hooks by the names that machines have for them. A function makes them anew for each attempt, with the arguments of the machine. */
  readonly hooks?: Readonly<Record<string, MachineHooks | HooksFactory>>;
  /** Private addresses that agents and webhooks may reach besides public ones, as `--allow-http` takes them; default none. */
  readonly allowHttp?: readonly string[];
  /**
   * Variables of this process that agents and MCP servers may send to any address that a machine names; default none. The key of a known
   * provider, such as `OPENAI_API_KEY`, goes to that provider in any case. With `programs` all of them can be read.
   */
  readonly env?: readonly string[];
  /** Machines may start programs as their agents; default false, because whoever starts a run brings its machine. */
  readonly programs?: boolean;
  /** Folders in which loops may work, by their names; default: none. With `programs` their commands may run there. */
  readonly loopRoots?: Readonly<Record<string, string>>;
  /** What is asked of the branches of loops with `workspace_source: git` is done here too; default false. The worker needs the option `workspaces`. */
  readonly clones?: boolean;
  /** Machines may import hooks from modules in this folder; default: from none. */
  readonly modules?: string;
  readonly onWarning?: (text: string) => void;
}

const KNOWN: ReadonlySet<string> = new Set([
  'agents',
  'tools',
  'hooks',
  'allowHttp',
  'env',
  'programs',
  'loopRoots',
  'clones',
  'modules',
  'onWarning',
] satisfies (keyof MachinesOptions)[]);

/** The handler `machine`: `app.worker({ tasks: [machines({ agents: { writer } })] })`. */
export function machines(options: MachinesOptions = {}): AnyTask {
  checkOptions('machines options', options, KNOWN);
  const {
    agents = {},
    tools = {},
    hooks = {},
    allowHttp = [],
    env = [],
    programs = false,
    loopRoots = {},
    clones = false,
    modules,
    onWarning,
  } = options;
  return machineHandler({
    given: { agents, tools, hooks },
    allowHttp,
    ...(programs ? {} : { sendable: new Set(env) }),
    programs,
    loopRoots,
    clones,
    ...(modules === undefined ? {} : { folder: modules, modules }),
    ...(onWarning === undefined ? {} : { onWarning }),
  });
}
