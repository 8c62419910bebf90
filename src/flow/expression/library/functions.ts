import type { Invocable, Invocation } from '../evaluate.ts';
import { ExpressionError } from '../expression-error.ts';
import { compare } from '../operators.ts';
import { textOf } from '../text.ts';
import { isList, isMap, isTrue, itemsOf, kindOf, lengthOf, lookUp, type Value } from '../values.ts';
import { entries, mapFrom } from './filters-of-lists.ts';
import { capitalized, replaced, split, trimmed, trimmedLeft, trimmedRight } from './filters-of-texts.ts';
import { mapGiven, textArgument, wholeArgument } from './given.ts';

const length: Invocable = ({ args, budget, at }) => lengthOf(args[0], budget, at);

export const functions: Readonly<Record<string, Invocable>> = {
  range: (given) => range(given),
  len: length,
  size: length,
  dict: (given) => mapFrom(given.args[0], given.named, given),
  // A map whose fields `set` may change, also from within a loop.
  namespace: (given) => mapFrom(given.args[0], given.named, given),
  bool: ({ args }) => isTrue(args[0]),
  str: ({ args, budget, at }) => textOf(args[0], budget, at),
  // What it says stands in the scope: see `evaluate`.
  now: () => null,
};

/** A list, of which each number is paid for before it is made. */
function range(given: Invocation): readonly number[] {
  const { args, budget, at } = given;
  const numbers = args.map((_, i) => wholeArgument(given, i, ['start', 'stop', 'step'][i] ?? 'argument', 0));
  if (numbers.length === 0 || numbers.length > 3) throw new ExpressionError('range takes one to three numbers', at);
  const [from, to] = numbers.length === 1 ? [0, numbers[0] as number] : [numbers[0] as number, numbers[1] as number];
  const step = numbers[2] ?? 1;
  if (step === 0) throw new ExpressionError('the step of a range cannot be zero', at);
  const count = Math.max(0, Math.ceil((to - from) / step));
  budget.step(at, count);
  return Array.from({ length: count }, (_, i) => from + i * step);
}

/** What templates call on texts, lists and maps, by the names that Python has for it, and by those of JavaScript, which Nunjucks gives them. */
export const methods: Readonly<Record<string, Invocable>> = {
  upper: (given) => text(given).toUpperCase(),
  lower: (given) => text(given).toLowerCase(),
  strip: (given) => trimmed(text(given), given.args[0]),
  lstrip: (given) => trimmedLeft(text(given), given.args[0]),
  rstrip: (given) => trimmedRight(text(given), given.args[0]),
  title: (given) => text(given).replace(/[^\s\-([{<]+/g, capitalized),
  capitalize: (given) => capitalized(text(given)),
  split: (given) => split(text(given), given.args[0], wholeArgument(given, 1, 'maxsplit', -1), given),
  splitlines: (given) => text(given).split(/\r\n|\r|\n/),
  startswith: (given) => text(given).startsWith(textArgument(given, 0, 'prefix')),
  endswith: (given) => text(given).endsWith(textArgument(given, 0, 'suffix')),
  replace: (given) => {
    text(given);
    return replaced(given);
  },
  find: (given) => text(given).indexOf(textArgument(given, 0, 'text')),
  join: (given) => {
    const { args, budget, at } = given;
    const separator = text(given);
    const list = isList(args[0]) ? args[0] : [];
    budget.step(at, list.length);
    budget.grow(at, list.length * separator.length);
    return list.map((item) => textOf(item, budget, at)).join(separator);
  },
  count: ({ of, args, budget, at }) => {
    if (!isList(of)) throw new ExpressionError(`count belongs to a list, not to ${kindOf(of)}`, at);
    return of.filter((item) => compare('==', item, args[0], budget, at)).length;
  },
  /** `loop.cycle("odd", "even")`. */
  cycle: ({ of, args }) => {
    const place = lookUp(of, 'index0');
    return typeof place === 'number' && args.length > 0 ? args[place % args.length] : undefined;
  },
  concat: ({ of, args, budget, at }) => {
    if (!isList(of)) throw new ExpressionError(`concat belongs to a list, not to ${kindOf(of)}`, at);
    budget.grow(at, of.length + args.reduce<number>((sum, one) => sum + (isList(one) ? one.length : 1), 0));
    return [...of, ...args.flat()];
  },
  includes: ({ of, args, budget, at }) => compare('in', args[0], of, budget, at),
  toUpperCase: (given) => text(given).toUpperCase(),
  toLowerCase: (given) => text(given).toLowerCase(),
  trim: (given) => text(given).trim(),
  startsWith: (given) => text(given).startsWith(textArgument(given, 0, 'prefix')),
  endsWith: (given) => text(given).endsWith(textArgument(given, 0, 'suffix')),
  items: (given) => entries(given),
  keys: (given) => itemsOf(Object.keys(mapGiven(given)), given.budget, given.at),
  values: (given) => itemsOf(Object.values(mapGiven(given)), given.budget, given.at),
  get: ({ of, args, at }): Value => {
    if (!isMap(of)) throw new ExpressionError(`get belongs to a map, not to ${kindOf(of)}`, at);
    return lookUp(of, args[0]) ?? args[1] ?? null;
  },
};

function text({ of, budget, at }: Invocation): string {
  if (typeof of === 'string') {
    // A long text is gone through as a whole.
    budget.step(at, of.length / 64);
    return of;
  }
  throw new ExpressionError(`this method belongs to a text, not to ${kindOf(of)}`, at);
}
