/** Runs machines within this process, from the first state to the last, with nothing stored. */
import type { World } from '../../core/world.ts';
import type { ValueMap } from '../../flow/expression/values.ts';
import type { AgentAnswer, Child, ChildEnd, Command, HookName, MachineEvent } from '../../flow/machine/commands.ts';
import type { Machine, State } from '../../flow/machine/definition.ts';
import { begin, type MachineWorld, reduce, start } from '../../flow/machine/reduce.ts';
import { StateError, transitionOf } from '../../flow/machine/scopes.ts';
import type { Snapshot } from '../../flow/machine/snapshot.ts';
import { AgentFailed } from '../agents/agent-failed.ts';
import { type Ledger, MemoryLedger } from '../agents/ledger.ts';
import { withinMs } from '../agents/within.ts';
import type { HookChain } from './hook-chain.ts';
import type { LocalSignals } from './signals.ts';

/** A machine with what it needs to run. */
export interface RunnableMachine {
  readonly machine: Machine;
  readonly hooks: HookChain;
  /** A peer by the name that this machine has for it. Rejects if there is none. */
  readonly peer: (name: string) => Promise<RunnableMachine>;
  readonly agent: (name: string) => Promise<AgentCall>;
}

export type AgentCall = (
  call: Command & { readonly do: 'agent' },
  stop: AbortSignal,
  around: AgentAround,
) => Promise<AgentAnswer>;

/** What an agent has of its machine. */
export interface AgentAround {
  readonly machine: Machine;
  readonly hooks: HookChain;
  /** What this step has done so far, also in an earlier attempt. */
  readonly ledger: Ledger;
  /** The state that a conditional transition of this state leads to, with this context. */
  readonly transition: (context: ValueMap) => string | undefined;
}

export interface InlineOptions {
  readonly world: World;
  readonly signals: LocalSignals;
  /** Makes the ids of children. */
  readonly newId: () => string;
  /** What `context.machine` says besides. Without it, each run is a worker of its own, by its id. */
  readonly about?: Readonly<Record<string, unknown>>;
  /** Before each command: where the run stands, and what is done next. */
  readonly onStep?: (snapshot: Snapshot, command: Command | undefined) => void;
  /** Stop at every state and every transition, also where no hook hears it, so that `onStep` is told of each. */
  readonly everyStep?: boolean;
  /** Machines that one run may start, those of its machines included; default 100,000. Depth alone bounds no tree. */
  readonly maxMachines?: number;
  /** A machine that was launched has failed; nobody waits for it. */
  readonly onLaunchFailed?: (machine: string, error: unknown) => void;
}

const MOST_MACHINES = 100_000;

/** A move of the reducer goes through so many states at most, and then the process has its turn. */
const STATES_A_MOVE = 50;
/** So long a run keeps the process to itself: a loop that waits for nothing must be stoppable, and leave others their time. */
const TURN_MS = 20;

const STEPS: ReadonlySet<HookName> = new Set(['on_state_enter', 'on_state_exit', 'on_transition']);

export interface InlineRun {
  readonly executionId: string;
  readonly parentExecutionId?: string;
  readonly depth?: number;
  readonly maxDepth?: number;
  readonly input: unknown;
  /** What it shares with the machine around it. */
  readonly family?: Family;
  /** It goes on from here instead of from the beginning, with the id and the input that are in it. */
  readonly from?: Snapshot;
  readonly stop: AbortSignal;
}

/** The machines of one run, of any depth. */
interface Family {
  started: number;
}

/** A machine that failed, with the type of its error. */
export class MachineFailed extends Error {
  override readonly name = 'MachineFailed';
  readonly type: string;
  readonly state: string;

  constructor(type: string, message: string, state: string) {
    super(message);
    this.type = type;
    this.state = state;
  }
}

