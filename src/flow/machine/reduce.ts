import { isList, isMap, mapOf, type Value, type ValueMap, withAll } from '../expression/values.ts';
import { actedCount, actedResults, withResult } from './acted-items.ts';
import { mapFrom, valueOf, without, withSpent } from './answers.ts';
import { type Asking, answeredBy, askedOf, spentBy } from './asked.ts';
import { gathered, invokedBy, itemsOfState, launchedBy, outputOf, scopeWith } from './children.ts';
import type { Command, HookName, MachineEvent } from './commands.ts';
import type { Entries, Machine, State } from './definition.ts';
import { fitting, fittingContext, renderField, StateError, transitionOf } from './scopes.ts';
import { noteWrite, totalWith } from './sizes.ts';
import {
  ASKED_IN,
  emptySnapshot,
  isWaiting,
  type MachineFault,
  type Phase,
  type Snapshot,
  type Waiting,
} from './snapshot.ts';

/** What the interpreter must know of the world around it. */
export interface MachineWorld {
  readonly now: number;
  /** Whether a hook of this name is there, for this state or for the machine. Hooks that are not there are not asked. */
  readonly hooked: (hook: HookName, state: string | undefined) => boolean;
  /** What `context.machine` says besides: the id of the worker, for one. */
  readonly about?: ValueMap;
}

export interface Reduced {
  readonly snapshot: Snapshot;
  /** Undefined: the machine has ended. */
  readonly command: Command | undefined;
}

export interface NewRun {
  readonly executionId: string;
  readonly parentExecutionId?: string;
  readonly depth?: number;
  /** The bound of the machines around this one. */
  readonly maxDepth?: number;
  readonly input: Value;
  /** For `now()` in the context, in milliseconds. */
  readonly now?: number;
}

/** The first snapshot of a run. Throws a `StateError` if its context cannot be rendered. */
export function begin(
  machine: Machine,
  { executionId, parentExecutionId, depth = 0, maxDepth = machine.maxDepth, input, now }: NewRun,
): Snapshot {
  const context = machine.context.map(
    ([name, value]) =>
      [
        name,
        renderField(machine, `context.${name}`, value, now === undefined ? { input } : { input, now: now / 1000 }),
      ] as const,
  );
  return {
    ...emptySnapshot(input),
    executionId,
    ...(parentExecutionId === undefined ? {} : { parentExecutionId }),
    depth,
    // A machine within another one cannot allow itself more than that one does.
    maxDepth: Math.min(machine.maxDepth, maxDepth),
    state: machine.initial,
    context: mapOf(context),
  };
}

/**
 * One move of a machine: what the snapshot becomes by an event, and what the driver has to do next. Pure. States that ask for nothing are
 * gone through in the same move.
 */
export function reduce(machine: Machine, snapshot: Snapshot, event: MachineEvent, world: MachineWorld): Reduced {
  const run = new Run(machine, snapshot, world);
  const command = run.take(event);
  return { snapshot: run.snapshot, command };
}

/** The first command of a run, or the next of one that goes on from a snapshot. */
export function start(machine: Machine, snapshot: Snapshot, world: MachineWorld): Reduced {
  return reduce(machine, snapshot, { kind: 'go' }, world);
}

/** A command that the driver has to do, or that the next phase follows at once. */
type Next = Command | 'on';

const UNKNOWN: MachineFault = { type: 'Error', message: '' };

/** One call of `reduce`. */
class Run {
  readonly #machine: Machine;
  readonly #world: MachineWorld;
  #at: Snapshot;
  /** The context that this call has made and nobody else has seen: it may be written to. A loop of pure states copies it once. */
  #own: Record<string, Value> | undefined;

  constructor(machine: Machine, snapshot: Snapshot, world: MachineWorld) {
    this.#machine = machine;
    this.#at = snapshot;
    this.#world = world;
  }

  get snapshot(): Snapshot {
    return this.#at;
  }

