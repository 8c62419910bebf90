/** Runs machines within this process, from the first state to the last. What is written down of them, `persistence/` writes. */
import type { World } from '../../core/world.ts';
import type { ValueMap } from '../../flow/expression/values.ts';
import type {
  AgentAnswer,
  AgentEnd,
  Child,
  ChildEnd,
  Command,
  HookName,
  MachineEvent,
} from '../../flow/machine/commands.ts';
import type { Machine, State } from '../../flow/machine/definition.ts';
import { begin, type MachineWorld, reduce, start } from '../../flow/machine/reduce.ts';
import { StateError, transitionOf } from '../../flow/machine/scopes.ts';
import type { Snapshot } from '../../flow/machine/snapshot.ts';
import { AgentFailed } from '../agents/agent-failed.ts';
import { AskEach, askEach } from '../agents/ask-each.ts';
import type { AskPerson } from '../agents/kept/person.ts';
import { type Ledger, MemoryLedger } from '../agents/ledger.ts';
import { withinMs } from '../agents/within.ts';
import { childId } from './child-id.ts';
import type { HookChain } from './hook-chain.ts';
import { Left } from './left.ts';
import { ended, endOf, faultOf, MachineFailed } from './machine-failed.ts';
import type { ResultBackend } from './persistence/backends.ts';
import { KeptRun, type RunPlace } from './persistence/kept-run.ts';
import { keptWait } from './persistence/kept-wait.ts';
import { resultUri } from './persistence/results.ts';
import { RunScope } from './run-scope.ts';
import type { LocalSignals } from './signals.ts';

/** A machine with what it needs to run. */
export interface RunnableMachine {
  readonly machine: Machine;
  readonly hooks: HookChain;
  /** Of a machine whose hooks have arguments that depend on the input of a run: they are made for each. */
  readonly hooksFor?: (input: unknown) => Promise<HookChain>;
  /** What its paths begin with. */
  readonly folder?: string;
  /** What it was read from. */
  readonly config?: unknown;
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
  /** What the run holds for its agents until it ends. */
  readonly scope: RunScope;
  /** What this step has done so far, also in an earlier attempt. */
  readonly ledger: Ledger;
  /** The state that a conditional transition of this state leads to, with this context. */
  readonly transition: (context: ValueMap) => string | undefined;
  /** Undefined: nobody can be asked. */
  readonly ask?: AskPerson | undefined;
  /** Hears what the agent does while it works, beside hooks. */
  readonly told?: ((event: ValueMap) => void) | undefined;
}

export interface InlineOptions {
  readonly world: World;
  readonly signals: LocalSignals;
  /** The id of a child, by the place where it is started. */
  readonly childId?: (parentId: string, step: number, place: string) => string;
  /** Where a machine is written down as it runs; `around` is the place of the machine around it. */
  readonly place?: (runnable: RunnableMachine, around: RunPlace | undefined) => RunPlace | undefined;
  /** A run that is written down leaves the process where it would wait for a signal. */
  readonly leave?: boolean;
  /** Where the results of children are written, by their addresses. */
  readonly results?: ResultBackend;
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
  readonly onWarning?: (text: string) => void;
  /** The run is written down; `from` is where it goes on. Told of the run itself, not of machines within it. */
  readonly onKept?: (from: Snapshot | undefined) => void;
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
  /** It goes on from its latest checkpoint, if it has one. */
  readonly resume?: boolean;
  /** The place of the machine around it. */
  readonly around?: RunPlace;
  readonly stop: AbortSignal;
}

/** The machines of one run, of any depth. */
interface Family {
  started: number;
}

/** What a run gives that has left. */
export interface LeftRun {
  readonly _waiting: true;
  readonly _channel: string;
}

/** Resolves to the output of the machine, or to a `LeftRun`. Machines that it launched run on until then, and are waited for. */
export async function runInline(runnable: RunnableMachine, run: InlineRun, options: InlineOptions): Promise<unknown> {
  try {
    return await runOrLeave(runnable, run, options);
  } catch (error) {
    if (error instanceof Left) return { _waiting: true, _channel: error.channel } satisfies LeftRun;
    throw error;
  }
}

/** The run is free for others before the machines that it launched have ended. */
async function runOrLeave(given: RunnableMachine, run: InlineRun, options: InlineOptions): Promise<unknown> {
  const { executionId, stop } = run;
  const kept = await keptOf(given, run, options);
  let runnable: RunnableMachine;
  try {
    runnable = await withHooks(given, kept?.from?.input ?? run.from?.input ?? run.input);
  } catch (error) {
    await kept?.release();
    await kept?.close();
    throw error;
  }
  const { machine, hooks } = runnable;
  const { signals } = options;
  const take = async (channel: string): Promise<unknown> => signals.take(channel)?.data;
  return hooks.around({ machine: machine.name, settings: machine.settings, executionId, stop, take }, async () => {
    const launched: Promise<void>[] = [];
    const scope = new RunScope();
    try {
      try {
        return await new InlineDriver(runnable, run, options, { launched, kept, scope }).drive();
      } finally {
        await kept?.release();
      }
    } finally {
      await Promise.all(launched);
      await scope.close();
      await kept?.close();
    }
  });
}

