import type { BinaryOperator, CompareOperator } from '../../expression/ast.ts';
import type { Budget } from '../../expression/budget.ts';
import type { Semantics } from '../../expression/evaluate.ts';
import { ExpressionError } from '../../expression/expression-error.ts';
import { equals, isList, isMap, kindOf, numberIn, type Value } from '../../expression/values.ts';
import { MOST_DEEP, measure } from '../measure.ts';

/** Operators as in JavaScript, but that lists and maps are compared by what they hold, and nothing is converted for `==`. */
export const graphSemantics: Semantics = {
  lookUp,
  binary,
  negate: (op, value, at) => {
    const number = numberOf(value, at, `"${op}" cannot take`);
    return op === '-' ? -number : number;
  },
  compare,
  isTrue: truthy,
  logical: (op, left, right) => {
    const value = left();
    return truthy(value) === (op === 'or') ? value : right();
  },
  items: (value, _, at) => {
    throw new ExpressionError(`nothing goes through ${kindOf(value)}`, at);
  },
};

/** As in JavaScript: lists and maps are true, also empty ones. */
export function truthy(value: Value): boolean {
  return Boolean(value);
}

/** A field of what is not there is an error: whoever wrote it expected something else. */
function lookUp(value: Value, key: Value, at: number): Value {
  if (value === undefined || value === null) {
    throw new ExpressionError(`${kindOf(value)} has no ${JSON.stringify(key) ?? 'fields'}`, at);
  }
  if (isList(value) || typeof value === 'string') {
    if (key === 'length') return value.length;
    const place = typeof key === 'string' && /^\d{1,10}$/.test(key) ? Number(key) : key;
    return typeof place === 'number' && Number.isInteger(place) ? value[place] : undefined;
  }
  const name = typeof key === 'number' ? String(key) : key;
  return isMap(value) && typeof name === 'string' && Object.hasOwn(value, name) ? value[name] : undefined;
}

function binary(op: BinaryOperator, left: Value, right: Value, budget: Budget, at: number): Value {
  const isJoin = (value: Value): boolean => typeof value === 'string' || isList(value) || isMap(value);
  if (op === '+' && (isJoin(left) || isJoin(right))) return printed(left, budget, at) + printed(right, budget, at);
  const [a, b] = [numberOf(left, at, `"${op}" cannot take`), numberOf(right, at, `"${op}" cannot take`)];
  const value = calculated(op, a, b);
  if (Number.isFinite(value)) return value;
  throw new ExpressionError(`"${op}" gives no number here`, at);
}

function calculated(op: BinaryOperator, a: number, b: number): number {
  if (op === '+') return a + b;
  if (op === '-') return a - b;
  if (op === '*') return a * b;
  return op === '/' ? a / b : a % b;
}

/** Numbers, booleans, nothing, and texts that say a number. */
export function numberOf(value: Value, at: number, problem: string): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return Number(value);
  if (value === null) return 0;
  const number = typeof value === 'string' ? numberIn(value) : undefined;
  if (number === undefined) throw new ExpressionError(`${problem} ${kindOf(value)}`, at);
  return number;
}

function compare(op: CompareOperator, left: Value, right: Value, budget: Budget, at: number): boolean {
  if (op === '==') return equals(left, right, budget, at);
  if (op === '!=') return !equals(left, right, budget, at);
  if (typeof left === 'string' && typeof right === 'string') {
    budget.step(at, 1 + Math.min(left.length, right.length) / 64);
    return ordered(op, left < right ? -1 : left > right ? 1 : 0);
  }
  return ordered(op, numberOf(left, at, 'there is no order of') - numberOf(right, at, 'there is no order of'));
}

function ordered(op: CompareOperator, difference: number): boolean {
  if (op === '<') return difference < 0;
  if (op === '<=') return difference <= 0;
  return op === '>' ? difference > 0 : difference >= 0;
}

/** As JSON. Parts may be shared, so how long it gets is known before it is made. */
export function written(value: Value, budget: Budget, at: number): string {
  const { depth, length } = measure(value);
  if (depth > MOST_DEEP)
    throw new ExpressionError(`this is nested more than ${MOST_DEEP} deep`, at, { overBudget: true });
  budget.step(at, length / 16);
  budget.grow(at, length);
  return JSON.stringify(value ?? null);
}

/** Within a text: texts as they are, lists and maps as JSON, what is not there as nothing. */
export function printed(value: Value, budget: Budget, at: number): string {
  if (isList(value) || isMap(value)) return written(value, budget, at);
  const text = value === undefined || value === null ? '' : String(value as string | number | boolean);
  budget.grow(at, text.length);
  return text;
}
