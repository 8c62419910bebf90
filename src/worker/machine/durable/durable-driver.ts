/**
 * Runs a machine as a task, over the turns of its attempt: whatever process goes on with it finds in the journal where it stands.
 *
 * A state is committed when the next effect is about to begin, so there is one commit for each state that does anything, and all that was done
 * before an effect is stored before it begins. A crash repeats at most the effects of one state.
 */
import { isEngineError } from '../../../core/errors.ts';
import type { Amount } from '../../../core/limits/budget.ts';
import type { World } from '../../../core/world.ts';
import type { Value } from '../../../flow/expression/values.ts';
import type { AgentSpent, Command, HookName, MachineEvent } from '../../../flow/machine/commands.ts';
import type { State } from '../../../flow/machine/definition.ts';
import { BrokenHistory } from '../../../flow/machine/history/checked.ts';
import { RunHistory, type StepDone, stepKey } from '../../../flow/machine/history/run-history.ts';
import { isWithin } from '../../../flow/machine/history/text-length.ts';
import { type MachineWorld, reduce, start } from '../../../flow/machine/reduce.ts';
import { StateError, transitionOf } from '../../../flow/machine/scopes.ts';
import type { Snapshot } from '../../../flow/machine/snapshot.ts';
import type { ChildRequest, JournalValue, TurnEntry, Turned, TurnThen } from '../../../protocol/link.ts';
import { AgentFailed } from '../../agents/agent-failed.ts';
import { withinMs } from '../../agents/within.ts';
import type { AttemptSession, RunOutcome } from '../../runner/runner.ts';
import type { WorkspaceReader } from '../../workspace/handler-workspace.ts';
import type { AgentAround, RunnableMachine } from '../inline-driver.ts';
import { faultOf, MachineFailed } from '../machine-failed.ts';
import type { RunFiles } from '../machine-hooks.ts';
import { AgentCalls } from './agent-calls.ts';
import { askPerson } from './ask-person.ts';
import { DurableChildren } from './durable-children.ts';
import { FairTurn } from './fair-turn.ts';
import { firstSnapshot, type RunGiven } from './first-snapshot.ts';
import { invokeInline, keepsChildren } from './inline-children.ts';
import { InlineMeter, type InlineMeterDeps } from './inline-meter.ts';
import { JournalLedger } from './journal-ledger.ts';
import { Spending, usageWith } from './spending.ts';
import { timeout, timeoutOf } from './timeout.ts';
import { unheard } from './unheard.ts';

/** One attempt at a run. */
export interface DurableRun extends RunGiven {
  /** The public id of its task. Undefined: it asks nobody. */
  readonly task?: string;
  /** The first attempt of a task finds an empty journal. */
  readonly attempt: number;
  readonly tries?: number;
  readonly stop: AbortSignal;
}

export interface DurableDeps {
  readonly world: World;
  readonly session: AttemptSession;
  /** The task that runs a machine of this one: `peer` is the name that this machine has for it. */
  readonly childTask: (peer: string, input: Value, of: Snapshot) => ChildRequest;
  /** Before each command: where the run stands, and what is done next. It then stops at every state and every transition. */
  readonly onStep?: ((snapshot: Snapshot, command: Command | undefined) => void) | undefined;
  readonly log?: ((text: string) => void) | undefined;
  /** For hooks that leave files. */
  readonly files?: RunFiles | undefined;
  readonly workspaces?: WorkspaceReader | undefined;
}

/** The lease is gone: the task waits, or has ended. */
const OVER = Symbol('over');

/** As `#childEntries` makes them. */
const CHILD_KEY = /^s:\d+\/l?\d+$/;

/** A move of the reducer goes through so many states at most, and then the process has its turn. */
const STATES_A_MOVE = 50;
/** Inputs of many calls are shown with their step if they are no longer. */
const MOST_GIVEN = 64 * 1024;
const STEPS: ReadonlySet<HookName> = new Set(['on_state_enter', 'on_state_exit', 'on_transition']);

/** Never rejects but for faults of the attempt itself: a lost lease, a stop. */
export function driveMachine(runnable: RunnableMachine, run: DurableRun, deps: DurableDeps): Promise<RunOutcome> {
  return new DurableDriver(runnable, run, deps).drive();
}

