import { isList, isMap, kindOf, mapOf, type Value, type ValueMap, withAll, withValue } from '../expression/values.ts';
import type { Child, ChildEnd } from './commands.ts';
import type { Machine, State } from './definition.ts';
import { renderField, StateError } from './scopes.ts';

/** The children that a state launches or invokes, and what their ends amount to. */

/** What `foreach` gives; undefined for a state without it. */
export function itemsOfState(machine: Machine, state: State, scope: ValueMap): readonly Value[] | undefined {
  if (state.foreach === undefined) return undefined;
  const items = saidList(renderField(machine, 'foreach', state.foreach, scope));
  if (isList(items)) return items;
  throw new StateError('ForeachError', `foreach gives a list, not ${kindOf(items)}`);
}

/** `foreach: "{{ context.items | tojson }}"` is a text since 1.1, and published machines mean the list. */
function saidList(value: Value): Value {
  if (typeof value !== 'string' || !/^\s*\[/.test(value)) return value;
  try {
    return JSON.parse(value) as Value;
  } catch {
    return value;
  }
}

export const scopeWith = (scope: ValueMap, state: State, item: Value): ValueMap => withValue(scope, state.as, item);

/** The keys of the results, or undefined if they are a list. Two items with one key are an error. */
function keysOf(
  machine: Machine,
  state: State,
  scope: ValueMap,
  items: readonly Value[],
): readonly string[] | undefined {
  const { key } = state;
  if (key === undefined) return undefined;
  const keys = items.map((item) => {
    const value = renderField(machine, 'key', key, scopeWith(scope, state, item));
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
  const seen = new Set<string>();
  const twice = keys.find((one) => seen.size === seen.add(one).size);
  if (twice !== undefined) throw new StateError('DuplicateKey', `two items have the key "${twice}"`);
  return keys;
}

/** What a state gave for each of its items: a list, or a map by their keys. */
export function gathered(
  machine: Machine,
  state: State,
  scope: ValueMap,
  items: readonly Value[],
  results: readonly Value[],
): Value {
  const keys = keysOf(machine, state, scope, items);
  return keys === undefined ? results : mapOf(keys.map((key, i) => [key, results[i] ?? null]));
}

export function launchedBy(machine: Machine, state: State, scope: ValueMap): readonly Child[] {
  const items = state.machines.length === 0 ? itemsOfState(machine, state, scope) : undefined;
  const scopes = items === undefined ? [scope] : items.map((item) => scopeWith(scope, state, item));
  return scopes.flatMap((one) => {
    const input = renderField(machine, 'launch_input', state.launchInput, one);
    return state.launch.map((name) => ({ machine: name, input }));
  });
}

export function invokedBy(machine: Machine, state: State, scope: ValueMap): readonly Child[] {
  const items = itemsOfState(machine, state, scope);
  if (items !== undefined) {
    const [first] = state.machines;
    if (first === undefined || state.machines.length > 1)
      throw new StateError('ForeachError', 'foreach takes one machine');
    keysOf(machine, state, scope, items);
    return items.map((item) => childOf(machine, state, first, scopeWith(scope, state, item)));
  }
  return state.machines.map((one) => childOf(machine, state, one, scope));
}

function childOf(machine: Machine, state: State, invoked: State['machines'][number], scope: ValueMap): Child {
  const common = renderField(machine, 'input', state.input, scope);
  if (invoked.input === undefined) return { machine: invoked.name, input: common };
  const own = renderField(machine, 'machine.input', invoked.input, scope);
  const input = isMap(common) && isMap(own) ? withAll(common, own) : own;
  return { machine: invoked.name, input };
}

/** The output of a state that invoked machines. */
export function outputOf(
  machine: Machine,
  state: State,
  scope: ValueMap,
  ends: readonly (ChildEnd | undefined)[],
): Value {
  const items = itemsOfState(machine, state, scope);
  const keys = items === undefined ? undefined : keysOf(machine, state, scope, items);
  if (state.mode === 'any' && ends.length > 0) return winner(state, items, keys, ends);
  if (items === undefined && !state.several) return single(ends[0]);
  if (state.onChildError === 'fail') throwFirst(ends);
  const results = ends.map(resultOf);
  if (items === undefined) return mapOf(state.machines.map(({ name }, i) => [name, results[i]]));
  return keys === undefined ? results : mapOf(keys.map((key, i) => [key, results[i]]));
}

const resultOf = (end: ChildEnd | undefined): Value => {
  if (end === undefined) return null;
  return end.ok ? end.output : { _error: end.message, _error_type: end.type };
};

function single(end: ChildEnd | undefined): Value {
  if (end === undefined) return null;
  if (end.ok) return end.output;
  throw new StateError(end.type, end.message);
}

function throwFirst(ends: readonly (ChildEnd | undefined)[]): void {
  for (const end of ends) if (end !== undefined && !end.ok) throw new StateError(end.type, end.message);
}

/** The first that completed. If all failed, the state fails with the last of their errors. */
function winner(
  state: State,
  items: readonly Value[] | undefined,
  keys: readonly string[] | undefined,
  ends: readonly (ChildEnd | undefined)[],
): Value {
  const place = ends.findIndex((end) => end?.ok === true);
  const end = ends[place];
  if (end?.ok !== true) {
    const failed = ends.findLast((one) => one !== undefined && !one.ok);
    throw new StateError(
      failed?.ok === false ? failed.type : 'ChildError',
      failed?.ok === false ? failed.message : 'no machine completed',
    );
  }
  if (keys !== undefined) return mapOf([[keys[place] as string, end.output]]);
  if (items !== undefined || !state.several) return end.output;
  return mapOf([[(state.machines[place] as State['machines'][number]).name, end.output]]);
}
