/**
 * The way that a run would take, without doing anything. What a run begins with is known; what an agent, a machine or a signal gives is not, and after an
 * action nothing of the context is, for a hook may change all of it. A transition that depends on what is not known is undecided: then all ways are gone.
 */
import { isList, isMap, mapOf, type Value, type ValueMap } from '../../expression/values.ts';
import { asksForEach } from '../asked.ts';
import type { Machine, State } from '../definition.ts';
import { fittingContext } from '../scopes.ts';
import { allKnown, decide, type Known, type KnownScope, knownWith, nothingKnown, reasonOf, show } from './known.ts';

export interface DryRun {
  readonly machine: string;
  readonly steps: readonly DryStep[];
  /** More steps than are shown. */
  readonly cut: boolean;
}

export interface DryStep {
  /** From 1, in the order in which they are shown. */
  readonly number: number;
  readonly state: string;
  /** Whether a run comes here for sure: every transition before was decided, and nothing failed. */
  readonly certain: boolean;
  readonly does: readonly DryAct[];
  readonly next: readonly DryMove[];
  /** Where errors lead, by their types. */
  readonly errors: readonly DryMove[];
  /** Of a final state. */
  readonly output?: Value;
  /** Why the run would fail here. */
  readonly fails?: string;
}

export type DryAct =
  | { readonly do: 'action'; readonly action: string; readonly each?: Value }
  | { readonly do: 'wait'; readonly channel: Value; readonly timeout?: Value }
  | {
      readonly do: 'agent';
      readonly agent: string;
      readonly input: Value;
      /** What `foreach` goes through, if that is not known. */
      readonly each?: Value;
    }
  | {
      readonly do: 'machine' | 'launch';
      readonly machine: string;
      /** One for each item, where these are known. */
      readonly inputs: readonly Value[];
      /** What `foreach` goes through, if that is not known. */
      readonly each?: Value;
      readonly mode?: 'any';
      /** The way of the machine itself, with the first of the inputs. */
      readonly inside?: DryRun;
    };

export interface DryMove {
  readonly to: string;
  /** The condition, or the type of the error. */
  readonly when?: string;
  /** Undecided: it depends on what is not known. */
  readonly decided: boolean;
  /** The step that it leads to, if that is shown. */
  readonly step?: number;
  /** It leads to a state as it was before: this never ends. */
  readonly forever?: true;
}

export interface DryPeer {
  readonly machine: Machine;
  /** As its file says it. */
  readonly raw: ValueMap;
}

export interface DryWorld {
  readonly now: number;
  /** A machine that another names; undefined if it is not found. */
  readonly peer: (of: DryPeer, name: string) => Promise<DryPeer | undefined>;
}

const MOST_STEPS = 200;
/** Of items that are shown one by one. */
const MOST_ITEMS = 20;
const MOST_DEPTH = 4;
/** What an error writes into the context. */
const ERROR_KEYS = ['last_error', 'last_error_type', 'error'];

export async function dryRun(peer: DryPeer, input: ValueMap, world: DryWorld): Promise<DryRun> {
  return new Walk(peer, allKnown(input), world, []).go();
}

interface Way {
  readonly state: string;
  readonly context: Known;
  readonly certain: boolean;
}

class Walk {
  readonly #machine: Machine;
  readonly #peer: DryPeer;
  readonly #data: ValueMap;
  readonly #input: Known;
  readonly #world: DryWorld;
  /** The machines around this one. */
  readonly #around: readonly string[];
  readonly #steps: DryStep[] = [];
  #outcome: { readonly value: Value } | undefined;
  /** The first step of each state. */
  readonly #firsts = new Map<string, number>();
  /** States as a certain way came to them. */
  readonly #seen = new Map<string, number>();

  constructor(peer: DryPeer, input: Known, world: DryWorld, around: readonly string[]) {
    this.#peer = peer;
    this.#machine = peer.machine;
    this.#data = mapIn(peer.raw, 'data');
    this.#input = input;
    this.#world = world;
    this.#around = around;
  }