  take(event: MachineEvent): Command | undefined {
    let next = this.#guarded(() => (event.kind === 'go' ? 'on' : this.#answered(event)));
    while (next === 'on' && this.#at.phase !== 'ended') next = this.#guarded(() => this.#phase());
    return next === 'on' ? undefined : next;
  }

  /** An error of a state goes where its `on_error` says. */
  #guarded(body: () => Next): Next {
    try {
      return body();
    } catch (error) {
      if (error instanceof StateError) return this.#failed({ type: error.type, message: error.message });
      throw error;
    }
  }

  get #state(): State {
    return this.#machine.states.get(this.#at.state) as State;
  }

  get #scope(): ValueMap {
    const { context, input, output } = this.#at;
    return { context, input, output };
  }

  /** Templates know the time as well, in seconds. */
  get #names(): ValueMap {
    return { ...this.#scope, now: this.#world.now / 1000 };
  }

  #go(phase: Phase, more?: Partial<Snapshot>): 'on' {
    this.#at = more === undefined ? { ...this.#at, phase } : { ...this.#at, ...more, phase };
    return 'on';
  }

  #ask(phase: Phase, command: Command): Command {
    this.#go(phase);
    return command;
  }

  /** Asks the hook, or goes on as if it had answered with what it would be given. */
  #hook(phase: Phase, command: Command & { readonly do: 'hook' }, given: Value): Next {
    const state = 'state' in command ? command.state : 'from' in command ? command.from : undefined;
    if (this.#world.hooked(command.hook, state)) return this.#ask(phase, command);
    this.#go(phase);
    return this.#answered({ kind: 'answer', value: given });
  }

  #phase(): Next {
    const { phase } = this.#at;
    if (phase === 'ended') return 'on';
    return isWaiting(phase) ? this.#again(phase) : this.#forth(phase);
  }

  /** A run that is resumed while it waits for an answer: the same is asked once more, and nothing that was done before it. */
  #again(phase: Waiting): Next {
    const { state, context, error } = this.#at;
    if (phase === 'started?') return this.#hook(phase, { do: 'hook', hook: 'on_machine_start', context }, context);
    if (phase === 'entered?') return this.#hook(phase, { do: 'hook', hook: 'on_state_enter', state, context }, context);
    if (phase !== 'recovered?') return this.#go(ASKED_IN[phase]);
    const { type, message } = error ?? UNKNOWN;
    return this.#hook(phase, { do: 'hook', hook: 'on_error', state, type, message, context }, null);
  }

  #forth(phase: Exclude<Phase, Waiting | 'ended'>): Next {
    switch (phase) {
      case 'enter':
        return this.#enter();
      case 'wait':
        return this.#wait();
      case 'action':
        return this.#action();
      case 'launch':
        return this.#launch();
      case 'machine':
        return this.#invoke();
      case 'agent':
        return this.#agent();
      case 'exit':
        return this.#exit();
      case 'move':
        return this.#move();
      case 'close':
        return this.#close();
    }
  }

  #answered(event: Exclude<MachineEvent, { kind: 'go' }>): Next {
    if (event.kind === 'failed') {
      this.#at = withSpent(this.#at, event.spent ?? {});
      return this.#failed(event, event.also);
    }
    const { phase } = this.#at;
    if (!isWaiting(phase)) throw new Error(`a machine in phase ${phase} expects no answer`);
    switch (phase) {
      case 'started?':
        return this.#go('enter', { context: mapFrom(event, this.#at.context) });
      case 'entered?':
        return this.#go('wait', { context: mapFrom(event, this.#at.context) });
      case 'waited?':
        return this.#signalled(valueOf(event));
      case 'acted?':
        return this.#acted(event);
      case 'launched?':
        return this.#go('machine');
      case 'invoked?':
        return this.#invoked(event);
      case 'answered?':
        return this.#agentAnswered(event);
      case 'exited?':
        return this.#go(this.#state.final ? 'close' : 'move', { output: valueOf(event) });
      case 'moved?':
        return this.#moved(valueOf(event));
      case 'recovered?':
        return this.#recovered(valueOf(event));
      case 'closed?':
        return this.#go('ended', { end: { kind: 'completed', output: valueOf(event) } });
    }
  }

  #enter(): Next {
    const step = this.#at.step + 1;
    this.#at = { ...this.#at, step, output: null, items: null, results: [], acted: 0, to: undefined };
    this.#tellOfItself();
    const { maxSteps, states } = this.#machine;
    // The way that `on_error` names may still take a few steps, but not go on for ever.
    if (step > maxSteps + states.size) {
      return this.#end({ type: 'MaxStepsExceeded', message: `the machine took more than ${maxSteps} steps` });
    }
    if (step === maxSteps + 1) throw new StateError('MaxStepsExceeded', `the machine took ${maxSteps} steps`);
    const { state, context } = this.#at;
    return this.#hook('entered?', { do: 'hook', hook: 'on_state_enter', state, context }, context);
  }

  /** `context.machine` belongs to the runtime. The first versions did not have it, so a machine of those may use the name. */
  #tellOfItself(): void {
    const { specVersion, name } = this.#machine;
    const { executionId, parentExecutionId, step, state, totalApiCalls, totalCost, depth } = this.#at;
    if (/^[01]\./.test(specVersion) && this.#machine.context.some(([key]) => key === 'machine')) return;
    const about = Object.freeze({
      ...this.#world.about,
      execution_id: executionId,
      machine_name: name,
      parent_execution_id: parentExecutionId ?? null,
      spec_version: specVersion,
      step,
      current_state: state,
      total_api_calls: totalApiCalls,
      total_cost: totalCost,
      depth,
    });
    this.#put('machine', about);
    this.#nameWorker();
  }

  /** A machine that works for a pool is a worker: its actions look for this name, which the printed machines never set. */
  #nameWorker(): void {
    const { settings } = this.#machine;
    const id = this.#world.about?.['worker_id'];
    if (id === undefined || (settings['heartbeat_interval'] ?? settings['worker_pool'] ?? null) === null) return;
    if ((this.#at.context['worker_id'] ?? null) === null) this.#put('worker_id', id);
  }

  #timeoutMs(): number | undefined {
    const { timeout } = this.#state;
    if (timeout === undefined) return undefined;
    const seconds = Number(renderField(this.#machine, 'timeout', timeout, this.#names));
    if (Number.isNaN(seconds) || seconds < 0) throw new StateError('ValidationError', 'timeout is a number of seconds');
    return seconds === 0 ? undefined : Math.round(seconds * 1000);
  }

  #wait(): Next {
    const { waitFor } = this.#state;
    if (waitFor === undefined) return this.#go('action');
    const channel = String(renderField(this.#machine, 'wait_for', waitFor, this.#names));
    return this.#ask('waited?', { do: 'wait', channel, timeoutMs: this.#timeoutMs() });
  }

  /** Nothing else of the state runs. */
  #signalled(data: Value): Next {
    this.#at = { ...this.#at, output: isMap(data) ? data : { value: data } };
    this.#toContext();
    return this.#go('exit');
  }

  #action(): Next {
    const { action } = this.#state;
    if (action === undefined) return this.#go('launch');
    // Once for all of them: an action may change what the list was made of.
    const items = this.#at.items ?? this.#actionItems();
    this.#at = { ...this.#at, items };
    const { context } = this.#at;
    if (items === null) return this.#ask('acted?', { do: 'action', action, context, timeoutMs: this.#timeoutMs() });
    const acted = actedCount(this.#at);
    if (acted >= items.length) return this.#actedForAll(items);
    const own = scopeWith(context, this.#state, items[acted]);
    return this.#ask('acted?', { do: 'action', action, context: own, timeoutMs: this.#timeoutMs() });
  }

  /** A state with `foreach` and no machine acts for each item. */
  #actionItems(): readonly Value[] | null {
    const { machines, launch } = this.#state;
    if (machines.length > 0 || launch.length > 0) return null;
    return itemsOfState(this.#machine, this.#state, this.#names) ?? null;
  }

  #acted(event: Exclude<MachineEvent, { kind: 'go' | 'failed' }>): Next {
    const { value, same } = event.kind === 'acted' ? event : { value: valueOf(event), same: false };
    const { context } = this.#at;
    const after = isMap(value) ? this.#merged(same ? {} : context, value) : context;
    this.#at = { ...this.#at, context: after, output: value };
    if (this.#at.items !== null) return this.#go('action', withResult(this.#at, value));
    return this.#go('launch');
  }

  /** The item of a loop is seen by the hook, and is not left in the context. What the runtime says of itself nobody else writes. */
  #merged(context: ValueMap, value: ValueMap): ValueMap {
    const { context: before } = this.#at;
    const item = this.#at.items === null ? undefined : this.#state.as;
    const merged = fittingContext(withAll(context, value));
    const machine = Object.hasOwn(before, 'machine') ? withAll(merged, { machine: before['machine'] }) : merged;
    if (item === undefined) return machine;
    return Object.hasOwn(before, item) ? withAll(machine, { [item]: before[item] }) : without(machine, item);
  }

  #actedForAll(items: readonly Value[]): Next {
    const output = gathered(this.#machine, this.#state, this.#names, items, actedResults(this.#at));
    return this.#go('launch', { output });
  }

  #launch(): Next {
    if (this.#state.launch.length === 0) return this.#go('machine');
    this.#checkDepth();
    const children = launchedBy(this.#machine, this.#state, this.#names);
    return children.length === 0 ? this.#go('machine') : this.#ask('launched?', { do: 'launch', children });
  }

  #invoke(): Next {
    const { machines, mode, losers } = this.#state;
    if (machines.length === 0) return this.#go('agent');
    this.#checkDepth();
    const children = invokedBy(this.#machine, this.#state, this.#names);
    if (children.length > 0) {
      return this.#ask('invoked?', { do: 'invoke', children, mode, losers, timeoutMs: this.#timeoutMs() });
    }
    this.#go('invoked?');
    return this.#invoked({ kind: 'invoked', ends: [] });
  }

  #checkDepth(): void {
    const { depth, maxDepth } = this.#at;
    if (depth + 1 <= maxDepth) return;
    throw new StateError(
      'MaxDepthExceeded',
      `machines are nested more than ${maxDepth} deep: depth ${depth + 1} > max_depth ${maxDepth}`,
    );
  }

  #invoked(event: Exclude<MachineEvent, { kind: 'go' | 'failed' }>): Next {
    const ends = event.kind === 'invoked' ? event.ends : [];
    this.#at = { ...this.#at, output: fitting('output', outputOf(this.#machine, this.#state, this.#names, ends)) };
    this.#toContext();
    return this.#go('agent');
  }

  #agent(): Next {
    const { agent } = this.#state;
    if (agent === undefined) {
      // Otherwise the machine has done it. A state that only routes may write to the context as well.
      if (this.#state.machines.length === 0) this.#toContext();
      return this.#go('exit');
    }
    return this.#ask('answered?', askedOf({ ...this.#asking(agent), timeoutMs: this.#timeoutMs() }));
  }

  #asking(agent: string): Omit<Asking, 'timeoutMs'> {
    return { machine: this.#machine, state: { ...this.#state, agent }, names: this.#names, at: this.#at };
  }

  #agentAnswered(event: Exclude<MachineEvent, { kind: 'go' | 'failed' }>): Next {
    this.#at = spentBy(event, this.#at);
    this.#at = answeredBy(event, this.#asking(this.#state.agent ?? ''));
    this.#toContext();
    return this.#go('exit');
  }

  #put(name: string, value: Value): void {
    const { context } = this.#at;
    const own = this.#own === context ? this.#own : { ...context };
    const total = totalWith(context, name, value);
    // A plain assignment would take `__proto__` for the prototype.
    if (name !== '__proto__') own[name] = value;
    else Object.defineProperty(own, name, { value, enumerable: true, configurable: true, writable: true });
    noteWrite(own, total);
    this.#own = own;
    if (own !== context) this.#at = { ...this.#at, context: own };
  }

  /** Each entry sees what the one before it has set. */
  #toContext(): void {
    this.#write(this.#state.outputToContext);
  }

  #write(entries: Entries): void {
    for (const [name, template] of entries) {
      const value = renderField(this.#machine, `output_to_context.${name}`, template, this.#names);
      // It may hold the context as it is now, which stays so then.
      if (isMap(value) || isList(value)) this.#own = undefined;
      fittingContext(this.#at.context, name, value);
      this.#put(name, value);
    }
  }

  #exit(): Next {
    const { state, context, input } = this.#at;
    if (this.#state.final) this.#at = { ...this.#at, output: this.#finalOutput(context, input) };
    const { output } = this.#at;
    return this.#hook('exited?', { do: 'hook', hook: 'on_state_exit', state, context, output }, output);
  }

  /** Without `output:` it is what the agent, the machine or the signal of this state gave. */
  #finalOutput(context: ValueMap, input: Value): Value {
    const { output, agent, machines, waitFor } = this.#state;
    const gave = agent !== undefined || machines.length > 0 || waitFor !== undefined ? this.#at.output : {};
    if (output === undefined) return gave;
    // Published machines end in a state with an agent, and print its `output`.
    const names = { context, input, output: gave, now: this.#world.now / 1000 };
    return renderField(this.#machine, 'output', output, names);
  }

  #move(): Next {
    const to = this.#at.to ?? transitionOf(this.#state, this.#scope, this.#world.now);
    const { state: from, context } = this.#at;
    if (to === undefined) throw new StateError('NoTransition', `no transition of "${from}" matches`);
    return this.#hook('moved?', { do: 'hook', hook: 'on_transition', from, to, context }, to);
  }

  #moved(to: Value): Next {
    if (typeof to === 'string' && this.#machine.states.has(to)) return this.#go('enter', { state: to });
    throw new StateError('NoTransition', `there is no state ${JSON.stringify(to)}`);
  }

  #close(): Next {
    const { context, output } = this.#at;
    return this.#hook('closed?', { do: 'hook', hook: 'on_machine_end', context, output }, output);
  }

  /** By the type of the error, then `default`, then the hook. The message is where `fail_job` looks for it too. */
  #failed({ type, message }: MachineFault, also: readonly string[] = []): Next {
    if (this.#at.phase === 'recovered?' || this.#at.phase === 'started?') return this.#end({ type, message });
    const { state } = this.#at;
    const context = withAll(this.#at.context, { last_error: message, last_error_type: type, error: message });
    this.#at = { ...this.#at, context, error: { type, message } };
    const { onError } = this.#state;
    const known = [type, ...also, 'default'].find((name) => onError.has(name));
    const to = known === undefined ? undefined : onError.get(known);
    if (to !== undefined) return this.#recovered(to);
    return this.#hook('recovered?', { do: 'hook', hook: 'on_error', state, type, message, context }, null);
  }

  #recovered(to: Value): Next {
    const { error = UNKNOWN, ...rest } = this.#at;
    if (typeof to !== 'string' || !this.#machine.states.has(to)) return this.#end(error);
    this.#at = rest;
    return this.#go('enter', { state: to });
  }

  #end(error: MachineFault): Next {
    return this.#go('ended', { end: { kind: 'failed', error } });
  }
}