class DurableDriver {
  readonly #runnable: RunnableMachine;
  readonly #run: DurableRun;
  readonly #deps: DurableDeps;
  readonly #history: RunHistory;
  readonly #journal = new Map<string, string>();
  /** The tasks of children by their keys: those that the node says were born, never what a worker has written. */
  readonly #born = new Map<string, number>();
  readonly #children: DurableChildren;
  /** What was done since the last commit; undefined: nothing. */
  #done: Mutable<StepDone> | undefined;
  /** What calls have used since the last commit. */
  readonly #spending = new Spending();
  /** Machines that are launched with the next commit. */
  #launched: TurnEntry[] = [];
  #via: string[] = [];
  #entered = 0;
  readonly #turn: FairTurn;
  /** How the run failed, for the hooks around it. */
  #failure: MachineFailed | undefined;
  readonly #calls: AgentCalls;
  /** Aborted when a call has asked a person: the run waits, and this attempt at it is over. */
  readonly #asked = new AbortController();
  /** The state that acts. */
  #acting: Snapshot | undefined;
  /** A hook has met the end of the lease. */
  #isOver = false;

  constructor(runnable: RunnableMachine, run: DurableRun, deps: DurableDeps) {
    this.#runnable = runnable;
    this.#run = run;
    this.#calls = new AgentCalls(runnable);
    this.#deps = deps;
    this.#history = new RunHistory(run.input, run.from);
    this.#turn = new FairTurn(deps.world);
    this.#children = new DurableChildren({
      session: deps.session,
      born: this.#born,
      commit: (entries, then, snapshot) => this.#commit(snapshot, entries, then),
      mayHaveWaited: run.attempt > 1,
    });
  }

  async drive(): Promise<RunOutcome> {
    const { machine, hooks } = this.#runnable;
    const { executionId, stop, attempt, tries } = this.#run;
    const { log, files, workspaces } = this.#deps;
    let outcome: RunOutcome | undefined;
    const drive = async (): Promise<void> => {
      outcome = await this.#drive();
      if (this.#failure !== undefined) throw this.#failure;
    };
    try {
      await hooks.around(
        {
          machine: machine.name,
          settings: machine.settings,
          executionId,
          stop,
          attempt,
          take: (channel) => this.#take(channel),
          ...(tries === undefined ? {} : { tries }),
          ...(log === undefined ? {} : { log }),
          ...(files === undefined ? {} : { files }),
          ...(workspaces === undefined ? {} : { workspaces }),
        },
        drive,
      );
    } catch (error) {
      if (outcome === undefined) throw error;
    } finally {
      await this.#calls.ended();
    }
    return outcome ?? { kind: 'failed', error: new Error('hooks around the run did not run it') };
  }

  async #drive(): Promise<RunOutcome> {
    const { machine } = this.#runnable;
    const { onStep } = this.#deps;
    if (this.#run.attempt > 1) await this.#load();
    const first = this.#history.snapshot ?? firstSnapshot(machine, this.#run, this.#deps.world.clock.wall());
    if (first instanceof StateError) return this.#failed(first.type, first.message, machine.initial);
    let reduced = start(machine, first, this.#world());
    for (;;) {
      const { snapshot, command } = reduced;
      onStep?.(snapshot, command);
      if (command === undefined) return this.#end(snapshot);
      const event = await this.#perform(command, snapshot);
      if (event === OVER || this.#asked.signal.aborted) return { kind: 'parked' };
      await this.#turn.give();
      this.#run.stop.throwIfAborted();
      reduced = reduce(machine, snapshot, event, this.#world());
    }
  }

  async #load(): Promise<void> {
    const journal: readonly JournalValue[] = await this.#deps.session.journal();
    for (const { key, value, child } of journal) {
      if (child === true) this.#born.set(key, taskIn(value));
      // Who has written it would have this run read the result of any task.
      else if (CHILD_KEY.test(key)) throw new BrokenHistory(`${key} is no child`);
      else this.#journal.set(key, value);
    }
    await this.#history.load(journal, (keys) => this.#children.results(keys));
    const { snapshot } = this.#history;
    if (snapshot === undefined) return;
    // Machines within it and hooks would take it for that run.
    if (snapshot.executionId !== this.#run.executionId) throw new BrokenHistory('it is that of another run');
    // A worker of another release may have it: a machine can be one that its worker has by a name.
    if (!this.#runnable.machine.states.has(snapshot.state))
      throw new Error(`the machine has no state ${JSON.stringify(snapshot.state.slice(0, 80))}`);
  }

  #world(): MachineWorld {
    const { hooks } = this.#runnable;
    const { onStep } = this.#deps;
    const hooked: MachineWorld['hooked'] = (hook: HookName, state) => {
      if (hook === 'on_state_enter') {
        this.#via.push(state as string);
        if (++this.#entered % STATES_A_MOVE === 0) return true;
      }
      return (onStep !== undefined && STEPS.has(hook)) || hooks.has(hook, state);
    };
    return { now: this.#deps.world.clock.wall(), hooked, about: { worker_id: this.#run.executionId } };
  }

  async #perform(command: Command, snapshot: Snapshot): Promise<MachineEvent | typeof OVER> {
    try {
      return await this.#do(command, snapshot);
    } catch (error) {
      if (this.#asked.signal.aborted || this.#isOver) return OVER;
      this.#run.stop.throwIfAborted();
      if (isEngineError(error, 'LEASE_LOST')) throw error;
      // A wait that ran out is a result too: it is stored before anything that follows from it begins.
      if (command.do === 'wait' || command.do === 'invoke') this.#begin(snapshot);
      const { also = [], spent = {} } = error instanceof AgentFailed ? error : {};
      return { kind: 'failed', ...faultOf(error), also, spent };
    }
  }

  async #do(command: Command, snapshot: Snapshot): Promise<MachineEvent | typeof OVER> {
    switch (command.do) {
      case 'wait':
        return this.#wait(command, snapshot);
      case 'launch':
        return this.#launch(command, snapshot);
      case 'invoke':
        return this.#invoke(command, snapshot);
      case 'hook':
        return this.#hears(command)
          ? this.#afterCommit(command, snapshot)
          : { kind: 'answer', value: unheard(command) };
      case 'action':
      case 'agent':
        return this.#afterCommit(command, snapshot);
      case 'agents':
        return this.#askEach(command, snapshot);
    }
  }

  /** All that was done in earlier states is stored before the next effect begins. */
  async #afterCommit(
    command: Command & { readonly do: 'hook' | 'action' | 'agent' },
    snapshot: Snapshot,
  ): Promise<MachineEvent | typeof OVER> {
    const draw = command.do === 'agent' ? this.#drawFor(snapshot) : undefined;
    if (draw !== undefined) {
      // A budget that is short parks the run: the next attempt comes here again, and asks anew.
      if ((await this.#commit(snapshot, [draw.mark], { go: 'on' }, draw.amounts)) === OVER) return OVER;
    } else if ((await this.#storeEarlier(snapshot)) === OVER) return OVER;
    return this.#effect(command, snapshot, draw?.amounts ?? []);
  }

  async #storeEarlier(snapshot: Snapshot): Promise<typeof OVER | undefined> {
    if (this.#done === undefined || this.#done.step === snapshot.step) return undefined;
    return (await this.#commit(snapshot, [], { go: 'on' })) === OVER ? OVER : undefined;
  }

  /** What a call of the agent of this state may cost. The mark is its receipt, one for each attempt. */
  #drawFor({ state, step }: Snapshot): { readonly amounts: readonly Amount[]; readonly mark: TurnEntry } | undefined {
    const amounts = this.#runnable.machine.states.get(state)?.draw ?? [];
    if (amounts.length === 0) return undefined;
    return { amounts, mark: { key: this.#drawKey(step), kind: 'mark', value: amounts } };
  }

  #drawKey(step: number): string {
    return `${stepKey(step)}/draw:${this.#run.attempt}`;
  }

  /** A state that only gives the process its turn has no hook. */
  #hears(command: Command & { readonly do: 'hook' }): boolean {
    const state = 'state' in command ? command.state : 'from' in command ? command.from : undefined;
    return this.#runnable.hooks.has(command.hook, state);
  }

  async #effect(
    command: Command & { readonly do: 'hook' | 'action' | 'agent' },
    snapshot: Snapshot,
    drawn: readonly Amount[],
  ): Promise<MachineEvent> {
    const { hooks } = this.#runnable;
    const done = this.#begin(snapshot);
    switch (command.do) {
      case 'hook':
        return { kind: 'answer', value: await hooks.call(command) };
      case 'action': {
        this.#acting = snapshot;
        const acted = await this.#within(command.timeoutMs, () =>
          hooks.act(snapshot.state, command.action, command.context),
        );
        if (!acted.same) done.out = acted.value;
        return { kind: 'acted', ...acted };
      }
      case 'agent': {
        done.given = command.input;
        const call = await this.#calls.of(command.agent).catch((error: unknown) => {
          this.#spending.end({}, drawn);
          throw error;
        });
        const answer = await this.#within(command.timeoutMs, (stop) =>
          call(command, AbortSignal.any([stop, this.#asked.signal]), this.#around(snapshot, 'asking')),
        ).catch((error: unknown) => {
          throw this.#cost(error, done, drawn);
        });
        done.out = answer.output ?? answer.content;
        this.#spent(done, answer, drawn);
        return { kind: 'agent', answer };
      }
    }
  }

  /** Answers of an earlier attempt count in the usage of the step, and are paid already. */
  #askEach(command: Command & { readonly do: 'agents' }, snapshot: Snapshot): Promise<MachineEvent | typeof OVER> {
    return this.#metered(command, snapshot, { onSpent: () => {} }, async (meter, within) => {
      const done = this.#begin(snapshot);
      const inputs = command.calls.map(({ input }) => input);
      if (isWithin(inputs, MOST_GIVEN)) done.given = inputs;
      const onSpent = (spent: AgentSpent): void => {
        done.usage = usageWith(undefined, spent);
      };
      const own = `${stepKey(snapshot.step)}/draw:`;
      const careful = this.#journal.keys().some((key) => key.startsWith(own));
      const ends = await this.#calls.each(command, this.#around(snapshot), { within, meter, onSpent, careful });
      return { kind: 'agents', ends };
    });
  }

  /** Kept with the entry of the step, and settled in the budget with it. */
  #spent(done: Mutable<StepDone>, spent: AgentSpent, drawn: readonly Amount[]): void {
    done.usage = usageWith(done.usage, spent);
    this.#spending.end(spent, drawn);
  }

  /** A call that failed may say what it has used. */
  #cost(error: unknown, done: Mutable<StepDone>, drawn: readonly Amount[]): unknown {
    if (error instanceof AgentFailed) this.#spent(done, error.spent, drawn);
    else this.#spending.endCut(drawn);
    return error;
  }

  #within<T>(timeoutMs: number | undefined, body: (stop: AbortSignal) => Promise<T>): Promise<T> {
    const { stop } = this.#run;
    return timeoutMs === undefined ? body(stop) : withinMs(this.#deps.world.timers, timeoutMs, stop, body);
  }

  /** Notes that this state does something. */
  #begin({ step, state }: Snapshot): Mutable<StepDone> {
    if (this.#done !== undefined) return this.#done;
    const via = this.#via.slice(0, -1);
    this.#via = [state];
    this.#done = {
      step,
      state,
      mid: false,
      via,
      began: this.#deps.world.clock.wall(),
      usage: undefined,
      results: new Map(),
    };
    return this.#done;
  }

  #around({ state, step, input, output }: Snapshot, how?: 'asking'): AgentAround {
    const { machine, hooks } = this.#runnable;
    const now = this.#deps.world.clock.wall();
    const { session } = this.#deps;
    const { task } = this.#run;
    const key = stepKey(step);
    const ledger = new JournalLedger(this.#journal, key, (entries) => session.turn({ entries, then: { go: 'on' } }));
    const ask = {
      key,
      ledger,
      lastWait: (wait: string) => this.#children.lastWait(wait),
      park: (then: TurnThen) => session.turn({ entries: [], then }),
      onParked: (error: Error) => this.#asked.abort(error),
    };
    return {
      machine,
      hooks,
      ...(how === 'asking' && task !== undefined ? { ask: askPerson({ ...ask, task }) } : {}),
      scope: this.#calls.scope,
      transition: (context) =>
        transitionOf(machine.states.get(state) as State, { context, input, output }, now, { conditional: true }),
      ledger,
    };
  }

  async #wait(
    { channel, timeoutMs }: Command & { readonly do: 'wait' },
    snapshot: Snapshot,
  ): Promise<MachineEvent | typeof OVER> {
    const key = `${stepKey(snapshot.step)}/w`;
    const waited = await this.#children.lastWait(key);
    if (waited?.outcome === 'timed_out') throw timeout(timeoutMs);
    const body =
      waited?.outcome === 'woken' && waited.body !== undefined
        ? waited.body
        : await this.#park(snapshot, { key, channel, ...timeoutOf(waited?.leftMs ?? timeoutMs) });
    if (body === OVER) return OVER;
    const value = body === undefined ? null : (JSON.parse(body) as Value);
    this.#begin(snapshot).out = value;
    return { kind: 'answer', value };
  }

  async #park(
    snapshot: Snapshot,
    wait: Omit<TurnThen & { readonly go: 'park' }, 'go'>,
  ): Promise<string | undefined | typeof OVER> {
    const turned = await this.#commit(snapshot, [], { go: 'park', ...wait });
    return turned === OVER ? OVER : turned.body;
  }

  /** Waits for no child of none: that is over at once, with the signal if there is one. An earlier attempt may have taken it. */
  async #take(channel: string): Promise<unknown> {
    if (this.#acting === undefined) return undefined;
    const key = `${stepKey(this.#acting.step)}/t`;
    const waited = await this.#children.lastWait(key);
    if (waited?.outcome === 'woken' && waited.body !== undefined) return JSON.parse(waited.body) as unknown;
    const turned = await this.#deps.session.turn({ entries: [], then: { go: 'park', key, channel, children: [] } });
    if (turned.went !== 'woken') {
      this.#isOver = true;
      throw new Error('the lease is over');
    }
    return turned.body === undefined ? undefined : (JSON.parse(turned.body) as unknown);
  }

  /** They start with the commit of the state that launches them. */
  async #launch(
    { children }: Command & { readonly do: 'launch' },
    snapshot: Snapshot,
  ): Promise<MachineEvent | typeof OVER> {
    if ((await this.#storeEarlier(snapshot)) === OVER) return OVER;
    const entries = await this.#childEntries(children, snapshot, 'l');
    this.#begin(snapshot);
    this.#launched.push(...entries);
    return { kind: 'launched' };
  }

  async #invoke(command: Command & { readonly do: 'invoke' }, snapshot: Snapshot): Promise<MachineEvent | typeof OVER> {
    if (keepsChildren(this.#runnable.machine)) return this.#invokeInline(command, snapshot);
    const entries = await this.#childEntries(command.children, snapshot, '');
    const ends = await this.#children.ends(entries, command, snapshot);
    if (ends === 'over') return OVER;
    const done = this.#begin(snapshot);
    done.results = new Map(
      ends.flatMap((end, i) => (end?.ok === true ? [[(entries[i] as TurnEntry).key, end.output] as const] : [])),
    );
    return { kind: 'invoked', ends };
  }

  /** Within this attempt: a crash repeats all of it. */
  #invokeInline(command: Command & { readonly do: 'invoke' }, snapshot: Snapshot): Promise<MachineEvent | typeof OVER> {
    const onSpent = (spent: AgentSpent): void => {
      const done = this.#begin(snapshot);
      done.usage = usageWith(done.usage, spent);
    };
    return this.#metered(command, snapshot, { onSpent }, async (meter, within) => {
      const { world } = this.#deps;
      const ends = await within((stop) => invokeInline(this.#runnable, command, snapshot, { world, stop, meter }));
      return { kind: 'invoked', ends };
    });
  }

  /** Many calls within one state, each of which draws for itself. */
  async #metered(
    { timeoutMs }: { readonly timeoutMs: number | undefined },
    snapshot: Snapshot,
    { onSpent }: Pick<InlineMeterDeps, 'onSpent'>,
    body: (meter: InlineMeter, within: Within) => Promise<MachineEvent>,
  ): Promise<MachineEvent | typeof OVER> {
    if ((await this.#storeEarlier(snapshot)) === OVER) return OVER;
    this.#begin(snapshot);
    const { session } = this.#deps;
    const meter = new InlineMeter({ session, spending: this.#spending, key: this.#drawKey(snapshot.step), onSpent });
    try {
      return await body(meter, (calls) =>
        this.#within(timeoutMs, (stop) => calls(AbortSignal.any([stop, meter.over]))),
      );
    } catch (error) {
      if (meter.over.aborted) return OVER;
      throw error;
    }
  }

  async #childEntries(
    children: (Command & { readonly do: 'invoke' })['children'],
    snapshot: Snapshot,
    mark: '' | 'l',
  ): Promise<readonly (TurnEntry & { readonly kind: 'child' })[]> {
    for (const machine of new Set(children.map((child) => child.machine))) await this.#runnable.peer(machine);
    const key = stepKey(snapshot.step);
    return children.map(({ machine, input }, i) => ({
      key: `${key}/${mark}${i}`,
      kind: 'child',
      child: this.#deps.childTask(machine, input, snapshot),
    }));
  }

  /** What was done since the last commit, with these entries. */
  async #commit(
    snapshot: Snapshot,
    entries: readonly TurnEntry[],
    then: TurnThen,
    draw?: readonly Amount[],
  ): Promise<Turned | typeof OVER> {
    const done = this.#done;
    const history =
      done === undefined
        ? undefined
        : this.#history.entriesFor(snapshot, {
            ...done,
            mid: done.step === snapshot.step && then.go !== 'complete',
            passed: this.#via.slice(1, -1),
          });
    const launched = this.#launched;
    const all = [...(history?.values ?? []), ...launched, ...entries];
    // A call that was cut off may end late: without an entry its cost waits for the next commit that has one.
    const settles = all.length > 0 || then.go === 'complete';
    const turn = (told: object): Promise<Turned> =>
      this.#deps.session.turn({ entries: all, then, ...(draw === undefined ? {} : { draw }), ...told });
    const turned = await (settles ? this.#spending.tellWith(turn) : turn({}));
    for (const [i, { key, kind }] of all.entries()) {
      const text = turned.entries[i];
      if (typeof text !== 'string') continue;
      if (kind === 'child') this.#born.set(key, taskIn(text));
      else this.#journal.set(key, text);
    }
    history?.stored();
    this.#done = undefined;
    this.#launched = [];
    this.#via = [snapshot.state];
    return turned.went === 'on' || turned.went === 'woken' ? turned : OVER;
  }

  async #end(snapshot: Snapshot): Promise<RunOutcome> {
    const { end, state } = snapshot;
    if (end?.kind === 'completed') {
      // The output is kept with the task.
      const { end: _, ...last } = { ...snapshot, output: null };
      try {
        await this.#commit(last, [], { go: 'complete', result: end.output });
        return { kind: 'parked' };
      } catch (error) {
        // What the run has come to cannot be kept. Another try would do all of its last state again, and come to the same.
        if (!isEngineError(error, 'TOO_LARGE') && !isEngineError(error, 'INVALID_INPUT')) throw error;
        const { type, message } = faultOf(error);
        return this.#failed(type, message, state);
      }
    }
    const { type, message } = end?.error ?? { type: 'Error', message: 'it has not ended' };
    return this.#failed(type, message, state);
  }

  /** What the state did is not stored: when the run is tried again, the state begins anew. */
  async #failed(type: string, message: string, state: string): Promise<RunOutcome> {
    const error = { name: type, message, state };
    this.#failure = new MachineFailed(type, message, state);
    const receipt: TurnEntry = { key: `failed:${this.#run.attempt}`, kind: 'mark', value: error };
    const entries = this.#spending.isEmpty ? [] : [receipt];
    await this.#spending.tellWith((told) =>
      this.#deps.session.turn({ entries, then: { go: 'fail', error, giveUp: true }, ...told }),
    );
    return { kind: 'parked' };
  }
}

/** As the node tells of a child. */
const taskIn = (text: string): number => (JSON.parse(text) as { readonly task: number }).task;

type Within = <T>(calls: (stop: AbortSignal) => Promise<T>) => Promise<T>;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
