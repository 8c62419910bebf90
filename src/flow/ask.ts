import { evaluateCel } from './cel/cel.ts';
import { parseCel } from './cel/parse.ts';
import { evaluateCondition, parseCondition } from './expression/condition.ts';
import type { Value, ValueMap } from './expression/values.ts';
import { renderTemplate, templateOf } from './template/template.ts';

/** The languages of a machine: two for conditions, one for everything else. */
export const EXPRESSION_ENGINES = ['simple', 'cel', 'template'] as const;
export type ExpressionEngine = (typeof EXPRESSION_ENGINES)[number];

/** The value of an expression or a template by itself. Throws an `ExpressionError`. A condition that says nothing is true. */
export function ask(source: string, engine: ExpressionEngine, scope: ValueMap, now: number): Value {
  if (engine === 'template') return renderTemplate(templateOf(source), { ...scope, now: now / 1000 });
  if (source.trim() === '') return true;
  return engine === 'cel'
    ? evaluateCel(parseCel(source), scope, { now })
    : evaluateCondition(parseCondition(source), scope);
}
