import type { BinaryOperator, CompareOperator } from './ast.ts';
import type { Budget } from './budget.ts';
import { ExpressionError } from './expression-error.ts';
import { textOf } from './text.ts';
import { equals, isList, isMap, kindOf, order, type Value } from './values.ts';

/** Applies an operator of conditions and templates, with the rules of Python. */
export function binary(op: BinaryOperator, left: Value, right: Value, budget: Budget, at: number): Value {
  if (op === '~') return textOf(left, budget, at) + textOf(right, budget, at);
  if (op === '+' && typeof left === 'string' && typeof right === 'string') {
    budget.grow(at, left.length + right.length);
    return left + right;
  }
  if (op === '+' && isList(left) && isList(right)) {
    budget.grow(at, left.length + right.length);
    return [...left, ...right];
  }
  if (op === '*') {
    const repeated = repeat(left, right, budget, at) ?? repeat(right, left, budget, at);
    if (repeated !== undefined) return repeated;
  }
  const [a, b] = [operand(left), operand(right)];
  if (a === undefined || b === undefined) {
    throw new ExpressionError(`"${op}" cannot take ${kindOf(left)} and ${kindOf(right)}`, at);
  }
  return finite(calculate(op, a, b, at), at);
}

const operand = (value: Value): number | undefined =>
  typeof value === 'number' ? value : typeof value === 'boolean' ? Number(value) : undefined;

function calculate(op: Exclude<BinaryOperator, '~'>, a: number, b: number, at: number): number {
  if (b === 0 && (op === '/' || op === '//' || op === '%')) throw new ExpressionError('this divides by zero', at);
  switch (op) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    case '//':
      return Math.floor(a / b);
    case '%':
      // The result has the sign of the divisor.
      return a - b * Math.floor(a / b);
    case '**':
      return a ** b;
  }
}

export function finite(value: number, at: number): number {
  if (!Number.isFinite(value)) throw new ExpressionError('this is too large for a number', at);
  return value;
}

/** `"-" * 20`, `[0] * 3`. */
function repeat(value: Value, times: Value, budget: Budget, at: number): Value {
  if (typeof times !== 'number' || !(typeof value === 'string' || isList(value))) return undefined;
  const count = Math.max(0, Math.floor(times));
  budget.grow(at, count * value.length);
  if (typeof value === 'string') return value.repeat(value === '' ? 0 : count);
  return value.length === 0 ? [] : Array.from({ length: count }, () => value).flat();
}

export function negate(op: '-' | '+', value: Value, at: number): number {
  const number = operand(value);
  if (number === undefined) throw new ExpressionError(`"${op}" cannot take ${kindOf(value)}`, at);
  return op === '-' ? -number : number;
}

/** An order between values that have none, such as null and a number, is false. */
export function compare(op: CompareOperator, left: Value, right: Value, budget: Budget, at: number): boolean {
  if (op === '==') return isEqual(left, right, budget, at);
  if (op === '!=') return !isEqual(left, right, budget, at);
  if (op === 'in') return contains(right, left, budget, at);
  if (op === 'not in') return !contains(right, left, budget, at);
  const ordered = order(left, right, budget, at);
  if (ordered === undefined) return false;
  if (op === '<') return ordered < 0;
  if (op === '<=') return ordered <= 0;
  return op === '>' ? ordered > 0 : ordered >= 0;
}

/**
 * From 1.1 on the original keeps what a template prints as text, and published machines ask for it: `context.approved == 'True'`. Here the
 * value is still a boolean or null, so it equals the word that Python prints for it.
 */
function isEqual(left: Value, right: Value, budget: Budget, at: number): boolean {
  return equals(left, right, budget, at) || isPrinted(left, right) || isPrinted(right, left);
}

function isPrinted(value: Value, text: Value): boolean {
  if (typeof text !== 'string') return false;
  if (typeof value === 'boolean') return text === (value ? 'True' : 'False');
  return value === null && text === 'None';
}

function contains(whole: Value, part: Value, budget: Budget, at: number): boolean {
  if (isList(whole)) return whole.some((item) => equals(item, part, budget, at));
  if (typeof whole === 'string') {
    budget.step(at, 1 + whole.length / 64);
    return typeof part === 'string' && whole.includes(part);
  }
  if (isMap(whole)) return typeof part === 'string' && Object.hasOwn(whole, part);
  if (whole === undefined || whole === null) return false;
  throw new ExpressionError(`"in" cannot look into ${kindOf(whole)}`, at);
}
