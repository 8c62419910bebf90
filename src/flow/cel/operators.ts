import type { BinaryOperator, CompareOperator } from '../expression/ast.ts';
import type { Budget } from '../expression/budget.ts';
import type { Semantics } from '../expression/evaluate.ts';
import { ExpressionError } from '../expression/expression-error.ts';
import { isList, isTrue, lookUp, numberIn, type Value } from '../expression/values.ts';
import { durationOf, timeIn, timestampOf } from './times.ts';
import {
  Bytes,
  type CelNumber,
  celKind,
  celOf,
  Duration,
  int,
  isCelMap,
  isNumber,
  plain,
  Timestamp,
  TypeName,
  Uint,
  uint,
} from './values.ts';

export const celSemantics: Semantics = {
  lookUp: celLookUp,
  binary,
  negate: (_, value, at) => {
    if (typeof value === 'bigint') return int(-value, at);
    if (typeof value === 'number') return -value;
    if (value instanceof Duration) return durationOf(-value.nanos, at);
    throw new ExpressionError(`"-" cannot take ${celKind(value)}`, at);
  },
  compare,
  isTrue: celTrue,
  logical,
  items: (value, budget, at) => {
    const items = isList(value) ? value.map(celOf) : isCelMap(value) ? Object.keys(value) : undefined;
    if (items === undefined) throw new ExpressionError(`expected a list or a map, found ${celKind(value)}`, at);
    budget.step(at, items.length);
    return items;
  },
};

export function celTrue(value: Value, budget?: Budget, at = 0): boolean {
  return typeof value === 'bigint' ? value !== 0n : isTrue(value, budget, at);
}

/** A field that is not there is null, as in the other conditions; `has` tells. */
function celLookUp(value: Value, key: Value, at: number): Value {
  if (isNumber(key)) {
    const place = Number(plain(key));
    if (isList(value)) return celOf(lookUp(value, place)) ?? null;
    return isCelMap(value) ? (celOf(lookUp(value, place)) ?? null) : null;
  }
  if (typeof value === 'string' || isList(value) || isCelMap(value)) {
    const found = isCelMap(value) && typeof key === 'boolean' ? lookUp(value, String(key)) : lookUp(value, key);
    return celOf(found) ?? null;
  }
  if (value === null || value === undefined) return null;
  throw new ExpressionError(`${celKind(value)} has no fields`, at);
}

/** An operand that fails does not matter where the other one decides. */
function logical(op: 'and' | 'or', left: () => Value, right: () => Value): Value {
  const decides = op === 'or';
  let failed: ExpressionError;
  try {
    const value = celTrue(left());
    return value === decides ? value : celTrue(right());
  } catch (error) {
    if (!(error instanceof ExpressionError) || error.overBudget) throw error;
    failed = error;
  }
  if (celTrue(right()) === decides) return decides;
  throw failed;
}

function binary(op: BinaryOperator, left: Value, right: Value, budget: Budget, at: number): Value {
  if (isNumber(left) && isNumber(right)) return calculate(op, left, right, at);
  if (op === '+' || op === '-') {
    const sum = timeSum(op === '+' ? 1n : -1n, left, right, at);
    if (sum !== undefined) return sum;
  }
  if (op === '+') {
    const joined = join(left, right, budget, at);
    if (joined !== undefined) return joined;
  }
  throw new ExpressionError(`"${op}" cannot take ${celKind(left)} and ${celKind(right)}`, at);
}

/** A whole number and a double are added as doubles: a context says of neither which it is. */
function calculate(op: BinaryOperator, left: CelNumber, right: CelNumber, at: number): CelNumber {
  const [a, b] = [plain(left), plain(right)];
  if (typeof a === 'number' || typeof b === 'number') return double(op, Number(a), Number(b), at);
  const value = whole(op, a, b, at);
  return left instanceof Uint || right instanceof Uint ? uint(value, at) : int(value, at);
}

function whole(op: BinaryOperator, a: bigint, b: bigint, at: number): bigint {
  if (op === '+') return a + b;
  if (op === '-') return a - b;
  if (op === '*') return a * b;
  if (b === 0n) throw new ExpressionError('this divides by zero', at);
  return op === '/' ? a / b : a % b;
}

function double(op: BinaryOperator, a: number, b: number, at: number): number {
  if (op === '+') return a + b;
  if (op === '-') return a - b;
  if (op === '*') return a * b;
  if (op === '/') return a / b;
  throw new ExpressionError('"%" takes whole numbers', at);
}

function timeSum(sign: 1n | -1n, first: Value, second: Value, at: number): Value {
  const [left, right] = [timed(first, second, at), timed(second, first, at)];
  if (left instanceof Timestamp && right instanceof Timestamp && sign === -1n)
    return durationOf(left.nanos - right.nanos, at);
  if (left instanceof Timestamp && right instanceof Duration) return timestampOf(left.nanos + sign * right.nanos, at);
  if (left instanceof Duration && right instanceof Timestamp && sign === 1n)
    return timestampOf(left.nanos + right.nanos, at);
  if (left instanceof Duration && right instanceof Duration) return durationOf(left.nanos + sign * right.nanos, at);
  return undefined;
}

