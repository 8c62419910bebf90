import type { Invocable, Invocation, Library } from '../../expression/evaluate.ts';
import { ExpressionError } from '../../expression/expression-error.ts';
import { equals, isList, isMap, kindOf, type Value } from '../../expression/values.ts';
import { tooMuch } from '../measure.ts';
import { numberOf, printed, truthy, written } from './semantics.ts';

const first = ({ args }: Invocation): Value => args[0];

function subject({ of, at, budget }: Invocation): string {
  if (typeof of !== 'string') throw new ExpressionError(`this belongs to a text, not to ${kindOf(of)}`, at);
  budget.step(at, 1 + of.length / 64);
  return of;
}

function textAt({ args, at }: Invocation, place: number): string {
  const value = args[place];
  if (typeof value === 'string') return value;
  throw new ExpressionError(`expected a text, found ${kindOf(value)}`, at);
}

function placeAt({ args, at }: Invocation, place: number): number | undefined {
  const value = args[place];
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isInteger(value)) return value;
  throw new ExpressionError(`expected a whole number, found ${kindOf(value)}`, at);
}

const onText =
  (change: (text: string) => string): Invocable =>
  (given) => {
    const text = subject(given);
    given.budget.grow(given.at, text.length);
    return change(text);
  };

const includes: Invocable = (given) => {
  const { of, args, budget, at } = given;
  if (isList(of)) return of.some((item) => equals(item, args[0], budget, at));
  return subject(given).includes(textAt(given, 0));
};

const indexOf: Invocable = (given) => {
  const { of, args, budget, at } = given;
  if (isList(of)) return of.findIndex((item) => equals(item, args[0], budget, at));
  return subject(given).indexOf(textAt(given, 0));
};

const slice: Invocable = (given) => {
  const { of, budget, at } = given;
  const [from, to] = [placeAt(given, 0), placeAt(given, 1)];
  if (!isList(of)) return subject(given).slice(from, to);
  budget.grow(at, of.length);
  return of.slice(from, to);
};

const split: Invocable = (given) => {
  const text = subject(given);
  const separator = textAt(given, 0);
  // Of a text without a separator each character is an item.
  given.budget.step(given.at, separator === '' ? text.length : text.length / 16);
  const parts = text.split(separator);
  given.budget.grow(given.at, parts.length + text.length);
  return parts;
};

const join: Invocable = ({ of, args, budget, at }) => {
  if (!isList(of)) throw new ExpressionError(`join belongs to a list, not to ${kindOf(of)}`, at);
  budget.step(at, of.length);
  const separator = typeof args[0] === 'string' ? args[0] : ',';
  budget.grow(at, of.length * separator.length);
  return of.map((item) => printed(item, budget, at)).join(separator);
};

const replaced =
  (all: boolean): Invocable =>
  (given) => {
    const text = subject(given);
    const [from, to] = [textAt(given, 0), textAt(given, 1)];
    const parts = all ? text.split(from) : [text];
    given.budget.step(given.at, parts.length);
    given.budget.grow(given.at, text.length + Math.max(parts.length, 2) * to.length);
    if (all) return parts.join(to);
    const place = text.indexOf(from);
    return place < 0 ? text : text.slice(0, place) + to + text.slice(place + from.length);
  };

const methods: ReadonlyMap<string, Invocable> = new Map<string, Invocable>([
  ['toUpperCase', onText((text) => text.toUpperCase())],
  ['toLowerCase', onText((text) => text.toLowerCase())],
  ['trim', onText((text) => text.trim())],
  ['startsWith', (given) => subject(given).startsWith(textAt(given, 0))],
  ['endsWith', (given) => subject(given).endsWith(textAt(given, 0))],
  ['includes', includes],
  ['indexOf', indexOf],
  ['slice', slice],
  ['split', split],
  ['join', join],
  ['replace', replaced(false)],
  ['replaceAll', replaced(true)],
  ['toString', ({ of, budget, at }) => printed(of, budget, at)],
  [
    'toFixed',
    (given) => {
      const digits = placeAt(given, 0) ?? 0;
      if (digits < 0 || digits > 20) throw new ExpressionError('toFixed takes 0 to 20 digits', given.at);
      return numberOf(given.of, given.at, 'toFixed cannot take').toFixed(digits);
    },
  ],
]);

const math =
  (calculate: (...numbers: readonly number[]) => number): Invocable =>
  ({ args, budget, at }) => {
    budget.step(at, args.length);
    const value = calculate(...args.map((arg) => numberOf(arg, at, 'this takes numbers, not')));
    if (!Number.isFinite(value)) throw new ExpressionError('this gives no number', at);
    return value;
  };

const entriesOf = ({ args: [of], budget, at }: Invocation): readonly (readonly [string, Value])[] => {
  if (!isMap(of)) throw new ExpressionError(`this takes a map, not ${kindOf(of)}`, at);
  const entries = Object.entries(of);
  budget.step(at, entries.length);
  return entries;
};

const parse: Invocable = (given) => {
  const { at, budget } = given;
  const text = textAt(given, 0);
  budget.step(at, text.length / 16);
  budget.grow(at, text.length);
  let value: Value;
  try {
    value = JSON.parse(text) as Value;
  } catch {
    throw new ExpressionError('this is not JSON', at);
  }
  const problem = tooMuch(value);
  if (problem !== undefined) throw new ExpressionError(problem, at);
  return value;
};

const stringify: Invocable = (given) => written(first(given), given.budget, given.at);

const functions: ReadonlyMap<string, Invocable> = new Map<string, Invocable>([
  ['Number', ({ args: [value], at }) => numberOf(value, at, 'this is no number:')],
  ['String', (given) => printed(first(given), given.budget, given.at)],
  ['Boolean', (given) => truthy(first(given))],
  ['JSON.stringify', stringify],
  ['JSON.parse', parse],
  ['Math.round', math((value = 0) => Math.round(value))],
  ['Math.floor', math((value = 0) => Math.floor(value))],
  ['Math.ceil', math((value = 0) => Math.ceil(value))],
  ['Math.abs', math((value = 0) => Math.abs(value))],
  ['Math.min', math(Math.min)],
  ['Math.max', math(Math.max)],
  ['Object.keys', (given) => entriesOf(given).map(([key]) => key)],
  ['Object.values', (given) => entriesOf(given).map(([, value]) => value)],
  ['Array.isArray', (given) => isList(first(given))],
]);

export const GRAPH_FUNCTIONS: ReadonlySet<string> = new Set(functions.keys());
export const GRAPH_METHODS: ReadonlySet<string> = new Set(methods.keys());
export const graphLibrary: Library = {
  functions,
  methods,
  filters: new Map([['??', ({ of, args }) => of ?? args[0]]]),
  tests: new Map(),
};
