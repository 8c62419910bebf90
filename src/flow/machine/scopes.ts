import { evaluateCel } from '../cel/cel.ts';
import { evaluateCondition } from '../expression/condition.ts';
import { describe, ExpressionError } from '../expression/expression-error.ts';
import { isTrue, type Value, type ValueMap } from '../expression/values.ts';
import { renderValue, type ValueTemplate } from '../template/value-template.ts';
import type { Condition, Machine, State } from './definition.ts';
import { contextProblem, sizeProblem } from './sizes.ts';

/** An error of a state: it goes where `on_error` says. */
export class StateError extends Error {
  readonly type: string;

  constructor(type: string, message: string) {
    super(message);
    this.type = type;
  }
}

/** The value, unless it is too large. */
export function fitting(field: string, value: Value): Value {
  const problem = sizeProblem(value);
  if (problem === undefined) return value;
  throw new StateError('ValueTooLarge', `${field}: ${problem}`);
}

/** The context, unless it is too large, or would be with another value in the place of this entry. */
export function fittingContext(context: ValueMap, name?: string, value?: Value): ValueMap {
  const problem = contextProblem(context, name, value);
  if (problem === undefined) return context;
  throw new StateError('ValueTooLarge', `context: ${problem}`);
}

/** Renders a field. An error says of which. */
export function renderField(machine: Machine, field: string, template: ValueTemplate, scope: ValueMap): Value {
  try {
    return fitting(field, renderValue(template, scope, machine.templateMode));
  } catch (error) {
    if (error instanceof ExpressionError) throw new StateError('TemplateError', `${field}: ${error.message}`);
    throw error;
  }
}

/** The first transition whose condition holds. `conditional`: only those that have one. */
export function transitionOf(
  state: State,
  scope: ValueMap,
  now: number,
  { conditional = false }: { readonly conditional?: boolean } = {},
): string | undefined {
  for (const [i, { condition, to }] of state.transitions.entries()) {
    if (condition === undefined ? !conditional : holds(condition, scope, now, i)) return to;
  }
  return undefined;
}

function holds(condition: Condition, scope: ValueMap, now: number, place: number): boolean {
  const { engine, expression, source } = condition;
  try {
    return isTrue(engine === 'cel' ? evaluateCel(expression, scope, { now }) : evaluateCondition(expression, scope));
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    throw new StateError('ConditionError', `transitions[${place}].condition: ${describe(error, source)}`);
  }
}