  /** The output, if it is known before the machine runs. */
  get output(): { readonly value: Value } | undefined {
    return this.#outcome;
  }

  async go(): Promise<DryRun> {
    const { name, initial } = this.#machine;
    const ways: Way[] = [{ state: initial, context: this.#begun(), certain: true }];
    let cut = false;
    for (let way = ways.shift(); way !== undefined; way = ways.shift()) {
      if (!way.certain && this.#firsts.has(way.state)) continue;
      if (this.#steps.length >= Math.min(MOST_STEPS, this.#machine.maxSteps)) {
        cut = true;
        break;
      }
      ways.unshift(...(await this.#step(way)));
    }
    return { machine: name, steps: this.#steps.map((step) => this.#linked(step)), cut };
  }

  #begun(): Known {
    const scope: KnownScope = { input: this.#input };
    let context = allKnown({});
    for (const [key, raw] of Object.entries(mapIn(this.#data, 'context'))) {
      context = knownWith(context, key, show(raw, scope, this.#machine.templateMode));
    }
    // The runtime says there what only a run knows.
    if (Object.hasOwn(context.values, 'machine')) return context;
    return knownWith(context, 'machine', { value: null, known: false });
  }

  /** One state, and the ways on from it. */
  async #step({ state: name, context, certain }: Way): Promise<readonly Way[]> {
    const state = this.#machine.states.get(name) as State;
    const number = this.#steps.length + 1;
    if (!this.#firsts.has(name)) this.#firsts.set(name, number);
    if (certain) this.#seen.set(fingerprint(name, context), number);
    const errors = [...state.onError].map(([type, to]): DryMove => ({ to, when: type, decided: false }));
    const acted = await this.#acts(state, context);
    const base = { number, state: name, certain, does: acted.does, errors };
    const left = state.action === undefined ? context : nothingKnown();
    const after = ERROR_KEYS.reduce((known, key) => knownWith(known, key, { value: null, known: false }), left);
    const recovered = errors.map(({ to }): Way => ({ state: to, context: after, certain: false }));
    if (acted.fails !== undefined) {
      this.#steps.push({ ...base, next: [], fails: acted.fails });
      return recovered;
    }
    if (state.final) {
      const raw = mapIn(this.#stateRaw(name), 'output');
      const end = this.#output(raw, acted.context);
      if (certain && 'known' in end && end.known) this.#outcome = { value: end.output };
      this.#steps.push({ ...base, next: [], ...('known' in end ? { output: end.output } : end) });
      return [];
    }
    const { next, fails } = this.#moves(state, acted, certain);
    this.#steps.push({ ...base, next, ...(fails === undefined ? {} : { fails }) });
    const sure = certain && next.length === 1 && next[0]?.decided === true;
    const ways = next
      .filter(({ forever }) => forever === undefined)
      .map(({ to }): Way => ({ state: to, context: acted.context, certain: sure }));
    return [...ways, ...recovered];
  }

  #output(
    raw: ValueMap,
    context: Known,
  ): { readonly output: Value; readonly known: boolean } | { readonly fails: string } {
    try {
      const { value, known } = show(raw, { context, input: this.#input }, this.#machine.templateMode);
      return { output: value, known };
    } catch (error) {
      return { fails: reasonOf(error) };
    }
  }

  #moves(state: State, { context, output }: Acted, certain: boolean): { next: DryMove[]; fails?: string } {
    const scope: KnownScope = { context, input: this.#input, output };
    const next: DryMove[] = [];
    for (const { condition, to } of state.transitions) {
      const when = condition === undefined ? {} : { when: condition.source };
      let holds: boolean | undefined = true;
      try {
        if (condition !== undefined) holds = decide(state, condition, scope, this.#world.now);
      } catch (error) {
        return { next, fails: reasonOf(error) };
      }
      if (holds === false) continue;
      const decided = holds === true && next.length === 0;
      const again = decided && certain && this.#seen.has(fingerprint(to, context));
      next.push({ to, ...when, decided, ...(again ? { forever: true as const } : {}) });
      if (holds === true) return { next };
    }
    return next.length > 0 ? { next } : { next, fails: `no transition of "${state.name}" matches` };
  }

  #linked(step: DryStep): DryStep {
    const link = (move: DryMove, i: number): DryMove => {
      // A certain way goes on with the next step, which may be a state that was there before.
      const follows = step.certain && move.decided && i === 0 && this.#steps[step.number]?.state === move.to;
      const number = follows ? step.number + 1 : this.#firsts.get(move.to);
      return number === undefined ? move : { ...move, step: number };
    };
    return { ...step, next: step.next.map(link), errors: step.errors.map((move) => link(move, 1)) };
  }

  #stateRaw(name: string): ValueMap {
    return mapIn(mapIn(this.#data, 'states'), name);
  }

  /** In the order of the language. */
  async #acts(state: State, before: Known): Promise<Acted> {
    const acted: Mutable = { context: before, output: { value: null }, does: [], fails: undefined };
    try {
      if (state.waitFor !== undefined) this.#wait(state, acted);
      else {
        if (state.action !== undefined) this.#action(state, acted);
        if (state.launch.length > 0) this.#launch(state, acted);
        if (state.machines.length > 0) await this.#invoke(state, acted);
        if (state.agent !== undefined) this.#agent(state, acted);
        // A state that only routes may write to the context as well.
        if (acted.does.every((act) => act.do === 'launch')) this.#toContext(state, acted, acted.output);
      }
    } catch (error) {
      return { ...acted, fails: reasonOf(error) };
    }
    return acted;
  }

  #show(state: State, field: string, context: Known, more: KnownScope = {}) {
    const scope = { context, input: this.#input, ...more };
    return show(this.#stateRaw(state.name)[field] ?? {}, scope, this.#machine.templateMode);
  }

  #wait(state: State, acted: Mutable): void {
    const channel = this.#show(state, 'wait_for', acted.context).value;
    const timeout = state.timeout === undefined ? {} : { timeout: this.#show(state, 'timeout', acted.context).value };
    acted.does.push({ do: 'wait', channel, ...timeout });
    this.#toContext(state, acted);
  }

  #action(state: State, acted: Mutable): void {
    const alone = state.machines.length === 0 && state.launch.length === 0;
    const each =
      state.foreach === undefined || !alone ? {} : { each: this.#show(state, 'foreach', acted.context).value };
    acted.does.push({ do: 'action', action: state.action as string, ...each });
    acted.context = nothingKnown();
    this.#toContext(state, acted);
  }

  #launch(state: State, acted: Mutable): void {
    const { inputs, each } = this.#inputs(state, 'launch_input', acted.context, state.machines.length === 0);
    for (const machine of state.launch) acted.does.push({ do: 'launch', machine, inputs, ...each });
  }

  async #invoke(state: State, acted: Mutable): Promise<void> {
    const { inputs, each } = this.#inputs(state, 'input', acted.context, true);
    const mode = state.mode === 'any' ? { mode: state.mode } : {};
    let output: Acted['output'];
    for (const [i, { name }] of state.machines.entries()) {
      const own = this.#ownInput(state, i, acted.context);
      const given = own === undefined ? inputs : inputs.map((one) => (isMap(one) ? { ...one, ...own } : own));
      const inside = await this.#inside(name, given[0] ?? {});
      const shown = inside === undefined ? {} : { inside: inside.run };
      acted.does.push({ do: 'machine', machine: name, inputs: given, ...each, ...mode, ...shown });
      if (!state.several && state.foreach === undefined) output = inside?.output;
    }
    this.#toContext(state, acted, output);
  }

  #ownInput(state: State, place: number, context: Known): ValueMap | undefined {
    const raw = this.#stateRaw(state.name)['machine'];
    const one: Value = isList(raw) ? raw[place] : raw;
    if (!isMap(one) || !isMap(one['input'])) return undefined;
    return show(one['input'], { context, input: this.#input }, this.#machine.templateMode).value as ValueMap;
  }

  #inputs(state: State, field: string, context: Known, loops: boolean): { inputs: Value[]; each: { each?: Value } } {
    if (state.foreach === undefined || !loops) return { inputs: [this.#show(state, field, context).value], each: {} };
    const items = this.#show(state, 'foreach', context);
    if (!items.known || !isList(items.value)) {
      return {
        inputs: [this.#show(state, field, context, { [state.as]: undefined }).value],
        each: { each: items.value },
      };
    }
    const each =
      items.value.length > MOST_ITEMS ? { each: `${items.value.length} items, the first ${MOST_ITEMS} shown` } : {};
    const inputs = items.value
      .slice(0, MOST_ITEMS)
      .map((item) => this.#show(state, field, context, { [state.as]: { value: item } }).value);
    return { inputs, each };
  }

  /** What stays as it is written in an input is not known inside either. */
  async #inside(name: string, input: Value): Promise<{ run: DryRun; output: Acted['output'] } | undefined> {
    if (this.#around.length + 1 >= MOST_DEPTH) return undefined;
    const peer = await this.#world.peer(this.#peer, name);
    if (peer === undefined || peer.machine.name === this.#machine.name || this.#around.includes(peer.machine.name)) {
      return undefined;
    }
    const values = isMap(input) ? input : {};
    const unknown = new Set(Object.keys(values).filter((key) => isUnrendered(values[key])));
    const around = [...this.#around, this.#machine.name];
    const walk = new Walk(peer, { values, unknown, open: false }, this.#world, around);
    return { run: await walk.go(), output: walk.output };
  }

  #agent(state: State, acted: Mutable): void {
    const { inputs, each } = this.#inputs(state, 'input', acted.context, asksForEach(state));
    for (const input of inputs) acted.does.push({ do: 'agent', agent: state.agent as string, input, ...each });
    // A tool loop leaves its own keys in the context, which nothing here knows of.
    if (state.toolLoop !== undefined) acted.context = { ...acted.context, open: true };
    this.#toContext(state, acted);
  }

  /** `output` is known only of a machine within that asks nobody. */
  #toContext(state: State, acted: Mutable, output?: Acted['output']): void {
    acted.output = output;
    for (const [key, raw] of Object.entries(mapIn(this.#stateRaw(state.name), 'output_to_context'))) {
      const scope: KnownScope = { context: acted.context, input: this.#input, output };
      const shown = show(raw, scope, this.#machine.templateMode);
      fittingContext(acted.context.values, key, shown.value);
      acted.context = knownWith(acted.context, key, shown);
    }
  }
}

interface Acted {
  readonly context: Known;
  /** Null before anything was done, mostly not known afterwards. */
  readonly output: { readonly value: Value } | undefined;
  readonly does: readonly DryAct[];
  readonly fails: string | undefined;
}

interface Mutable extends Acted {
  context: Known;
  output: Acted['output'];
  readonly does: DryAct[];
}

function mapIn(map: ValueMap, key: string): ValueMap {
  const value = Object.hasOwn(map, key) ? map[key] : undefined;
  return isMap(value) ? value : mapOf([]);
}

function fingerprint(state: string, { values, unknown, open }: Known): string {
  return JSON.stringify([state, values, [...unknown].sort(), open]);
}

function isUnrendered(value: Value): boolean {
  if (typeof value === 'string') return /\{[{%]|^(?:output|context|input)(?:\.|$)/.test(value);
  if (isList(value)) return value.some(isUnrendered);
  return isMap(value) && Object.values(value).some(isUnrendered);
}
