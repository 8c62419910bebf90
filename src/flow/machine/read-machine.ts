import { isMap, kindOf, mapOf, numberIn, type Value, type ValueMap, withAll } from '../expression/values.ts';
import type { TemplateMode } from '../template/template.ts';
import type { Condition, Machine, State } from './definition.ts';
import { Fields, meant } from './fields.ts';
import { type Problem, Problems } from './problems.ts';
import { readHooks, readState } from './read-state.ts';
import { warnOfPersistence } from './shapes.ts';

const TOP_FIELDS = new Set(['spec', 'spec_version', 'data', 'metadata', '$schema']);
/** Written beside `settings`, where they belong: published machines have this. */
const MISPLACED = ['max_steps', 'max_depth'] as const;
const DATA_FIELDS = new Set([
  'name',
  'expression_engine',
  'context',
  'agents',
  'machines',
  'states',
  'settings',
  'persistence',
  'hooks',
  'lifecycle_hooks',
  'description',
  'profiles',
  ...MISPLACED,
]);
const ENGINES = ['simple', 'cel'] as const;
const DEFAULT_MAX_STEPS = 1000;
/** Of machines within machines. */
const DEFAULT_MAX_DEPTH = 32;
/** Items of a list that an agent is asked for at once: a model has its limits, and a program a process. */
const USUAL_PARALLEL = 8;
const MOST_PARALLEL = 1000;
/** The versions whose fields are read. */
const NEWEST_MAJOR = 4;

export interface ReadMachine {
  /** Undefined if a problem keeps it from running. */
  readonly machine: Machine | undefined;
  readonly problems: readonly Problem[];
}

/** Reads a machine from what its file says. Strict: every problem keeps it from running. */
export function readMachine(value: Value, { strict = false }: { readonly strict?: boolean } = {}): ReadMachine {
  const problems = new Problems();
  const machine = isMap(value) ? readEnvelope(value, problems) : undefined;
  if (!isMap(value)) problems.error([], `a machine is a map, not ${kindOf(value)}`);
  const found = strict ? problems.all.map((problem) => ({ ...problem, level: 'error' as const })) : problems.all;
  const runs = !found.some(({ level }) => level === 'error');
  return { machine: runs ? machine : undefined, problems: found };
}

function readEnvelope(value: ValueMap, problems: Problems): Machine | undefined {
  const top = new Fields(value, [], problems);
  top.known(TOP_FIELDS);
  const spec = top.value('spec');
  if (spec !== 'flatmachine') problems.error(['spec'], 'this is not a machine: expected "spec: flatmachine"');
  const specVersion = top.text('spec_version') ?? '';
  checkVersion(specVersion, problems);
  const data = top.value('data');
  if (!isMap(data)) {
    problems.error(['data'], data === undefined ? '"data" is missing' : `expected a map, found ${kindOf(data)}`);
    return undefined;
  }
  return readData(data, specVersion, top.map('metadata'), problems);
}

function checkVersion(version: string, problems: Problems): void {
  const major = /^(\d+)(?:\.\d+)*/.exec(version)?.[1];
  if (version === '') problems.warning(['spec_version'], '"spec_version" is missing');
  else if (major === undefined) problems.warning(['spec_version'], `"${version}" is not a version`);
  else if (Number(major) > NEWEST_MAJOR) {
    problems.warning(['spec_version'], `version ${version} is newer than ${NEWEST_MAJOR}.x, which is read here`);
  }
}

