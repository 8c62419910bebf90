/** The "simple" language of transition conditions. */
import type { Expression } from './ast.ts';
import { type Bounds, Budget, CONDITION_BOUNDS } from './budget.ts';
import { Cursor } from './cursor.ts';
import { evaluate } from './evaluate.ts';
import { ExpressionError } from './expression-error.ts';
import { CONDITION_WORDS, library } from './library/library.ts';
import { parseExpression } from './parser.ts';
import { pythonSemantics } from './python-semantics.ts';
import { scopeOf } from './scope.ts';
import { tokensOf } from './tokens.ts';
import type { Value } from './values.ts';

export function parseCondition(source: string, bounds: Bounds = CONDITION_BOUNDS): Expression {
  if (source.length > bounds.source) {
    throw new ExpressionError(`this is longer than ${bounds.source} characters`, bounds.source, { overBudget: true });
  }
  const cursor = new Cursor(tokensOf(source), bounds);
  const condition = parseExpression(cursor, CONDITION_WORDS);
  if (cursor.token.kind !== 'end') throw cursor.unexpected('the end');
  return condition;
}

/** The value of a parsed condition. What is missing is null; a name that is not in scope is an error. */
export function evaluateCondition(
  condition: Expression,
  scope: Readonly<Record<string, Value>>,
  bounds: Bounds = CONDITION_BOUNDS,
): Value {
  return (
    evaluate(condition, {
      scope: scopeOf(scope),
      budget: new Budget(bounds),
      library,
      semantics: pythonSemantics,
      lenient: false,
    }) ?? null
  );
}
