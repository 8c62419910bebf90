/** Values of expressions are what JSON can say, and `undefined` for what is not there. Only their own properties are ever looked at. */
import type { Budget } from './budget.ts';
import { ExpressionError } from './expression-error.ts';

export type Value = unknown;
export type ValueMap = Readonly<Record<string, Value>>;

export const isList = (value: Value): value is readonly Value[] => Array.isArray(value);

export function isMap(value: Value): value is ValueMap {
  return typeof value === 'object' && value !== null && !isList(value);
}

/** What a message calls a value. */
export function kindOf(value: Value): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (isList(value)) return 'a list';
  const names: Readonly<Partial<Record<string, string>>> = {
    string: 'a text',
    boolean: 'a boolean',
    number: 'a number',
  };
  return names[typeof value] ?? 'a map';
}

/** As in Python: nothing, false, zero, and what is empty. To see whether a map is empty, all its keys are gone through. */
export function isTrue(value: Value, budget?: Budget, at = 0): boolean {
  if (isList(value)) return value.length > 0;
  if (isMap(value)) return countKeys(value, budget, at) > 0;
  return Boolean(value);
}

/** A property of a map, a place in a list, the length of a text or a list. What is not there is undefined, not an error. */
export function lookUp(value: Value, key: Value): Value {
  if (isList(value)) {
    if (key === 'length') return value.length;
    const place = placeIn(key);
    return place === undefined ? undefined : value.at(place);
  }
  if (typeof value === 'string') {
    if (key === 'length') return value.length;
    const place = placeIn(key);
    return place === undefined ? undefined : value.at(place);
  }
  if (!isMap(value)) return undefined;
  const name = typeof key === 'string' ? key : typeof key === 'number' ? String(key) : undefined;
  return name !== undefined && Object.hasOwn(value, name) ? value[name] : undefined;
}

function placeIn(key: Value): number | undefined {
  if (typeof key === 'number') return Number.isInteger(key) ? key : undefined;
  return typeof key === 'string' && /^-?\d{1,10}$/.test(key) ? Number(key) : undefined;
}

/** Deep, and without regard to the order of keys. What is not there equals null. Each compared part is a step. */
export function equals(a: Value, b: Value, budget: Budget, at: number): boolean {
  budget.step(at);
  if (a === b || (a ?? null) === (b ?? null)) return true;
  if (isList(a) && isList(b)) return a.length === b.length && a.every((item, i) => equals(item, b[i], budget, at));
  if (!isMap(a) || !isMap(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && equals(a[key], b[key], budget, at))
  );
}

/**
 * Negative, zero or positive; undefined if the two have no order. A number and a text that says one are ordered as numbers, because
 * published machines compare them.
 */
export function order(a: Value, b: Value, budget: Budget, at: number): number | undefined {
  budget.step(at);
  const [x, y] = [scalar(a), scalar(b)];
  if (typeof x === 'number' && typeof y === 'number') return x - y;
  if (typeof x === 'string' && typeof y === 'string') return x < y ? -1 : x > y ? 1 : 0;
  if (typeof x === 'number' && typeof y === 'string') return orderText(x, y, 1);
  if (typeof x === 'string' && typeof y === 'number') return orderText(y, x, -1);
  return isList(a) && isList(b) ? orderLists(a, b, budget, at) : undefined;
}

const scalar = (value: Value): Value => (typeof value === 'boolean' ? Number(value) : value);

function orderText(number: number, text: string, sign: 1 | -1): number | undefined {
  const other = numberIn(text);
  return other === undefined ? undefined : (number - other) * sign;
}

function orderLists(a: readonly Value[], b: readonly Value[], budget: Budget, at: number): number | undefined {
  for (const [i, item] of a.entries()) {
    if (i >= b.length) return 1;
    if (equals(item, b[i], budget, at)) continue;
    return order(item, b[i], budget, at);
  }
  return a.length - b.length;
}

/** The number that a text says, in decimal. */
export function numberIn(text: string): number | undefined {
  const trimmed = text.trim();
  return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(trimmed) ? Number(trimmed) : undefined;
}

/** How many items a list, entries a map or characters a text has. */
export function lengthOf(value: Value, budget: Budget, at: number): number {
  if (isList(value)) return value.length;
  if (typeof value === 'string') return countCharacters(value, budget, at);
  if (isMap(value)) return countKeys(value, budget, at);
  if (value === undefined || value === null) return 0;
  throw new ExpressionError(`${kindOf(value)} has no length`, at);
}

/** Of whole characters, of which some are two units. */
export function countCharacters(text: string, budget: Budget, at: number): number {
  budget.step(at, text.length / 64);
  let pairs = 0;
  for (let i = 0; i < text.length - 1; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) pairs++;
  }
  return text.length - pairs;
}

function countKeys(map: ValueMap, budget: Budget | undefined, at: number): number {
  const count = Object.keys(map).length;
  budget?.step(at, count / 8);
  return count;
}

/** The items of a list, the keys of a map, the characters of a text; nothing has none. */
export function itemsOf(value: Value, budget: Budget, at: number): readonly Value[] {
  const items = rawItems(value, at);
  budget.step(at, items.length);
  return items;
}

function rawItems(value: Value, at: number): readonly Value[] {
  if (isList(value)) return value;
  if (isMap(value)) return Object.keys(value);
  if (typeof value === 'string') return Array.from(value);
  if (value === undefined || value === null) return [];
  throw new ExpressionError(`${kindOf(value)} has no items`, at);
}

/** A copy of the map with one more entry, or another in its place. Only the map is copied, not what it holds. */
export const withValue = (map: ValueMap, name: string, value: Value): ValueMap => ({ ...map, [name]: value });

export const withAll = (map: ValueMap, more: ValueMap): ValueMap => ({ ...map, ...more });

/** A map from entries. Its keys may be named anything: they are its own, and nothing else. */
export function mapOf(entries: Iterable<readonly [string, Value]>): ValueMap {
  return Object.fromEntries(entries);
}