/** The machine with the hooks of a run with this input. */
export async function withHooks(runnable: RunnableMachine, input: unknown): Promise<RunnableMachine> {
  const { hooksFor, machine } = runnable;
  if (hooksFor === undefined) return runnable;
  try {
    return { ...runnable, hooks: await hooksFor(input) };
  } catch (error) {
    if (error instanceof StateError) throw new MachineFailed(error.type, error.message, machine.initial);
    throw error;
  }
}

async function keptOf(runnable: RunnableMachine, run: InlineRun, options: InlineOptions): Promise<KeptRun | undefined> {
  const place = options.place?.(runnable, run.around);
  if (place === undefined) return undefined;
  const { machine, config } = runnable;
  const { executionId, resume = false } = run;
  const { clock } = options.world;
  const kept = await KeptRun.open(place, { machine, config, executionId, resume, clock, onWarning: options.onWarning });
  if (run.family === undefined) options.onKept?.(kept.from);
  return kept;
}

class InlineDriver {
  readonly #runnable: RunnableMachine;
  readonly #run: InlineRun;
  readonly #options: InlineOptions;
  readonly #launched: Promise<void>[];
  readonly #family: Family;
  readonly #kept: KeptRun | undefined;
  readonly #scope: RunScope;
  /** Children that this process has launched. */
  readonly #launchedIds = new Set<string>();
  #entered = 0;
  #turnAt: number;

  constructor(
    runnable: RunnableMachine,
    run: InlineRun,
    options: InlineOptions,
    { launched, kept, scope }: { launched: Promise<void>[]; kept: KeptRun | undefined; scope: RunScope },
  ) {
    this.#runnable = runnable;
    this.#run = run;
    this.#options = options;
    this.#launched = launched;
    this.#kept = kept;
    this.#scope = scope;
    this.#family = run.family ?? { started: 0 };
    this.#turnAt = options.world.clock.monotonic();
  }

