/** Machines run within this process: `leasehold run FILE`. */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { environment } from '../config/environment.ts';
import { fault } from '../core/errors.ts';
import { LOOP } from '../flow/loop/demand.ts';
import { AgentLoader } from '../worker/agents/load-agent.ts';
import { type AgentFunction, AgentRegistry } from '../worker/agents/registry.ts';
import type { AgentTool } from '../worker/agents/tools.ts';
import { LoopHooks } from '../worker/loop/loop-hooks.ts';
import { type LoopHost, rootsOf } from '../worker/loop/loop-host.ts';
import { type RunnableMachine, runInline } from '../worker/machine/inline-driver.ts';
import { loadMachine } from '../worker/machine/load-machine.ts';
import type { MachineSource } from '../worker/machine/loader-options.ts';
import { MachineFailed } from '../worker/machine/machine-failed.ts';
import type { MachineHooks } from '../worker/machine/machine-hooks.ts';
import type { MemoryBackend } from '../worker/machine/persistence/memory-backend.ts';
import { type GivenParts, RunPlaces } from '../worker/machine/persistence/run-places.ts';
import { LocalSignals } from '../worker/machine/signals.ts';
import { HooksRegistry } from './machines/parts.ts';
import { shippedMachines, worksOnPools } from './machines/shipped.ts';
import { type MachineStep, StepReporter } from './machines/steps.ts';
import { HOOKS_NAME } from './pools/hooks-name.ts';
import { realWorld } from './world.ts';

export { findMachine } from './machines/find.ts';
export { loadHooksModule } from './machines/hooks-module.ts';
export { type LaunchMachineOptions, launchMachine } from './machines/launch.ts';
export { newSignals } from './machines/parts.ts';
export {
  type MachineProblem,
  missingIn,
  problemLine,
  problemsOf,
  problemsOfFile,
  refuseProblems,
} from './machines/problems.ts';
export { endProgramsWithProcess } from './machines/programs.ts';
export {
  type DryAct,
  type DryMove,
  type DryRun,
  type DryStep,
  diagramOfMachine,
  dryRunMachine,
  machineSchema,
  type Outline,
  type OutlinedState,
  outlineOfMachine,
} from './machines/show.ts';
export type { MachineStep } from './machines/steps.ts';
export { HooksRegistry, MachineFailed, type MachineHooks, type MachineSource };

export interface RunMachineOptions {
  readonly input?: unknown;
  readonly executionId?: string | undefined;
  /** The name of a run that is a new one, in place of a random one. */
  readonly newId?: string;
  readonly parentId?: string | undefined;
  /** Instead of what the machine says. */
  readonly maxSteps?: number | undefined;
  /** In place of those that the machine names, and for machines within it that name none. */
  readonly hooks?: readonly MachineHooks[];
  readonly registry?: HooksRegistry;
  /** Machines that others may name, besides those that come with leasehold. */
  readonly machines?: ReadonlyMap<string, MachineSource>;
  /** Agents that are functions, before those of the same name that a machine brings. */
  readonly agents?: Readonly<Record<string, AgentFunction>>;
  /** Tools for agents in tool loops. */
  readonly tools?: Readonly<Record<string, AgentTool | AgentTool['run']>>;
  readonly signals?: LocalSignals;
  /** Where the run is written down, in place of what the machine says. */
  readonly parts?: GivenParts;
  /** For a machine that says `memory`: nobody could read what else would be written. */
  readonly memory?: MemoryBackend;
  /** Go on with the run of this name. One with an `executionId` that is kept in a file goes on as well. */
  readonly resumeFrom?: string | undefined;
  /** A run that is written down leaves where it would wait for a signal, with `{_waiting, _channel}`. */
  readonly leave?: boolean;
  /** The run is written down under this name; `from` says where it goes on. */
  readonly onKept?: (kept: KeptMachine) => void;
  /** Folders in which loops may work, by their names; default: none. */
  readonly loopRoots?: Readonly<Record<string, string>> | undefined;
  readonly strict?: boolean;
  readonly stop?: AbortSignal;
  readonly onStep?: (step: MachineStep) => void;
  readonly onWarning?: (text: string) => void;
}

export interface KeptMachine {
  readonly executionId: string;
  readonly from?: { readonly state: string; readonly step: number };
}

