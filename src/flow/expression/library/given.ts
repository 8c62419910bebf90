import type { Invocation } from '../evaluate.ts';
import { ExpressionError } from '../expression-error.ts';
import { isMap, kindOf, numberIn, type Value, type ValueMap } from '../values.ts';

/** Readers of what a filter or a function was given. */

export function argument({ args, named }: Invocation, place: number, name: string): Value {
  return place < args.length ? args[place] : named.get(name);
}

export function wholeArgument(given: Invocation, place: number, name: string, otherwise: number): number {
  const value = argument(given, place, name);
  if (value === undefined) return otherwise;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new ExpressionError(`${name} is a whole number, not ${kindOf(value)}`, given.at);
}

export function textArgument(given: Invocation, place: number, name: string, otherwise?: string): string {
  const value = argument(given, place, name);
  if (typeof value === 'string') return value;
  if (value === undefined && otherwise !== undefined) return otherwise;
  throw new ExpressionError(`${name} is a text, not ${kindOf(value)}`, given.at);
}

/** The value as a number: booleans are 0 and 1, and a text may say one. */
export function asNumber(value: Value): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'string' ? numberIn(value) : undefined;
}

export function mapGiven({ of, at }: Invocation): ValueMap {
  if (isMap(of)) return of;
  if (of === undefined || of === null) return {};
  throw new ExpressionError(`expected a map, found ${kindOf(of)}`, at);
}
