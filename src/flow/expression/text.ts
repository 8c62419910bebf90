import type { Budget } from './budget.ts';
import { isList, isMap, type Value } from './values.ts';

/** A value as it is printed into a text: texts as they are, lists and maps as JSON, what is not there as nothing. */
export function textOf(value: Value, budget: Budget, at: number): string {
  const text = printed(value, budget, at);
  budget.grow(at, text.length);
  return text;
}

function printed(value: Value, budget: Budget, at: number): string {
  if (value === undefined) return '';
  if (value === null) return 'none';
  if (typeof value === 'string') return value;
  return isList(value) || isMap(value) ? json(value, budget, at) : String(value as number | boolean);
}

/** JSON with spaces, as Python writes it. */
export function json(value: Value, budget: Budget, at: number): string {
  budget.step(at);
  if (isList(value)) return `[${value.map((item) => json(item, budget, at)).join(', ')}]`;
  if (isMap(value)) {
    const entries = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${json(item, budget, at)}`);
    return `{${entries.join(', ')}}`;
  }
  if (typeof value === 'string') budget.grow(at, value.length);
  return JSON.stringify(value ?? null);
}