function readData(data: ValueMap, specVersion: string, metadata: ValueMap, problems: Problems): Machine | undefined {
  const fields = new Fields(data, ['data'], problems);
  fields.known(DATA_FIELDS);
  warnOfPersistence(fields, problems);
  const given = fields.map('settings');
  // Some guides have it among the settings.
  const inSettings = new Fields(given, ['data', 'settings'], problems).oneOf('expression_engine', ENGINES, 'simple');
  const engine = fields.oneOf('expression_engine', ENGINES, inSettings);
  const settings = withAll(mapOf(misplaced(data, fields, problems)), given);
  const states = readStates(fields, engine, problems);
  const initial = initialOf(fields, states, problems);
  if (initial === undefined) return undefined;
  checkTargets(states, problems);
  const setting = new Fields(settings, ['data', 'settings'], problems);
  return {
    name: fields.text('name') ?? 'unnamed-machine',
    specVersion,
    templateMode: setting.oneOf<TemplateMode>(
      'template_mode',
      ['native', 'v0', 'early'],
      /^(?:0|1\.0)(?:\.|$)/.test(specVersion) ? 'early' : 'native',
    ),
    context: fields.entries('context'),
    states,
    initial,
    maxSteps: atLeast(1, setting, 'max_steps', problems) ?? DEFAULT_MAX_STEPS,
    maxDepth: atLeast(0, setting, 'max_depth', problems) ?? DEFAULT_MAX_DEPTH,
    maxAgentCalls: atLeast(0, setting, 'max_agent_calls', problems),
    maxParallel: Math.min(atLeast(1, setting, 'max_parallel', problems) ?? USUAL_PARALLEL, MOST_PARALLEL),
    parallelFallback: setting.oneOf('parallel_fallback', ['sequential', 'error'], 'sequential'),
    settings,
    agents: fields.map('agents'),
    machines: fields.map('machines'),
    profiles: fields.value('profiles'),
    persistence: fields.map('persistence'),
    hooks: readHooks(fields.value('hooks'), fields.pathOf('hooks'), problems),
    lifecycleHooks: readHooks(fields.value('lifecycle_hooks'), fields.pathOf('lifecycle_hooks'), problems),
    metadata,
  };
}

function misplaced(data: ValueMap, fields: Fields, problems: Problems): readonly (readonly [string, Value])[] {
  return MISPLACED.flatMap((name) => {
    if (!Object.hasOwn(data, name)) return [];
    problems.warning(fields.pathOf(name), `"${name}" belongs into "settings", and is read as if it were there`);
    return [[name, data[name]] as const];
  });
}

/** A number that is written as a text is one too: settings often come out of other templates. */
function atLeast(least: number, fields: Fields, name: string, problems: Problems): number | undefined {
  const value = fields.value(name);
  const number = typeof value === 'string' ? numberIn(value) : value;
  if (number === undefined && value === undefined) return undefined;
  if (typeof number === 'number' && number >= least) return number;
  problems.warning(fields.pathOf(name), `expected a number from ${least} on`);
  return undefined;
}

function readStates(fields: Fields, engine: Condition['engine'], problems: Problems): ReadonlyMap<string, State> {
  const states = fields.map('states');
  return new Map(
    Object.entries(states).map(([name, value]) => [
      name,
      readState(name, value, engine, [...fields.pathOf('states'), name], problems),
    ]),
  );
}

/** The one of type `initial`; without one, the one named `start`; without that, the first. */
function initialOf(fields: Fields, states: ReadonlyMap<string, State>, problems: Problems): string | undefined {
  const path = fields.pathOf('states');
  if (states.size === 0) {
    problems.error(path, 'a machine has at least one state');
    return undefined;
  }
  const raw = fields.map('states');
  const initial = [...states.keys()].filter((name) => {
    const state = raw[name];
    return isMap(state) && state['type'] === 'initial';
  });
  if (initial.length > 1) {
    problems.error([...path, initial[1] as string, 'type'], `there are two initial states: ${initial.join(', ')}`);
  }
  return initial[0] ?? (states.has('start') ? 'start' : states.keys().next().value);
}

/** Every state that is named must be there, and one that does not end must lead somewhere. */
function checkTargets(states: ReadonlyMap<string, State>, problems: Problems): void {
  for (const [name, state] of states) {
    const path = ['data', 'states', name];
    for (const [i, { to }] of state.transitions.entries()) {
      if (!states.has(to))
        problems.error([...path, 'transitions', i, 'to'], `there is no state "${to}"${meant(to, states.keys())}`);
    }
    for (const [type, to] of state.onError) {
      if (!states.has(to))
        problems.error([...path, 'on_error', type], `there is no state "${to}"${meant(to, states.keys())}`);
    }
    if (!state.final && state.transitions.length === 0) {
      problems.warning(path, `"${name}" leads nowhere: it is not final and has no transitions`);
    }
  }
}
