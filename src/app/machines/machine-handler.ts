/** The handler `machine` of a worker, and with roots for loops `loop-git` beside it: what runs machines is loaded with the first of them. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { environment } from '../../config/environment.ts';
import { MACHINE_HANDLER, MACHINE_QUEUE, MACHINE_TRIES } from '../../flow/machine/machine-run.ts';
import type { AgentFunction } from '../../worker/agents/registry.ts';
import type { AgentTool } from '../../worker/agents/tools.ts';
import type { AnyTask } from '../../worker/define/definition.ts';
import { task } from '../../worker/define/task.ts';
import { rootsOf, tagsOf } from '../../worker/loop/loop-host.ts';
import type { MachineTaskOptions } from '../../worker/machine/durable/machine-task.ts';
import type { HooksFactory, MachineHooks } from '../../worker/machine/machine-hooks.ts';
import { realWorld } from '../world.ts';
import { loopGitHandler } from './loop-git-handler.ts';

export interface GivenByName {
  readonly agents: Readonly<Record<string, AgentFunction>>;
  readonly tools: Readonly<Record<string, AgentTool | AgentTool['run']>>;
  /** A function makes them anew for each attempt. */
  readonly hooks: Readonly<Record<string, MachineHooks | HooksFactory>>;
}

export interface MachineHandlerOptions
  extends Partial<
    Pick<
      MachineTaskOptions,
      'hooks' | 'agents' | 'own' | 'allowHttp' | 'sendable' | 'programs' | 'folder' | 'onWarning' | 'onStep'
    >
  > {
  /** What a program brings, by the names that machines have for it. */
  readonly given?: GivenByName;
  /** Modules with hooks are imported from this folder; default: no modules. */
  readonly modules?: string;
  /** Folders in which loops may work, by their names; default: none. */
  readonly loopRoots?: Readonly<Record<string, string>> | undefined;
  /** Its worker makes workspaces of git: what is asked of runs in clones is done there as well. */
  readonly clones?: boolean | undefined;
}

export function machineHandler(options: MachineHandlerOptions = {}): AnyTask {
  const { clones = false, ...others } = options;
  const { loopRoots = {} } = others;
  let loaded: Promise<AnyTask> | undefined;
  const definition = task(MACHINE_HANDLER, {
    queue: MACHINE_QUEUE,
    maxAttempts: MACHINE_TRIES,
    run: () => {
      throw new Error('a machine is driven');
    },
  });
  return Object.freeze({
    ...definition,
    givesWay: true,
    // Runs of loops look for the workers that have their root.
    workerTags: tagsOf(Object.keys(loopRoots)),
    brings: Object.keys(loopRoots).length > 0 || clones ? [loopGitHandler(loopRoots)] : [],
    drive: async (...given: Parameters<NonNullable<AnyTask['drive']>>) => {
      loaded ??= load(others);
      const { drive } = await loaded;
      return (drive as NonNullable<typeof drive>)(...given);
    },
  });
}

async function load({
  modules,
  hooks,
  agents,
  given,
  loopRoots,
  ...options
}: Omit<MachineHandlerOptions, 'clones'>): Promise<AnyTask> {
  const [{ machineTask }, { HooksRegistry }, { AgentRegistry }, { shippedMachines }] = await Promise.all([
    import('../../worker/machine/durable/machine-task.ts'),
    import('../../worker/machine/hooks-registry.ts'),
    import('../../worker/agents/registry.ts'),
    import('./shipped.ts'),
  ]);
  const { allowHttp } = options;
  const named = hooks ?? new HooksRegistry(allowHttp === undefined ? {} : { allow: allowHttp });
  const registry = agents ?? new AgentRegistry();
  for (const [name, run] of Object.entries(given?.agents ?? {})) registry.agent(name, run);
  for (const [name, tool] of Object.entries(given?.tools ?? {})) registry.tool(name, tool);
  for (const [name, one] of Object.entries(given?.hooks ?? {})) {
    named.register(name, typeof one === 'function' ? one : () => one);
  }
  return machineTask({
    world: realWorld(),
    hooks: named,
    agents: registry,
    environment,
    machines: await shippedMachines(),
    ...(loopRoots === undefined ? {} : { loopRoots: rootsOf(loopRoots) }),
    ...(modules === undefined
      ? {}
      : {
          importHooks: (place) =>
            import(
              place.startsWith('.') || /\.[cm]?[jt]s$/.test(place) ? pathToFileURL(resolve(modules, place)).href : place
            ),
        }),
    ...options,
  });
}
