import { isList, isMap, kindOf, type Value } from '../expression/values.ts';
import { Fields } from './fields.ts';
import type { Problems } from './problems.ts';

type Shape = readonly [field: string, expected: string, fits: (value: Value) => boolean];

const isText = (value: Value): boolean => typeof value === 'string';
const isTruth = (value: Value): boolean => typeof value === 'boolean';
const isWord = (value: Value): boolean => value === 'single' || value === 'multi';
const isListOf = (value: Value, fits: (item: Value) => boolean): boolean => isList(value) && value.every(fits);
const isIn = (value: Value, least: number, most: number): boolean =>
  typeof value === 'number' && value >= least && value <= most;
const isFew = (value: Value): boolean => isIn(value, 1, 100) && Number.isInteger(value);
const isNames = (value: Value): boolean => isText(value) || isListOf(value, isText);
/** A bound of a tool loop may be a template. */
const isBound = (value: Value): boolean => typeof value === 'number' || isText(value);

/** Fields that are templates, and so may be anything: what they should be, for whoever asks for strictness. */
const STATE: readonly Shape[] = [
  ['wait_for', 'the name of a channel', isText],
  ['launch_input', 'a map', isMap],
  ['timeout', 'a number of seconds', (value) => typeof value === 'number' || isText(value)],
  ['tool_loop', 'true, false or a map of bounds', (value) => isTruth(value) || isText(value) || isMap(value)],
  ['sampling', 'single or multi', isWord],
];

const COUNT = 'a whole number from 1 to 100';
const EXECUTION: readonly Shape[] = [
  ['backoffs', 'a list of seconds', (value) => isListOf(value, (one) => isIn(one, 0, Infinity))],
  ['jitter', 'a number from 0 to 1', (value) => isIn(value, 0, 1)],
  ['retry_on_empty', 'true or false', isTruth],
  ['n_samples', COUNT, isFew],
  ['k_margin', COUNT, isFew],
  ['max_candidates', COUNT, isFew],
  ['max_response_tokens', 'a number', (value) => isIn(value, 0, Infinity)],
];

const TOOL_LOOP: readonly Shape[] = [
  ...['max_tool_calls', 'max_turns', 'max_cost', 'tool_timeout', 'total_timeout'].map(
    (name): Shape => [name, 'a number', isBound],
  ),
  ['allowed_tools', 'a list of names', isNames],
  ['denied_tools', 'a list of names', isNames],
  ['policies', 'a map from tools to policies', isMap],
];

/** When a run that is kept may be written down. */
export const CHECKPOINTS: readonly string[] = [
  'machine_start',
  'state_enter',
  'execute',
  'state_exit',
  'machine_end',
  'waiting',
  'tool_call',
];
const isEvent = (value: Value): boolean => typeof value === 'string' && CHECKPOINTS.includes(value);
const PERSISTENCE: readonly Shape[] = [
  ['enabled', 'true or false', isTruth],
  ['backend', 'the name of a backend', isText],
  ['checkpoint_on', `a list of ${CHECKPOINTS.join(', ')}`, (value) => isListOf(value, isEvent)],
];

/** A state with such a field runs, as it would elsewhere: it is a warning. */
export function warnOfShapes(fields: Fields, problems: Problems): void {
  warnOf(STATE, fields, problems);
  const execution = within(fields, 'execution', EXECUTION, problems);
  execution?.oneOf('type', ['default', 'retry', 'parallel', 'mdap_voting'], 'default');
  if (execution !== undefined) warnOf(EXECUTION, execution, problems);
  const toolLoop = within(fields, 'tool_loop', TOOL_LOOP, problems);
  if (toolLoop !== undefined) warnOf(TOOL_LOOP, toolLoop, problems);
}

/** What a backend takes besides is its own. */
export function warnOfPersistence(fields: Fields, problems: Problems): void {
  const value = fields.value('persistence');
  if (isMap(value)) warnOf(PERSISTENCE, new Fields(value, fields.pathOf('persistence'), problems), problems);
}

/** The fields of a map within a field, none of which is unheard of. */
function within(fields: Fields, name: string, shapes: readonly Shape[], problems: Problems): Fields | undefined {
  const value = fields.value(name);
  if (!isMap(value)) return undefined;
  const inner = new Fields(value, fields.pathOf(name), problems);
  inner.known(new Set([...(name === 'execution' ? ['type'] : []), ...shapes.map(([field]) => field)]));
  return inner;
}

function warnOf(shapes: readonly Shape[], fields: Fields, problems: Problems): void {
  for (const [field, expected, fits] of shapes) {
    const value = fields.value(field);
    if (value === undefined || fits(value)) continue;
    problems.warning(fields.pathOf(field), `expected ${expected}, found ${kindOf(value)}`);
  }
}
