/** Drives a machine in a test: commands are answered by plain functions, at once. */
import type { Value, ValueMap } from '../expression/values.ts';
import type { AgentAnswer, AgentEnd, ChildEnd, Command, HookName, MachineEvent } from './commands.ts';
import type { Machine } from './definition.ts';
import { readMachine } from './read-machine.ts';
import { begin, type MachineWorld, type NewRun, reduce, start } from './reduce.ts';
import { StateError } from './scopes.ts';
import type { Snapshot } from './snapshot.ts';

export interface Answers {
  readonly actions?: Readonly<Record<string, (context: ValueMap) => Value>>;
  readonly machines?: Readonly<Record<string, (input: Value) => Value>>;
  readonly agents?: Readonly<Record<string, (input: Value) => AgentAnswer>>;
  readonly signals?: Readonly<Record<string, Value>>;
  readonly hooks?: Partial<Record<HookName, (command: Command) => Value>>;
}

export interface Driven {
  readonly snapshot: Snapshot;
  readonly commands: readonly Command[];
  /** Of a machine that completed. */
  readonly output: Value;
  /** The states that were entered, where commands tell of them. */
  readonly failed: string | undefined;
}

export function machineOf(data: ValueMap, specVersion = '4.2.1'): Machine {
  const { machine, problems } = readMachine({ spec: 'flatmachine', spec_version: specVersion, data });
  if (machine === undefined) throw new Error(JSON.stringify(problems));
  return machine;
}

export function drive(
  machine: Machine,
  input: Value = {},
  answers: Answers = {},
  about: ValueMap = {},
  around: Pick<NewRun, 'depth' | 'maxDepth'> = {},
): Driven {
  const world: MachineWorld = { now: 0, hooked: (hook) => answers.hooks?.[hook] !== undefined, about };
  const commands: Command[] = [];
  let reduced = start(machine, begin(machine, { executionId: 'run', input, ...around }), world);
  while (reduced.command !== undefined) {
    commands.push(reduced.command);
    // As a driver that keeps snapshots would: what is not JSON gets lost here.
    const snapshot = JSON.parse(JSON.stringify(reduced.snapshot)) as Snapshot;
    reduced = reduce(machine, snapshot, eventOf(reduced.command, answers), world);
  }
  const { end } = reduced.snapshot;
  return {
    snapshot: reduced.snapshot,
    commands,
    output: end?.kind === 'completed' ? end.output : undefined,
    failed: end?.kind === 'failed' ? `${end.error.type}: ${end.error.message}` : undefined,
  };
}

function eventOf(command: Command, answers: Answers): MachineEvent {
  try {
    return answerOf(command, answers);
  } catch (error) {
    if (error instanceof StateError) return { kind: 'failed', type: error.type, message: error.message };
    if (error instanceof Error) return { kind: 'failed', type: error.name, message: error.message };
    throw error;
  }
}

function answerOf(command: Command, { actions, machines, agents, signals, hooks }: Answers): MachineEvent {
  switch (command.do) {
    case 'hook':
      return { kind: 'answer', value: hooks?.[command.hook]?.(command) };
    case 'wait':
      if (signals === undefined || !Object.hasOwn(signals, command.channel)) {
        return { kind: 'failed', type: 'TimeoutError', message: `nothing came on ${command.channel}` };
      }
      return { kind: 'answer', value: signals[command.channel] };
    case 'action': {
      const own = { ...command.context };
      const value = actions?.[command.action]?.(own);
      return { kind: 'acted', value: value ?? own, same: value === undefined || value === own };
    }
    case 'launch':
      return { kind: 'launched' };
    case 'invoke':
      return { kind: 'invoked', ends: command.children.map(({ machine, input }) => endOf(machines?.[machine], input)) };
    case 'agent':
      return { kind: 'agent', answer: agents?.[command.agent]?.(command.input) ?? {} };
    case 'agents':
      return {
        kind: 'agents',
        ends: command.calls.map(({ agent, input }) => agentEndOf(() => agents?.[agent]?.(input) ?? {})),
      };
  }
}

function agentEndOf(ask: () => AgentAnswer): AgentEnd {
  try {
    return { ok: true, answer: ask() };
  } catch (error) {
    return { ok: false, type: error instanceof StateError ? error.type : 'Error', message: (error as Error).message };
  }
}

function endOf(machine: ((input: Value) => Value) | undefined, input: Value): ChildEnd {
  try {
    if (machine === undefined) throw new StateError('NotFound', 'there is no such machine');
    return { ok: true, output: machine(input) };
  } catch (error) {
    const type = error instanceof StateError ? error.type : (error as Error).name;
    return { ok: false, type, message: (error as Error).message };
  }
}
