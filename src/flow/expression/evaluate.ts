import type { Arguments, Expression } from './ast.ts';
import type { Budget } from './budget.ts';
import { ExpressionError } from './expression-error.ts';
import { binary, compare, negate } from './operators.ts';
import { isList, isTrue, itemsOf, kindOf, lookUp, mapOf, type Value } from './values.ts';

/** What a filter, a test, a function or a method is given. */
export interface Invocation {
  /** For a filter, a test or a method: the value that it stands behind. */
  readonly of: Value;
  readonly args: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
  readonly budget: Budget;
  readonly at: number;
  /** Filters such as `map("upper")` and `select("odd")` apply others by name. */
  readonly library: Library;
}
export type Invocable = (given: Invocation) => Value;

/** What an expression can call. */
export interface Library {
  readonly filters: ReadonlyMap<string, Invocable>;
  readonly tests: ReadonlyMap<string, (given: Invocation) => boolean>;
  readonly functions: ReadonlyMap<string, Invocable>;
  readonly methods: ReadonlyMap<string, Invocable>;
}

export interface Scope {
  /** The value of a name, or undefined. */
  readonly get: (name: string) => Value;
  readonly has: (name: string) => boolean;
  readonly names: () => readonly string[];
}

export interface Evaluation {
  readonly scope: Scope;
  readonly budget: Budget;
  readonly library: Library;
  /** A name that is not in scope is nothing, as in Jinja. Otherwise it is an error. */
  readonly lenient: boolean;
}

export function evaluate(node: Expression, evaluation: Evaluation): Value {
  const { budget } = evaluation;
  const { at } = node;
  budget.step(at);
  switch (node.kind) {
    case 'literal':
      return node.value;
    case 'name':
      return valueOf(node.name, at, evaluation);
    case 'member':
      return lookUp(evaluate(node.of, evaluation), node.name);
    case 'index':
      return lookUp(evaluate(node.of, evaluation), evaluate(node.index, evaluation));
    case 'slice': {
      const part = (one: Expression | undefined): Value => (one === undefined ? undefined : evaluate(one, evaluation));
      return slice(evaluate(node.of, evaluation), part(node.from), part(node.to), part(node.step), budget, at);
    }
    case 'list':
      return node.items.map((item) => evaluate(item, evaluation) ?? null);
    case 'map':
      return mapOf(
        node.entries.map(([key, value]) => [
          keyOf(evaluate(key, evaluation), key.at),
          evaluate(value, evaluation) ?? null,
        ]),
      );
    case 'unary': {
      const value = evaluate(node.of, evaluation);
      return node.op === 'not' ? !isTrue(value) : negate(node.op, value, at);
    }
    case 'binary':
      return binary(node.op, evaluate(node.left, evaluation), evaluate(node.right, evaluation), budget, at);
    case 'comparison': {
      let left = evaluate(node.first, evaluation);
      return node.rest.every(({ op, right }) => {
        const value = evaluate(right, evaluation);
        const holds = compare(op, left, value, budget, at);
        left = value;
        return holds;
      });
    }
    case 'logical': {
      // The deciding value itself, as in Python: `context.name or "nobody"`.
      const left = evaluate(node.left, evaluation);
      return isTrue(left) === (node.op === 'or') ? left : evaluate(node.right, evaluation);
    }
    case 'choice':
      if (isTrue(evaluate(node.test, evaluation))) return evaluate(node.yes, evaluation);
      return node.no === undefined ? undefined : evaluate(node.no, evaluation);
    case 'call':
      return invoke(evaluation.library.functions, node.name, undefined, node, evaluation);
    case 'method':
      return invoke(evaluation.library.methods, node.name, evaluate(node.of, evaluation), node, evaluation);
    case 'filter':
      return invoke(evaluation.library.filters, node.name, operand(node.of, evaluation), node, evaluation);
    case 'is':
      return invoke(evaluation.library.tests, node.name, operand(node.of, evaluation), node, evaluation) !== node.not;
  }
}

/** What is asked by `default` and `is defined` may be missing altogether. */
function operand(of: Expression, evaluation: Evaluation): Value {
  if (of.kind !== 'name' || evaluation.scope.has(of.name)) return evaluate(of, evaluation);
  return evaluation.lenient ? undefined : evaluate(of, evaluation);
}

function valueOf(name: string, at: number, { scope, lenient }: Evaluation): Value {
  if (scope.has(name)) return scope.get(name);
  if (lenient) return undefined;
  throw new ExpressionError(`there is no name "${name}" here; there are ${scope.names().join(', ')}`, at);
}

function invoke<T>(
  invocables: ReadonlyMap<string, (given: Invocation) => T>,
  name: string,
  of: Value,
  { args, named, at }: Arguments & { readonly at: number },
  evaluation: Evaluation,
): T {
  const invocable = invocables.get(name);
  if (invocable === undefined) throw new ExpressionError(`there is no "${name}"`, at);
  const { budget, library } = evaluation;
  return invocable({
    of,
    args: args.map((arg) => evaluate(arg, evaluation)),
    named: new Map(named.map(([key, value]) => [key, evaluate(value, evaluation)])),
    budget,
    at,
    library,
  });
}

function keyOf(value: Value, at: number): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new ExpressionError(`a key is a text, not ${kindOf(value)}`, at);
}

function slice(value: Value, from: Value, to: Value, step: Value, budget: Budget, at: number): Value {
  if (!isList(value) && typeof value !== 'string') return value === undefined || value === null ? [] : fail(value, at);
  const by = whole(step, 1, at);
  if (by === 0) throw new ExpressionError('the step of a slice cannot be zero', at);
  const items = itemsOf(value, budget, at);
  const { length } = items;
  const clamp = (place: number, low: number, high: number): number =>
    Math.min(high, Math.max(low, place < 0 ? place + length : place));
  const picked: Value[] = [];
  if (by > 0) {
    const end = clamp(whole(to, length, at), 0, length);
    for (let i = clamp(whole(from, 0, at), 0, length); i < end; i += by) picked.push(items[i]);
  } else {
    const end = to === undefined || to === null ? -1 : clamp(whole(to, 0, at), -1, length - 1);
    for (let i = clamp(whole(from, length - 1, at), -1, length - 1); i > end; i += by) picked.push(items[i]);
  }
  return typeof value === 'string' ? picked.join('') : picked;
}

function whole(value: Value, otherwise: number, at: number): number {
  if (value === undefined || value === null) return otherwise;
  if (typeof value === 'number' && Number.isInteger(value)) return value;
  throw new ExpressionError(`a slice takes whole numbers, not ${kindOf(value)}`, at);
}

function fail(value: Value, at: number): never {
  throw new ExpressionError(`${kindOf(value)} has no parts`, at);
}
