/** Runs machines in tests of persistence: hooks and places are given, the rest is as in a program. */
import type { Machine } from '../../../flow/machine/definition.ts';
import { machineOf } from '../../../flow/machine/test-driver.ts';
import { virtualWorld } from '../../agents/test-world.ts';
import { HookChain } from '../hook-chain.ts';
import { type AgentCall, type InlineOptions, type RunnableMachine, runInline } from '../inline-driver.ts';
import type { MachineHooks } from '../machine-hooks.ts';
import { LocalSignals } from '../signals.ts';
import type { PersistenceBackend, SignalBackend } from './backends.ts';
import type { RunPlace } from './kept-run.ts';
import { MemoryLock } from './locks.ts';
import { CHECKPOINT_EVENTS, type CheckpointEvent } from './wire-snapshot.ts';

export interface Scene extends Partial<InlineOptions> {
  readonly hooks?: readonly MachineHooks[];
  readonly machines?: Readonly<Record<string, Machine>>;
  readonly agents?: Readonly<Record<string, AgentCall>>;
  readonly id?: string;
  readonly input?: object;
  readonly resume?: boolean;
  readonly at?: RunPlace;
}

export function runAt(
  machine: Machine,
  { hooks = [], machines = {}, agents = {}, id = 'run', input = {}, resume = false, at, ...options }: Scene,
): Promise<unknown> {
  const runnable = (one: Machine): RunnableMachine => ({
    machine: one,
    config: { name: one.name },
    hooks: new HookChain(hooks, one.specVersion),
    peer: async (name) => runnable(machines[name] as Machine),
    agent: async (name) => agents[name] as AgentCall,
  });
  return runInline(
    runnable(machine),
    { executionId: id, input, resume, stop: new AbortController().signal },
    { world: virtualWorld().world, signals: new LocalSignals(), place: (_, around) => around ?? at, ...options },
  );
}

export function placeOf(
  backend: PersistenceBackend,
  {
    events = CHECKPOINT_EVENTS,
    ...more
  }: { readonly events?: readonly CheckpointEvent[]; readonly signals?: SignalBackend } & Partial<
    Omit<RunPlace, 'events'>
  > = {},
): RunPlace {
  return { backend, lock: new MemoryLock(), events: new Set(events), ...more };
}

/** Goes through three states that act, each counted; then ends. */
export const counter: Machine = machineOf({
  name: 'counter',
  context: { count: 0 },
  states: {
    one: { action: 'up', transitions: [{ to: 'two' }] },
    two: { action: 'up', transitions: [{ to: 'three' }] },
    three: { action: 'up', transitions: [{ to: 'end' }] },
    end: { type: 'final', output: { count: 'context.count' } },
  },
});

export const up: MachineHooks = {
  onAction: (...given: readonly unknown[]) => {
    const context = given.at(-1) as { count: number };
    return { count: context.count + 1 };
  },
};

/** Counts like `up`, and fails in this state. */
export const failingIn = (state: string): MachineHooks => ({
  onAction: (...given: readonly unknown[]) => {
    if (given[0] === state) throw new Error('crash');
    return up.onAction?.('up', ...(given as never[]));
  },
});
