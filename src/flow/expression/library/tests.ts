import type { CompareOperator } from '../ast.ts';
import type { Invocation } from '../evaluate.ts';
import { ExpressionError } from '../expression-error.ts';
import { compare } from '../operators.ts';
import { isList, isMap, kindOf, type Value } from '../values.ts';
import { textArgument } from './given.ts';

type Test = (given: Invocation) => boolean;

const comparing =
  (op: CompareOperator): Test =>
  ({ of, args, budget, at }) =>
    compare(op, of, args[0], budget, at);

const whole = ({ of, at }: Invocation): number => {
  if (typeof of === 'number' && Number.isInteger(of)) return of;
  throw new ExpressionError(`expected a whole number, found ${kindOf(of)}`, at);
};

const isText = (value: Value): value is string => typeof value === 'string';

/** What may stand behind `is`, and be named by `select` and `reject`. */
export const tests: Readonly<Record<string, Test>> = {
  defined: ({ of }) => of !== undefined,
  undefined: ({ of }) => of === undefined,
  none: ({ of }) => of === null,
  null: ({ of }) => of === null,
  boolean: ({ of }) => typeof of === 'boolean',
  true: ({ of }) => of === true,
  false: ({ of }) => of === false,
  number: ({ of }) => typeof of === 'number',
  integer: ({ of }) => Number.isInteger(of),
  float: ({ of }) => typeof of === 'number' && !Number.isInteger(of),
  string: ({ of }) => isText(of),
  mapping: ({ of }) => isMap(of),
  sequence: ({ of }) => isList(of) || isText(of) || isMap(of),
  iterable: ({ of }) => isList(of) || isText(of) || isMap(of),
  odd: (given) => Math.abs(whole(given) % 2) === 1,
  even: (given) => whole(given) % 2 === 0,
  divisibleby: (given) => whole(given) % whole({ ...given, of: given.args[0] }) === 0,
  lower: ({ of }) => isText(of) && of === of.toLowerCase(),
  upper: ({ of }) => isText(of) && of === of.toUpperCase(),
  startingwith: (given) => isText(given.of) && given.of.startsWith(textArgument(given, 0, 'prefix')),
  endingwith: (given) => isText(given.of) && given.of.endsWith(textArgument(given, 0, 'suffix')),
  containing: ({ of, args, budget, at }) => compare('in', args[0], of, budget, at),
  in: comparing('in'),
  eq: comparing('=='),
  equalto: comparing('=='),
  sameas: comparing('=='),
  ne: comparing('!='),
  lt: comparing('<'),
  lessthan: comparing('<'),
  le: comparing('<='),
  gt: comparing('>'),
  greaterthan: comparing('>'),
  ge: comparing('>='),
};
