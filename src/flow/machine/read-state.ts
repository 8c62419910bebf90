import { parseCel } from '../cel/parse.ts';
import { parseCondition } from '../expression/condition.ts';
import { isList, isMap, kindOf, type Value } from '../expression/values.ts';
import type { ValueTemplate } from '../template/value-template.ts';
import type { Condition, HookReference, Invoked, State, Transition } from './definition.ts';
import { Fields, sayWrong } from './fields.ts';
import type { Path, Problems } from './problems.ts';
import { readDraw } from './read-draw.ts';
import { warnOfShapes } from './shapes.ts';

const FIELDS = new Set([
  'type',
  'agent',
  'execution',
  'machine',
  'foreach',
  'as',
  'key',
  'mode',
  'timeout',
  'launch',
  'launch_input',
  'action',
  'wait_for',
  'input',
  'output_to_context',
  'output',
  'on_error',
  'transitions',
  'tool_loop',
  'sampling',
  'session_id',
  'hooks',
  'losers',
  'draw',
  'on_child_error',
  'description',
]);

const INVOKED = new Set(['name', 'input']);

const NOTHING: ValueTemplate = { kind: 'constant', value: {} };

export function readState(
  name: string,
  value: Value,
  engine: Condition['engine'],
  path: Path,
  problems: Problems,
): State {
  if (!isMap(value) && value !== null) problems.error(path, `expected a map, found ${kindOf(value)}`);
  const fields = new Fields(isMap(value) ? value : {}, path, problems);
  fields.known(FIELDS);
  warnOfShapes(fields, problems);
  const type = fields.oneOf('type', ['initial', 'final', ''], '');
  const machine = fields.value('machine') === '' ? undefined : fields.value('machine');
  const action = fields.name('action');
  const launch = fields.texts('launch');
  const foreach = fields.filled('foreach');
  const agent = fields.name('agent');
  if (foreach !== undefined && [machine, action, agent].every((one) => one === undefined) && launch.length === 0) {
    problems.warning(fields.pathOf('foreach'), 'there is nothing to do for each item');
  }
  return {
    name,
    final: type === 'final',
    waitFor: fields.filled('wait_for'),
    action,
    launch,
    launchInput: fields.template('launch_input') ?? NOTHING,
    machines: machine === undefined ? [] : readMachines(machine, fields, problems),
    several: isList(machine),
    agent,
    execution: fields.value('execution') === undefined ? undefined : fields.map('execution'),
    sessionId: fields.filled('session_id'),
    toolLoop: fields.value('tool_loop') === false ? undefined : fields.template('tool_loop'),
    foreach,
    as: fields.name('as') ?? 'item',
    key: fields.filled('key'),
    mode: fields.oneOf('mode', ['settled', 'any'], 'settled'),
    draw: readDraw(fields, problems),
    losers: fields.oneOf('losers', ['cancel', 'keep'], 'cancel'),
    onChildError: fields.oneOf('on_child_error', ['collect', 'fail'], 'collect'),
    timeout: fields.template('timeout'),
    input: fields.template('input') ?? NOTHING,
    outputToContext: fields.entries('output_to_context'),
    output: fields.template('output'),
    onError: readOnError(fields, problems),
    transitions: readTransitions(fields, engine, problems),
    hooks: readHooks(fields.value('hooks'), fields.pathOf('hooks'), problems),
  };
}

/** `name`, `[name, …]`, `[{name, input}, …]`. */
function readMachines(value: Value, fields: Fields, problems: Problems): readonly Invoked[] {
  const path = fields.pathOf('machine');
  const all = isList(value) ? value : [value];
  if (all.length === 0) problems.warning(path, 'this list has no machine');
  const invoked = all.flatMap((one, i): readonly Invoked[] => {
    if (typeof one === 'string') return [{ name: one, input: undefined }];
    const at = isList(value) ? [...path, i] : path;
    const inner = new Fields(isMap(one) ? one : {}, at, problems);
    const name = inner.text('name');
    if (name === undefined) {
      problems.error(at, 'a machine is a name, or {name, input}');
      return [];
    }
    inner.known(INVOKED);
    return [{ name, input: inner.template('input') }];
  });
  const names = invoked.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) problems.warning(path, `"${twice}" is named twice: only the last of its results is kept`);
  return invoked;
}

function readOnError(fields: Fields, problems: Problems): ReadonlyMap<string, string> {
  const value = fields.value('on_error');
  if (value === undefined || value === '') return new Map();
  if (typeof value === 'string') return new Map([['default', value]]);
  const path = fields.pathOf('on_error');
  if (!isMap(value)) {
    problems.error(path, `expected the name of a state, or a map from errors to states, found ${kindOf(value)}`);
    return new Map();
  }
  return new Map(
    Object.entries(value).flatMap(([type, to]) => {
      if (typeof to === 'string') return [[type, to] as const];
      if (to === null) return [];
      problems.error([...path, type], `expected the name of a state, found ${kindOf(to)}`);
      return [];
    }),
  );
}

function readTransitions(fields: Fields, engine: Condition['engine'], problems: Problems): readonly Transition[] {
  const value = fields.value('transitions');
  if (value === undefined) return [];
  const path = fields.pathOf('transitions');
  if (!isList(value)) {
    problems.error(path, `expected a list, found ${kindOf(value)}`);
    return [];
  }
  return value.flatMap((one, i) => {
    const inner = new Fields(isMap(one) ? one : {}, [...path, i], problems);
    inner.known(new Set(['condition', 'to', 'description']));
    const to = inner.text('to');
    if (to === undefined) {
      problems.warning([...path, i], 'a transition has the name of a state in "to": this one is never taken');
      return [];
    }
    return [{ condition: readCondition(inner, engine, problems), to }];
  });
}

/** Absent, empty and `true` are the same: always. */
function readCondition(fields: Fields, engine: Condition['engine'], problems: Problems): Condition | undefined {
  const value = fields.value('condition');
  if (value === undefined || value === true) return undefined;
  const source = value === false ? 'false' : fields.text('condition');
  if (source === undefined || source.trim() === '') return undefined;
  try {
    return { engine, source, expression: engine === 'cel' ? parseCel(source) : parseCondition(source) };
  } catch (error) {
    problems.error(fields.pathOf('condition'), sayWrong(source, error));
    return undefined;
  }
}

/** `name`, `{name, args}`, `{file | module, class, args}`, or a list of those. */
export function readHooks(value: Value, path: Path, problems: Problems): readonly HookReference[] {
  if (value === undefined || value === null) return [];
  if (isList(value)) return value.flatMap((one, i) => readHooks(one, [...path, i], problems));
  if (typeof value === 'string') {
    return [{ name: value, file: undefined, module: undefined, class: undefined, args: {} }];
  }
  if (!isMap(value)) {
    problems.error(path, `expected the name of hooks, found ${kindOf(value)}`);
    return [];
  }
  const fields = new Fields(value, path, problems);
  fields.known(new Set(['name', 'file', 'module', 'class', 'args']));
  const argTemplates = fields.marked('args');
  const reference = {
    name: fields.text('name'),
    file: fields.text('file'),
    module: fields.text('module'),
    class: fields.text('class'),
    args: fields.map('args'),
    ...(argTemplates === undefined ? {} : { argTemplates }),
  };
  if (reference.name !== undefined || reference.file !== undefined || reference.module !== undefined)
    return [reference];
  problems.error(path, 'hooks have a name, or a file or module with a class');
  return [];
}
