import type { Arguments, BinaryOperator, CompareOperator, Comparison, Expression, Macro } from './ast.ts';
import type { Budget } from './budget.ts';
import { ExpressionError } from './expression-error.ts';
import { type Scope, scopeOf } from './scope.ts';
import { isList, isMap, itemsOf, kindOf, mapOf, type Value } from './values.ts';

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

/** What operators mean: `python-semantics.ts` for conditions and templates, `flow/cel` for CEL. */
export interface Semantics {
  readonly lookUp: (value: Value, key: Value, at: number) => Value;
  readonly binary: (op: BinaryOperator, left: Value, right: Value, budget: Budget, at: number) => Value;
  readonly negate: (op: '-' | '+', value: Value, at: number) => Value;
  readonly compare: (op: CompareOperator, left: Value, right: Value, budget: Budget, at: number) => boolean;
  readonly isTrue: (value: Value, budget: Budget, at: number) => boolean;
  readonly logical: (op: 'and' | 'or', left: () => Value, right: () => Value, budget: Budget, at: number) => Value;
  /** What a macro goes through. */
  readonly items: (value: Value, budget: Budget, at: number) => readonly Value[];
}

export interface Evaluation {
  readonly semantics: Semantics;
  readonly scope: Scope;
  readonly budget: Budget;
  readonly library: Library;
  /** A name that is not in scope is nothing, as in Jinja. Otherwise it is an error. */
  readonly lenient: boolean;
}

export function evaluate(node: Expression, evaluation: Evaluation): Value {
  const { budget, semantics } = evaluation;
  const { at } = node;
  budget.step(at);
  switch (node.kind) {
    case 'literal':
      return node.value;
    case 'name':
      return valueOf(node.name, at, evaluation);
    case 'member':
      return semantics.lookUp(evaluate(node.of, evaluation), node.name, at);
    case 'index':
      return semantics.lookUp(evaluate(node.of, evaluation), evaluate(node.index, evaluation), at);
    case 'slice': {
      const part = (one: Expression | undefined): Value => (one === undefined ? undefined : evaluate(one, evaluation));
      const of = evaluate(node.of, evaluation);
      return slice(of, { from: part(node.from), to: part(node.to), step: part(node.step) }, budget, at);
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
      return node.op === 'not' ? !semantics.isTrue(value, budget, at) : semantics.negate(node.op, value, at);
    }
    case 'binary':
      return semantics.binary(node.op, evaluate(node.left, evaluation), evaluate(node.right, evaluation), budget, at);
    case 'comparison':
      return compareAll(node, evaluation);
    case 'logical':
      return semantics.logical(
        node.op,
        () => evaluate(node.left, evaluation),
        () => evaluate(node.right, evaluation),
        budget,
        at,
      );
    case 'choice':
      if (semantics.isTrue(evaluate(node.test, evaluation), budget, at)) return evaluate(node.yes, evaluation);
      return node.no === undefined ? undefined : evaluate(node.no, evaluation);
    case 'call':
      // The time belongs to whoever asks: the languages themselves have no clock.
      if (node.name === 'now' && evaluation.scope.has('now')) return evaluation.scope.get('now');
      return invoke(evaluation.library.functions, node.name, undefined, node, evaluation);
    case 'method':
      return invoke(evaluation.library.methods, node.name, evaluate(node.of, evaluation), node, evaluation);
    case 'filter':
      return invoke(evaluation.library.filters, node.name, operand(node.of, evaluation), node, evaluation);
    case 'is':
      return invoke(evaluation.library.tests, node.name, operand(node.of, evaluation), node, evaluation) !== node.not;
    case 'has': {
      const of = evaluate(node.of, evaluation);
      return isMap(of) && Object.hasOwn(of, node.name);
    }
    case 'macro':
      return runMacro(node, evaluation);
  }
}

function compareAll({ first, rest, at }: Comparison, evaluation: Evaluation): boolean {
  const { semantics, budget } = evaluation;
  let left = evaluate(first, evaluation);
  return rest.every(({ op, right }) => {
    const value = evaluate(right, evaluation);
    const holds = semantics.compare(op, left, value, budget, at);
    left = value;
    return holds;
  });
}

function runMacro({ macro, of, name, test, body, at }: Macro, evaluation: Evaluation): Value {
  const { semantics, budget, scope } = evaluation;
  const items = semantics.items(evaluate(of, evaluation), budget, at);
  const within = (node: Expression, item: Value): Value =>
    evaluate(node, { ...evaluation, scope: scopeOf(mapOf([[name, item]]), scope) });
  const holds = (node: Expression, item: Value): boolean => semantics.isTrue(within(node, item), budget, at);
  switch (macro) {
    case 'all':
      return holdsForAll(items, (item) => holds(body, item));
    case 'exists':
      return !holdsForAll(items, (item) => !holds(body, item));
    case 'exists_one':
      return items.filter((item) => holds(body, item)).length === 1;
    case 'filter':
      return items.filter((item) => holds(body, item));
    case 'map':
      return items.flatMap((item) => (test === undefined || holds(test, item) ? [within(body, item) ?? null] : []));
  }
}

/** One that does not hold decides, also behind one that has failed. */
function holdsForAll(items: readonly Value[], holds: (item: Value) => boolean): boolean {
  let failed: ExpressionError | undefined;
  for (const item of items) {
    try {
      if (!holds(item)) return false;
    } catch (error) {
      if (!(error instanceof ExpressionError) || error.overBudget) throw error;
      failed ??= error;
    }
  }
  if (failed !== undefined) throw failed;
  return true;
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
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  throw new ExpressionError(`a key is a text, not ${kindOf(value)}`, at);
}

interface SliceBounds {
  readonly from: Value;
  readonly to: Value;
  readonly step: Value;
}

function slice(value: Value, { from, to, step }: SliceBounds, budget: Budget, at: number): Value {
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