/** Resolves to the output of the machine. Machines that it launched run on until then, and are waited for. */
export async function runInline(runnable: RunnableMachine, run: InlineRun, options: InlineOptions): Promise<unknown> {
  const launched: Promise<void>[] = [];
  try {
    return await new InlineDriver(runnable, run, options, launched).drive();
  } finally {
    await Promise.all(launched);
  }
}

class InlineDriver {
  readonly #runnable: RunnableMachine;
  readonly #run: InlineRun;
  readonly #options: InlineOptions;
  readonly #launched: Promise<void>[];
  readonly #family: Family;
  #entered = 0;
  #turnAt: number;

  constructor(runnable: RunnableMachine, run: InlineRun, options: InlineOptions, launched: Promise<void>[]) {
    this.#runnable = runnable;
    this.#run = run;
    this.#options = options;
    this.#launched = launched;
    this.#family = run.family ?? { started: 0 };
    this.#turnAt = options.world.clock.monotonic();
  }

  async drive(): Promise<unknown> {
    const { machine } = this.#runnable;
    const { onStep } = this.#options;
    const { from = this.#begun(), stop } = this.#run;
    let reduced = start(machine, from, this.#world());
    for (;;) {
      const { snapshot, command } = reduced;
      onStep?.(snapshot, command);
      if (command === undefined) return ended(snapshot);
      const event = await this.#perform(command, snapshot);
      await this.#giveTurn();
      stop.throwIfAborted();
      reduced = reduce(machine, snapshot, event, this.#world());
    }
  }

  /** Signals of the system, timers and sockets are only heard between turns of the process; promises alone never end one. */
  async #giveTurn(): Promise<void> {
    const { clock, timers } = this.#options.world;
    if (clock.monotonic() - this.#turnAt < TURN_MS) return;
    await new Promise<void>((go) => timers.soon(go));
    this.#turnAt = clock.monotonic();
  }

  #begun(): Snapshot {
    const { machine } = this.#runnable;
    try {
      return begin(machine, { ...this.#run, now: this.#options.world.clock.wall() });
    } catch (error) {
      if (error instanceof StateError) throw new MachineFailed(error.type, error.message, machine.initial);
      throw error;
    }
  }

  #world(): MachineWorld {
    const { hooks } = this.#runnable;
    const { world, about = { worker_id: this.#run.executionId }, everyStep = false } = this.#options;
    const hooked: MachineWorld['hooked'] = (hook, state) =>
      (everyStep && STEPS.has(hook)) ||
      (hook === 'on_state_enter' && ++this.#entered % STATES_A_MOVE === 0) ||
      hooks.has(hook, state);
    return { now: world.clock.wall(), hooked, about };
  }

  async #perform(command: Command, snapshot: Snapshot): Promise<MachineEvent> {
    try {
      return await this.#within('timeoutMs' in command ? command.timeoutMs : undefined, (stop) =>
        this.#do(command, snapshot, stop),
      );
    } catch (error) {
      this.#run.stop.throwIfAborted();
      const { also = [], spent = {} } = error instanceof AgentFailed ? error : {};
      return { kind: 'failed', ...faultOf(error), also, spent };
    }
  }

  /** A wait has a time of its own, which is not an error of what it waits for. */
  async #within<T>(timeoutMs: number | undefined, body: (stop: AbortSignal) => Promise<T>): Promise<T> {
    const { stop } = this.#run;
    return timeoutMs === undefined ? body(stop) : withinMs(this.#options.world.timers, timeoutMs, stop, body);
  }

  async #do(command: Command, snapshot: Snapshot, stop: AbortSignal): Promise<MachineEvent> {
    const { hooks, agent } = this.#runnable;
    switch (command.do) {
      case 'hook':
        return { kind: 'answer', value: await hooks.call(command) };
      case 'action':
        return { kind: 'acted', ...(await hooks.act(snapshot.state, command.action, command.context)) };
      case 'wait': {
        const { data } = await this.#options.signals.next(command.channel, stop);
        return { kind: 'answer', value: data ?? null };
      }
      case 'launch':
        this.#count(command.children);
        for (const child of command.children) this.#launch(child, snapshot);
        return { kind: 'launched' };
      case 'invoke':
        this.#count(command.children);
        return { kind: 'invoked', ends: await this.#invoke(command, snapshot, stop) };
      case 'agent':
        return { kind: 'agent', answer: await (await agent(command.agent))(command, stop, this.#around(snapshot)) };
    }
  }

  /** Before any of them starts, so that the state fails as a whole. */
  #count({ length }: readonly Child[]): void {
    const { maxMachines = MOST_MACHINES } = this.#options;
    if (this.#family.started + length > maxMachines) {
      throw new StateError('MaxMachinesExceeded', `a run starts at most ${maxMachines} machines, all in all`);
    }
    this.#family.started += length;
  }

  #around({ state, input, output }: Snapshot): AgentAround {
    const { machine, hooks } = this.#runnable;
    const now = this.#options.world.clock.wall();
    const transition = (context: ValueMap): string | undefined =>
      transitionOf(machine.states.get(state) as State, { context, input, output }, now, { conditional: true });
    return { machine, hooks, ledger: new MemoryLedger(), transition };
  }

  /** It goes on when this machine has ended: only the process waits for it. */
  #launch(child: Child, snapshot: Snapshot): void {
    this.#launched.push(
      this.#child(child, snapshot, this.#run.stop).then(
        () => {},
        (error: unknown) => this.#options.onLaunchFailed?.(child.machine, error),
      ),
    );
  }

  async #child(
    { machine, input }: Child,
    { executionId, depth, maxDepth }: Snapshot,
    stop: AbortSignal,
  ): Promise<unknown> {
    const peer = await this.#runnable.peer(machine);
    return runInline(
      peer,
      {
        executionId: this.#options.newId(),
        parentExecutionId: executionId,
        depth: depth + 1,
        maxDepth,
        input,
        family: this.#family,
        stop,
      },
      this.#options,
    );
  }

