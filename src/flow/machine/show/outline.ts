/** A machine as it is drawn: its states in the order of the file, what each does, and where it leads. */
import { isList, isMap, type Value, type ValueMap } from '../../expression/values.ts';
import type { Machine, State } from '../definition.ts';

export interface Outline {
  readonly name: string;
  readonly specVersion: string;
  readonly initial: string;
  readonly states: readonly OutlinedState[];
}

export interface OutlinedState {
  readonly name: string;
  readonly initial: boolean;
  readonly final: boolean;
  /** Whether any way from the initial state comes here. */
  readonly reachable: boolean;
  /** `['action', 'get_pool_state']`, in the order in which they are done. */
  readonly does: readonly (readonly [verb: string, what: string])[];
  readonly transitions: readonly { readonly to: string; readonly when?: string }[];
  /** By the type of the error; `default` for any other. */
  readonly errors: readonly { readonly to: string; readonly type: string }[];
}

/** `raw` is what the file says: templates are shown as they are written. */
export function outlineOf(machine: Machine, raw: Value): Outline {
  const data = mapIn(raw, 'data');
  const reached = reachableFrom(machine);
  return {
    name: machine.name,
    specVersion: machine.specVersion,
    initial: machine.initial,
    states: [...machine.states.values()].map((state) => ({
      name: state.name,
      initial: state.name === machine.initial,
      final: state.final,
      reachable: reached.has(state.name),
      does: doesOf(state, mapIn(mapIn(data, 'states'), state.name)),
      transitions: state.transitions.map(({ to, condition }) =>
        condition === undefined ? { to } : { to, when: condition.source },
      ),
      errors: [...state.onError].map(([type, to]) => ({ type, to })),
    })),
  };
}

function doesOf(state: State, raw: ValueMap): OutlinedState['does'] {
  const text = (field: string): string => textOf(raw[field]);
  const does: [string, string][] = [];
  if (state.waitFor !== undefined) does.push(['wait for', `signal ${text('wait_for')}`]);
  if (state.foreach !== undefined) does.push(['for each', `${state.as} in ${text('foreach')}`]);
  if (state.action !== undefined) does.push(['action', state.action]);
  if (state.launch.length > 0) does.push(['launch', state.launch.join(', ')]);
  if (state.machines.length > 0) {
    const names = state.machines.map(({ name }) => name).join(', ');
    does.push(['machine', state.mode === 'any' ? `${names} (the first that completes)` : names]);
  }
  if (state.agent !== undefined)
    does.push(['agent', `${state.agent}${state.toolLoop === undefined ? '' : ' with tools'}`]);
  if (state.execution !== undefined) does.push(['execution', textOf(state.execution['type'] ?? 'default')]);
  if (state.timeout !== undefined) does.push(['timeout', `${text('timeout')} s`]);
  const sets = state.outputToContext.map(([name]) => name);
  if (sets.length > 0) does.push(['sets', sets.join(', ')]);
  const output = isMap(raw['output']) ? Object.keys(raw['output']) : [];
  if (state.final && output.length > 0) does.push(['output', output.join(', ')]);
  return does;
}

function reachableFrom(machine: Machine): ReadonlySet<string> {
  const reached = new Set<string>();
  const ahead = [machine.initial];
  for (let name = ahead.pop(); name !== undefined; name = ahead.pop()) {
    const state = machine.states.get(name);
    if (state === undefined || reached.has(name)) continue;
    reached.add(name);
    ahead.push(...state.transitions.map(({ to }) => to), ...state.onError.values());
  }
  return reached;
}

function textOf(value: Value): string {
  if (typeof value === 'string') return value;
  return isList(value) || isMap(value) ? JSON.stringify(value) : String(value);
}

function mapIn(map: Value, key: string): ValueMap {
  const value = isMap(map) && Object.hasOwn(map, key) ? map[key] : undefined;
  return isMap(value) ? value : {};
}
