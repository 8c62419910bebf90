import { isList, isMap, type Value } from '../expression/values.ts';
import { jsonIn } from './answer-json.ts';

/**
 * One text for what means the same: keys in order, and JSON that came as a text as its value, so that neither the order of keys nor
 * whitespace between them makes a difference. Texts within it are kept as they are: whitespace there may matter.
 */
export function canonicalArguments(args: Value): string {
  return write(typeof args === 'string' ? (jsonIn(args) ?? args) : args);
}

function write(value: Value): string {
  if (isList(value)) return `[${value.map(write).join(',')}]`;
  if (!isMap(value)) return JSON.stringify(value ?? null);
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, one]) => `${JSON.stringify(key)}:${write(one)}`).join(',')}}`;
}