  async #invoke(
    { children, mode, losers }: Command & { readonly do: 'invoke' },
    snapshot: Snapshot,
    stop: AbortSignal,
  ): Promise<readonly (ChildEnd | undefined)[]> {
    const lost = new AbortController();
    const own = losers === 'cancel' ? AbortSignal.any([stop, lost.signal]) : stop;
    const ends: (ChildEnd | undefined)[] = children.map(() => undefined);
    const runs = children.map(async (child, i) => {
      const end = await endOf(this.#child(child, snapshot, own));
      ends[i] = end;
      // Of those that could have won, the first is enough.
      if (mode === 'any' && !end.ok) throw new Error(end.message);
    });
    if (mode === 'any') await Promise.any(runs).catch(() => {});
    else await Promise.all(runs);
    const settled = [...ends];
    lost.abort(new StateError('Cancelled', 'another machine was first'));
    if (losers === 'keep') this.#launched.push(Promise.allSettled(runs).then(() => {}));
    stop.throwIfAborted();
    return settled;
  }
}

function ended({ end, state }: Snapshot): unknown {
  if (end?.kind === 'completed') return end.output;
  throw new MachineFailed(end?.error.type ?? 'Error', end?.error.message ?? 'it has not ended', state);
}

async function endOf(run: Promise<unknown>): Promise<ChildEnd> {
  try {
    return { ok: true, output: await run };
  } catch (error) {
    return { ok: false, ...faultOf(error) };
  }
}

/** The type that `on_error` is asked for, and what the machine is told. */
function faultOf(error: unknown): { readonly type: string; readonly message: string } {
  if (error instanceof MachineFailed || error instanceof StateError)
    return { type: error.type, message: error.message };
  if (error instanceof Error)
    return {
      type: 'code' in error && typeof error.code === 'string' ? error.code : error.name,
      message: error.message,
    };
  return { type: 'Error', message: String(error) };
}