  async drive(): Promise<unknown> {
    const { machine } = this.#runnable;
    const { onStep } = this.#options;
    const kept = this.#kept;
    const { from = kept?.from ?? this.#begun(), stop } = this.#run;
    await this.#relaunch(from);
    let reduced = start(machine, from, this.#world());
    for (;;) {
      const { snapshot, command } = reduced;
      onStep?.(snapshot, command);
      if (kept !== undefined) await kept.before(snapshot, command);
      if (command === undefined) return ended(snapshot);
      const event = await this.#perform(command, snapshot);
      if (kept !== undefined) await kept.after(snapshot, command, event);
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
    const kept = this.#kept;
    const { world, about = { worker_id: this.#run.executionId }, everyStep = false } = this.#options;
    const hooked: MachineWorld['hooked'] = (hook, state) =>
      (everyStep && STEPS.has(hook)) ||
      kept?.hears(hook) === true ||
      (hook === 'on_state_enter' && ++this.#entered % STATES_A_MOVE === 0) ||
      hooks.has(hook, state);
    return { now: world.clock.wall(), hooked, about };
  }

  async #perform(command: Command, snapshot: Snapshot): Promise<MachineEvent> {
    try {
      // What a run that is written down has waited in an earlier process counts: its wait has a clock of its own.
      const isOwn = !('timeoutMs' in command) || (command.do === 'wait' && this.#kept !== undefined);
      const timeoutMs = isOwn ? undefined : command.timeoutMs;
      return await this.#within(timeoutMs, (stop) => this.#do(command, snapshot, stop));
    } catch (error) {
      this.#run.stop.throwIfAborted();
      if (error instanceof Left) throw error;
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
      case 'wait':
        return { kind: 'answer', value: (await this.#signal(command, snapshot, stop)) ?? null };
      case 'launch':
        await this.#launchAll(command.children, snapshot);
        return { kind: 'launched' };
      case 'invoke':
        this.#count(command.children);
        return { kind: 'invoked', ends: await this.#invoke(command, snapshot, stop) };
      case 'agent':
        return { kind: 'agent', answer: await (await agent(command.agent))(command, stop, this.#around(snapshot)) };
      case 'agents':
        return { kind: 'agents', ends: await this.#askEach(command, snapshot, stop) };
    }
  }

  #askEach(
    command: Command & { readonly do: 'agents' },
    snapshot: Snapshot,
    stop: AbortSignal,
  ): Promise<readonly (AgentEnd | undefined)[]> {
    const around = this.#around(snapshot);
    const asking = new AskEach(command, {
      ledger: around.ledger,
      ask: async (call, own, ledger) => (await this.#runnable.agent(call.agent))(call, own, { ...around, ledger }),
    });
    return askEach(asking, (body) => body(stop));
  }

  async #signal(command: Command & { readonly do: 'wait' }, snapshot: Snapshot, stop: AbortSignal): Promise<unknown> {
    const { signals: local, world, leave = false } = this.#options;
    if (this.#kept !== undefined) return keptWait(this.#kept, snapshot, command, { world, local, leave, stop });
    return (await local.next(command.channel, stop)).data;
  }

  /** Before any of them starts, so that the state fails as a whole. */
  #count({ length }: readonly unknown[]): void {
    const { maxMachines = MOST_MACHINES } = this.#options;
    if (this.#family.started + length > maxMachines) {
      throw new StateError('MaxMachinesExceeded', `a run starts at most ${maxMachines} machines, all in all`);
    }
    this.#family.started += length;
  }

  #around(snapshot: Snapshot): AgentAround {
    const { state, input, output } = snapshot;
    const { machine, hooks } = this.#runnable;
    const ledger = this.#kept?.ledger(snapshot) ?? new MemoryLedger();
    const now = this.#options.world.clock.wall();
    const transition = (context: ValueMap): string | undefined =>
      transitionOf(machine.states.get(state) as State, { context, input, output }, now, { conditional: true });
    return { machine, hooks, ledger, transition, scope: this.#scope };
  }

  /** Those that an earlier process had launched, and that have no result. */
  async #relaunch(from: Snapshot): Promise<void> {
    const kept = this.#kept;
    for (const { execution_id: id, machine, input } of kept?.pending ?? []) {
      if (await this.#options.results?.exists(resultUri(id))) kept?.childEnded(id);
      else this.#launch({ machine, input }, id, from);
    }
  }

  async #launchAll(children: readonly Child[], snapshot: Snapshot): Promise<void> {
    this.#count(children);
    const named = children.map((child, i) => ({ child, id: this.#idOf(snapshot, `launch ${i}`) }));
    const others = named.filter(({ id }) => !this.#launchedIds.has(id));
    const intents = others.map(({ child, id }) => ({ execution_id: id, ...child }));
    if (intents.length > 0) await this.#kept?.intend(snapshot, intents);
    for (const { child, id } of others) this.#launch(child, id, snapshot);
  }

  /** It goes on when this machine has ended: only the process waits for it. */
  #launch(child: Child, id: string, snapshot: Snapshot): void {
    this.#launchedIds.add(id);
    this.#launched.push(
      this.#child(child, id, snapshot, this.#run.stop).then(
        () => this.#kept?.childEnded(id),
        (error: unknown) => {
          // It goes on when this run is resumed, and so does one that was stopped.
          if (error instanceof Left || this.#run.stop.aborted) return;
          this.#kept?.childEnded(id);
          this.#options.onLaunchFailed?.(child.machine, error);
        },
      ),
    );
  }

  #idOf({ executionId, step }: Snapshot, place: string): string {
    return (this.#options.childId ?? childId)(executionId, step, place);
  }

  async #child({ machine, input }: Child, id: string, around: Snapshot, stop: AbortSignal): Promise<unknown> {
    const { executionId, depth, maxDepth } = around;
    const { results } = this.#options;
    const { resume = false } = this.#run;
    const place = this.#kept?.place;
    const run: InlineRun = {
      executionId: id,
      parentExecutionId: executionId,
      depth: depth + 1,
      maxDepth,
      input,
      family: this.#family,
      resume,
      ...(place === undefined ? {} : { around: place }),
      stop,
    };
    try {
      const output = await runOrLeave(await this.#runnable.peer(machine), run, this.#options);
      await results?.write(resultUri(id), output);
      return output;
    } catch (error) {
      if (error instanceof Left || stop.aborted) throw error;
      const { type, message } = faultOf(error);
      await results?.write(resultUri(id), { _error: message, _error_type: type });
      throw error;
    }
  }

  async #invoke(
    { children, mode, losers }: Command & { readonly do: 'invoke' },
    snapshot: Snapshot,
    stop: AbortSignal,
  ): Promise<readonly (ChildEnd | undefined)[]> {
    const lost = new AbortController();
    const own = losers === 'cancel' ? AbortSignal.any([stop, lost.signal]) : stop;
    const ends: (ChildEnd | undefined)[] = children.map(() => undefined);
    let left: Left | undefined;
    const runs = children.map(async (child, i) => {
      const end = await endOf(this.#child(child, this.#idOf(snapshot, `machine ${i}`), snapshot, own));
      if (end instanceof Left) left = end;
      else ends[i] = end;
      // Of those that could have won, the first is enough.
      if (mode === 'any' && !(end instanceof Left) && !end.ok) throw new Error(end.message);
      if (mode === 'any' && end instanceof Left) throw end;
    });
    if (mode === 'any') await Promise.any(runs).catch(() => {});
    else await Promise.all(runs);
    const settled = [...ends];
    lost.abort(new StateError('Cancelled', 'another machine was first'));
    if (losers === 'keep') this.#launched.push(Promise.allSettled(runs).then(() => {}));
    stop.throwIfAborted();
    // This run goes on with the machine that it waits for.
    if (left !== undefined && !(mode === 'any' && settled.some((end) => end?.ok === true))) throw left;
    return settled;
  }
}
