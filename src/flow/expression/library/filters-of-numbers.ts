import type { Invocable, Invocation } from '../evaluate.ts';
import { ExpressionError } from '../expression-error.ts';
import { finite } from '../operators.ts';
import { kindOf } from '../values.ts';
import { argument, asNumber, textArgument, wholeArgument } from './given.ts';

export const numberFilters: Readonly<Record<string, Invocable>> = {
  abs: (given) => Math.abs(number(given)),
  /** What says no number is the default, 0. */
  int: (given) => Math.trunc(asNumber(given.of) ?? otherwise(given)),
  float: (given) => asNumber(given.of) ?? otherwise(given),
  round: (given) => rounded(given),
};

function number({ of, at }: Invocation): number {
  const value = asNumber(of);
  if (value === undefined || typeof of === 'string')
    throw new ExpressionError(`expected a number, found ${kindOf(of)}`, at);
  return value;
}

function otherwise(given: Invocation): number {
  const value = argument(given, 0, 'default');
  return typeof value === 'number' ? value : 0;
}

function rounded(given: Invocation): number {
  const { at } = given;
  const precision = wholeArgument(given, 0, 'precision', 0);
  const method = textArgument(given, 1, 'method', 'common');
  if (Math.abs(precision) > 15) throw new ExpressionError('precision is between -15 and 15', at);
  const factor = 10 ** precision;
  const scaled = number(given) * factor;
  if (method === 'ceil') return finite(Math.ceil(scaled) / factor, at);
  if (method === 'floor') return finite(Math.floor(scaled) / factor, at);
  if (method === 'common') return finite((Math.sign(scaled) * Math.round(Math.abs(scaled))) / factor, at);
  throw new ExpressionError(`method is common, ceil or floor, not "${method}"`, at);
}
