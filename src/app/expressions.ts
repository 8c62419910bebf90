/** Expressions and templates of machines, asked by themselves: what would this condition say? */
import { fault } from '../core/errors.ts';
import { ask, EXPRESSION_ENGINES, type ExpressionEngine } from '../flow/ask.ts';
import { describe, ExpressionError } from '../flow/expression/expression-error.ts';
import { isMap, type Value, type ValueMap } from '../flow/expression/values.ts';

export { EXPRESSION_ENGINES, type ExpressionEngine };

/** The value of an expression, as JSON says it. `scope` has `context`, `input` and `output`, each of which may be missing. */
export function evaluateExpression(source: string, engine: ExpressionEngine, scope: ValueMap): Value {
  try {
    return ask(source, engine, { context: {}, input: {}, output: {}, ...scope }, Date.now());
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const kind = engine === 'template' ? 'template' : 'expression';
    throw fault('EXPRESSION_FAILED', { kind, problem: describe(error, source) });
  }
}

/** The answer to a question of a batch: `{expr, engine?, context?}`, of which the last is the scope. */
export function answerQuestion(question: unknown): { readonly value: Value } | { readonly error: string } {
  if (!isMap(question) || typeof question['expr'] !== 'string') {
    return { error: 'a question is {"expr": TEXT, "engine"?: "simple" | "cel" | "template", "context"?: SCOPE}' };
  }
  const { expr, engine = 'simple', context = {} } = question;
  const known = EXPRESSION_ENGINES.find((name) => name === engine);
  if (known === undefined) return { error: `engine is ${EXPRESSION_ENGINES.join(', ')}` };
  if (!isMap(context)) return { error: 'context is a map: {"context": …, "input": …, "output": …}' };
  try {
    return { value: evaluateExpression(expr, known, context) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