/** A context comes from JSON, which has no times: a text beside a time or a duration may say one. */
function timed(value: Value, other: Value, at: number): Value {
  if (typeof value !== 'string' || !(other instanceof Timestamp || other instanceof Duration)) return value;
  return timeIn(value, at) ?? value;
}

function join(left: Value, right: Value, budget: Budget, at: number): Value {
  if (typeof left === 'string' && typeof right === 'string') {
    budget.grow(at, left.length + right.length);
    return left + right;
  }
  if (isList(left) && isList(right)) {
    budget.grow(at, left.length + right.length);
    return [...left, ...right];
  }
  if (left instanceof Bytes && right instanceof Bytes) {
    budget.grow(at, left.bytes.length + right.bytes.length);
    return new Bytes(Uint8Array.from([...left.bytes, ...right.bytes]));
  }
  return undefined;
}

function compare(op: CompareOperator, left: Value, right: Value, budget: Budget, at: number): boolean {
  if (op === '==') return celEquals(left, right, budget, at);
  if (op === '!=') return !celEquals(left, right, budget, at);
  if (op === 'in') return contains(right, left, budget, at);
  if (op === 'not in') return !contains(right, left, budget, at);
  const ordered = order(left, right, at);
  if (ordered === undefined) return false;
  if (op === '<') return ordered < 0;
  if (op === '<=') return ordered <= 0;
  return op === '>' ? ordered > 0 : ordered >= 0;
}

export function celEquals(left: Value, right: Value, budget: Budget, at: number): boolean {
  budget.step(at);
  const [a, b] = [celOf(left) ?? null, celOf(right) ?? null];
  if (a === b) return true;
  if (isNumber(a) && isNumber(b)) return orderNumbers(plain(a), plain(b)) === 0;
  if (isList(a) && isList(b)) return a.length === b.length && a.every((item, i) => celEquals(item, b[i], budget, at));
  if (a instanceof Bytes && b instanceof Bytes) return orderBytes(a.bytes, b.bytes) === 0;
  if (a instanceof Timestamp && b instanceof Timestamp) return a.nanos === b.nanos;
  if (a instanceof Duration && b instanceof Duration) return a.nanos === b.nanos;
  if (a instanceof TypeName && b instanceof TypeName) return a.name === b.name;
  if (!isCelMap(a) || !isCelMap(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && celEquals(a[key], b[key], budget, at))
  );
}

/** Undefined with a null; other values without an order are an error. */
function order(first: Value, second: Value, at: number): number | undefined {
  const [left, right] = [timed(first, second, at), timed(second, first, at)];
  if (isNumber(left) && isNumber(right)) return orderNumbers(plain(left), plain(right));
  if (typeof left === 'string' && typeof right === 'string') return left < right ? -1 : left > right ? 1 : 0;
  if (typeof left === 'boolean' && typeof right === 'boolean') return Number(left) - Number(right);
  if (left instanceof Timestamp && right instanceof Timestamp) return Number(left.nanos - right.nanos);
  if (left instanceof Duration && right instanceof Duration) return Number(left.nanos - right.nanos);
  if (left instanceof Bytes && right instanceof Bytes) return orderBytes(left.bytes, right.bytes);
  // A number and a text that says one, because published machines compare them.
  const [a, b] = [numeric(left), numeric(right)];
  if (a !== undefined && b !== undefined) return orderNumbers(a, b);
  if ((left ?? null) === null || (right ?? null) === null) return undefined;
  throw new ExpressionError(`${celKind(left)} and ${celKind(right)} have no order`, at);
}

function numeric(value: Value): bigint | number | undefined {
  if (isNumber(value)) return plain(value);
  return typeof value === 'string' ? numberIn(value) : undefined;
}

function orderNumbers(a: bigint | number, b: bigint | number): number {
  if (a < b) return -1;
  if (a > b) return 1;
  // Neither is less: equal, or not a number.
  return Number.isNaN(Number(a)) || Number.isNaN(Number(b)) ? Number.NaN : 0;
}

function orderBytes(a: Uint8Array, b: Uint8Array): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    if (a[i] !== b[i]) return (a[i] as number) - (b[i] as number);
  }
  return a.length - b.length;
}

function contains(whole: Value, part: Value, budget: Budget, at: number): boolean {
  if (isList(whole)) return whole.some((item) => celEquals(item, part, budget, at));
  if (isCelMap(whole)) {
    const key = keyIn(part);
    return key !== undefined && Object.hasOwn(whole, key);
  }
  if (typeof whole === 'string' && typeof part === 'string') {
    budget.step(at, 1 + whole.length / 64);
    return whole.includes(part);
  }
  if (whole === null || whole === undefined) return false;
  throw new ExpressionError(`"in" cannot look into ${celKind(whole)}`, at);
}

function keyIn(value: Value): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  return isNumber(value) ? String(plain(value)) : undefined;
}
