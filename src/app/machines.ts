/** Machines run within this process, with nothing stored: `leasehold run FILE`. */
import { randomUUID } from 'node:crypto';
import { environment } from '../config/environment.ts';
import { AgentLoader } from '../worker/agents/load-agent.ts';
import { type AgentFunction, AgentRegistry } from '../worker/agents/registry.ts';
import type { AgentTool } from '../worker/agents/tools.ts';
import { HooksRegistry } from '../worker/machine/hooks-registry.ts';
import { MachineFailed, type RunnableMachine, runInline } from '../worker/machine/inline-driver.ts';
import { loadMachine } from '../worker/machine/load-machine.ts';
import type { MachineSource } from '../worker/machine/loader-options.ts';
import type { MachineHooks } from '../worker/machine/machine-hooks.ts';
import { LocalSignals } from '../worker/machine/signals.ts';
import { shippedMachines } from './machines/shipped.ts';
import { type MachineStep, StepReporter } from './machines/steps.ts';
import { realWorld } from './world.ts';

export { findMachine } from './machines/find.ts';
export { loadHooksModule } from './machines/hooks-module.ts';
export { type LaunchMachineOptions, launchMachine } from './machines/launch.ts';
export { newSignals } from './machines/parts.ts';
export { type MachineProblem, problemLine, problemsOf, problemsOfFile, refuseProblems } from './machines/problems.ts';
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
  readonly strict?: boolean;
  readonly stop?: AbortSignal;
  readonly onStep?: (step: MachineStep) => void;
  readonly onWarning?: (text: string) => void;
}

/** Runs a machine to its end, and resolves to its output. Rejects with `MachineFailed`. */
export async function runMachine(source: MachineSource, options: RunMachineOptions = {}): Promise<unknown> {
  const { input = {}, executionId = randomUUID(), parentId, hooks = [], registry = new HooksRegistry() } = options;
  const { strict = false, stop = new AbortController().signal, onStep, onWarning } = options;
  const world = realWorld();
  const agents = new AgentLoader({
    registry: agentRegistry(options),
    environment,
    world,
    folder: source.folder,
    strict,
    ...(onWarning === undefined ? {} : { onWarning }),
  });
  const loaded = await loadMachine(source, {
    hooks: registry,
    ...(hooks.length === 0 ? {} : { own: hooks }),
    machines: new Map([...(await shippedMachines()), ...(options.machines ?? [])]),
    strict,
    agent: agents.agent,
    ...(onWarning === undefined ? {} : { onWarning }),
  });
  try {
    return await runInline(
      bounded(loaded, options.maxSteps),
      { executionId, ...(parentId === undefined ? {} : { parentExecutionId: parentId }), input, stop },
      {
        world,
        signals: options.signals ?? new LocalSignals(),
        newId: randomUUID,
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
  }
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