/** Runs a machine to its end, and resolves to its output. Rejects with `MachineFailed`. */
export async function runMachine(source: MachineSource, options: RunMachineOptions = {}): Promise<unknown> {
  const { input = {}, parentId, hooks = [], registry = new HooksRegistry() } = options;
  const executionId = options.resumeFrom ?? options.executionId ?? options.newId ?? randomUUID();
  const { strict = false, stop = new AbortController().signal, onStep, onWarning } = options;
  const world = realWorld();
  const loop: LoopHost = { roots: rootsOf(options.loopRoots ?? {}), shell: true, environment, timers: world.timers };
  if (!registry.has(LOOP)) registry.register(LOOP, () => new LoopHooks(loop));
  const agents = new AgentLoader({
    registry: agentRegistry(options),
    environment,
    world,
    folder: source.folder,
    loop,
    strict,
    ...(onWarning === undefined ? {} : { onWarning }),
  });
  const loaded = await loadMachine(source, {
    hooks: registry,
    ...(hooks.length === 0 ? await hooksOfPools(source, registry) : { own: hooks }),
    machines: new Map([...(await shippedMachines()), ...(options.machines ?? [])]),
    strict,
    agent: agents.agent,
    ...(onWarning === undefined ? {} : { onWarning }),
  });
  const places = new RunPlaces({ world, ...options.parts, memory: options.memory });
  try {
    return await runInline(
      bounded(loaded, options.maxSteps),
      {
        executionId,
        ...(parentId === undefined ? {} : { parentExecutionId: parentId }),
        input,
        resume: resumes(loaded, places, options),
        stop,
      },
      {
        world,
        place: ({ machine, folder = '.' }, around) => places.of(machine, folder, around),
        ...(options.parts?.results === undefined ? {} : { results: options.parts.results }),
        leave: options.leave ?? false,
        onKept: (from) => {
          if (from !== undefined && !isDeepStrictEqual(input, {}) && !isDeepStrictEqual(input, from.input)) {
            onWarning?.(`the run ${executionId} goes on with the input that it began with, not with this one`);
          }
          const at = from === undefined ? {} : { from: { state: from.state, step: from.step } };
          options.onKept?.({ executionId, ...at });
        },
        ...(onWarning === undefined ? {} : { onWarning }),
        signals: options.signals ?? new LocalSignals(),
        ...(onStep === undefined ? {} : { onStep: new StepReporter(onStep).onStep, everyStep: true }),
        onLaunchFailed: (machine, error) =>
          onWarning?.(
            `the machine ${machine} that was launched has failed: ${error instanceof Error ? error.message : String(error)}`,
          ),
      },
    );
  } finally {
    // A program that was told to stop may take a moment, and must not be left behind.
    await agents.idle();
    places.close();
  }
}

/** For machines of ours on pools, and for those within them: hooks that they name themselves go first. */
async function hooksOfPools(
  source: MachineSource,
  registry: HooksRegistry,
): Promise<{ readonly inherited?: readonly MachineHooks[] }> {
  if (!worksOnPools(source) || !registry.has(HOOKS_NAME)) return {};
  const reference = { name: HOOKS_NAME, file: undefined, module: undefined, class: undefined, args: {} };
  return { inherited: [await registry.resolve(reference)] };
}

/** Memory that only this run writes to has nothing to go on from, unless the caller says so. */
function resumes({ machine, folder = '.' }: RunnableMachine, places: RunPlaces, options: RunMachineOptions): boolean {
  const { resumeFrom, executionId, memory } = options;
  const place = places.of(machine, folder);
  if (resumeFrom === undefined) return executionId !== undefined && place !== undefined && place.backend !== memory;
  if (place !== undefined) return true;
  throw fault(
    'INVALID_INPUT',
    { field: 'resume', problem: `the machine "${machine.name}" keeps no checkpoints` },
    { hint: 'Set "persistence: {enabled: true, backend: local}" in it.' },
  );
}

function agentRegistry({ agents = {}, tools = {} }: RunMachineOptions): AgentRegistry {
  const registry = new AgentRegistry();
  for (const [name, run] of Object.entries(agents)) registry.agent(name, run);
  for (const [name, tool] of Object.entries(tools)) registry.tool(name, tool);
  return registry;
}

function bounded(runnable: RunnableMachine, maxSteps: number | undefined): RunnableMachine {
  return maxSteps === undefined ? runnable : { ...runnable, machine: { ...runnable.machine, maxSteps } };
}
