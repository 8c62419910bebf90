import { isList, isMap, type Value } from '../../expression/values.ts';

/** About how long a number is. */
const NUMBER = 8;

/**
 * About how long the JSON text of a value is, without making it: what is escaped in a text counts as one character, and is six at most. A step
 * of a run asks for three of these lengths, and only to compare them.
 */
export function textLength(value: Value): number {
  if (typeof value === 'string') return value.length + 2;
  if (isList(value)) {
    let length = 2;
    for (const one of value) length += textLength(one) + 1;
    return length;
  }
  if (!isMap(value)) return NUMBER;
  let length = 2;
  for (const key of Object.keys(value)) length += key.length + 4 + textLength(value[key]);
  return length;
}

/** Whether its text has at most so many characters. */
export function isWithin(value: Value, most: number): boolean {
  return textLength(value) * LONGEST <= most || JSON.stringify(value).length <= most;
}

/** Of one character: `\u0001`. */
const LONGEST = 6;
