import { isMap, kindOf, type Value } from '../expression/values.ts';
import type { Fields } from './fields.ts';
import type { Problems } from './problems.ts';

const isText = (value: Value): boolean => typeof value === 'string';
const isWord = (value: Value): boolean => value === 'single' || value === 'multi';

/** Fields that are templates, and so may be anything: what they should be, for whoever asks for strictness. */
const SHAPES: readonly (readonly [field: string, expected: string, fits: (value: Value) => boolean])[] = [
  ['wait_for', 'the name of a channel', isText],
  ['launch_input', 'a map', isMap],
  ['timeout', 'a number of seconds', (value) => typeof value === 'number' || isText(value)],
  [
    'tool_loop',
    'true, false or a map of bounds',
    (value) => typeof value === 'boolean' || isText(value) || isMap(value),
  ],
  ['sampling', 'single or multi', isWord],
];

/** A machine with such a field runs, as it would elsewhere: it is a warning. */
export function warnOfShapes(fields: Fields, problems: Problems): void {
  for (const [field, expected, fits] of SHAPES) {
    const value = fields.value(field);
    if (value === undefined || value === null || fits(value)) continue;
    problems.warning(fields.pathOf(field), `expected ${expected}, found ${kindOf(value)}`);
  }
}
