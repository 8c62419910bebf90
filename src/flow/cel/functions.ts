import type { Invocable, Invocation, Library } from '../expression/evaluate.ts';
import { ExpressionError } from '../expression/expression-error.ts';
import { countCharacters, isList, numberIn, type Value } from '../expression/values.ts';
import { PatternError } from '../regex/parse.ts';
import { Regex } from '../regex/regex.ts';
import {
  durationFieldOf,
  durationText,
  fieldOf,
  parseDuration,
  parseTimestamp,
  type TimeField,
  timestampOf,
  timestampText,
} from './times.ts';
import {
  Bytes,
  celKind,
  celOf,
  Duration,
  int,
  isCelMap,
  isNumber,
  plain,
  Timestamp,
  TypeName,
  typeOf,
  Uint,
  uint,
} from './values.ts';

function size({ of, budget, at }: Invocation): bigint {
  if (typeof of === 'string') return BigInt(countCharacters(of, budget, at));
  if (isList(of)) return BigInt(of.length);
  if (of instanceof Bytes) return BigInt(of.bytes.length);
  if (isCelMap(of)) {
    const { length } = Object.keys(of);
    budget.step(at, length / 8);
    return BigInt(length);
  }
  if (of === null || of === undefined) return 0n;
  throw new ExpressionError(`${celKind(of)} has no size`, at);
}

function toInt(given: Invocation): bigint {
  const { of, at } = given;
  if (of instanceof Timestamp) return of.nanos / 1_000_000_000n;
  if (isNumber(of)) {
    const value = plain(of);
    if (typeof value === 'bigint') return int(value, at);
    if (Number.isFinite(value)) return int(BigInt(Math.trunc(value)), at);
  }
  if (typeof of === 'string' && /^[+-]?\d{1,20}$/.test(of)) return int(BigInt(of), at);
  if (typeof of === 'boolean') return of ? 1n : 0n;
  throw new ExpressionError(`this is no whole number: ${celKind(of)}`, at);
}

function toUint(given: Invocation): Uint {
  const { of, at } = given;
  return of instanceof Uint ? of : uint(toInt(given), at);
}

function toDouble({ of, at }: Invocation): number {
  if (isNumber(of)) return Number(plain(of));
  const value = typeof of === 'string' ? (SPECIAL.get(of) ?? numberIn(of)) : undefined;
  if (value === undefined) throw new ExpressionError(`this is no number: ${celKind(of)}`, at);
  return value;
}

const SPECIAL: ReadonlyMap<string, number> = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);

function toText({ of, budget, at }: Invocation): string {
  const text = textOf(of);
  if (text === undefined) throw new ExpressionError(`this has no text: ${celKind(of)}`, at);
  budget.grow(at, text.length);
  return text;
}

function textOf(value: Value): string | undefined {
  if (typeof value === 'string') return value;
  if (isNumber(value)) return String(plain(value));
  if (typeof value === 'boolean') return String(value);
  if (value instanceof Timestamp) return timestampText(value);
  if (value instanceof Duration) return durationText(value);
  if (value instanceof TypeName) return value.name;
  return value instanceof Bytes ? new TextDecoder().decode(value.bytes) : undefined;
}

function toBool({ of, at }: Invocation): boolean {
  if (typeof of === 'boolean') return of;
  if (typeof of === 'string' && /^(?:true|True|TRUE|t|1)$/.test(of)) return true;
  if (typeof of === 'string' && /^(?:false|False|FALSE|f|0)$/.test(of)) return false;
  throw new ExpressionError(`this is neither true nor false: ${celKind(of)}`, at);
}

function toBytes({ of, budget, at }: Invocation): Bytes {
  if (of instanceof Bytes) return of;
  if (typeof of !== 'string') throw new ExpressionError(`this has no bytes: ${celKind(of)}`, at);
  budget.grow(at, of.length);
  return new Bytes(new TextEncoder().encode(of));
}

function toDuration({ of, at }: Invocation): Duration {
  if (of instanceof Duration) return of;
  if (typeof of === 'string') return parseDuration(of, at);
  throw new ExpressionError(`a duration is written as "24h", not ${celKind(of)}`, at);
}

function toTimestamp({ of, at }: Invocation): Timestamp {
  if (of instanceof Timestamp) return of;
  if (typeof of === 'bigint') return timestampOf(of * 1_000_000_000n, at);
  if (typeof of === 'string') return parseTimestamp(of, at);
  throw new ExpressionError(`a time is written as "2026-01-31T12:00:00Z", not ${celKind(of)}`, at);
}

function matches(given: Invocation): boolean {
  const { budget, at } = given;
  try {
    return new Regex(textAt(given, 0)).test(subject(given), (work) => budget.step(at, work));
  } catch (error) {
    if (error instanceof PatternError) throw new ExpressionError(error.message, at);
    throw error;
  }
}

function subject({ of, at }: Invocation): string {
  if (typeof of === 'string') return of;
  throw new ExpressionError(`this belongs to a text, not to ${celKind(of)}`, at);
}

function textAt({ args, at }: Invocation, place: number): string {
  const value = args[place];
  if (typeof value === 'string') return value;
  throw new ExpressionError(`expected a text, found ${celKind(value)}`, at);
}

function placeAt({ args, at }: Invocation, place: number, otherwise: number): number {
  const value = args[place];
  if (value === undefined) return otherwise;
  if (typeof value === 'bigint') return Number(value);
  throw new ExpressionError(`expected a whole number, found ${celKind(value)}`, at);
}

function substring(given: Invocation): string {
  const chars = Array.from(subject(given));
  const [from, to] = [placeAt(given, 0, 0), placeAt(given, 1, chars.length)];
  if (from < 0 || to > chars.length || from > to) throw new ExpressionError('this is outside of the text', given.at);
  return chars.slice(from, to).join('');
}

function replace(given: Invocation): string {
  const { budget, at } = given;
  const text = subject(given);
  const [from, to, most] = [textAt(given, 0), textAt(given, 1), placeAt(given, 2, -1)];
  budget.step(at, 1 + text.length / 16);
  const parts = text.split(from);
  const cut = most < 0 ? parts.length : most;
  budget.grow(at, text.length + parts.length * to.length);
  if (parts.length <= cut + 1) return parts.join(to);
  return [...parts.slice(0, cut), parts.slice(cut).join(from)].join(to);
}

function join({ of, args, budget, at }: Invocation): string {
  if (!isList(of)) throw new ExpressionError(`join belongs to a list, not to ${celKind(of)}`, at);
  const separator = typeof args[0] === 'string' ? args[0] : '';
  budget.step(at, of.length);
  const texts = of.map((item) => {
    if (typeof item !== 'string') throw new ExpressionError(`join takes texts, not ${celKind(celOf(item))}`, at);
    budget.grow(at, item.length + separator.length);
    return item;
  });
  return texts.join(separator);
}

/** Of a time, in a zone that may be given; of a duration, all of it in that unit. */
const timeField =
  (field: TimeField, add = 0n): Invocable =>
  (given) => {
    const { of, args, at } = given;
    if (of instanceof Timestamp) return fieldOf(of, field, args.length > 0 ? textAt(given, 0) : 'UTC', at) + add;
    const part = of instanceof Duration ? durationFieldOf(of, field) : undefined;
    if (part === undefined) throw new ExpressionError(`${celKind(of)} has no such part`, at);
    return part;
  };

/** A function is a method whose first argument is what it stands behind. */
const first =
  (method: Invocable): Invocable =>
  (given) =>
    method({ ...given, of: given.args[0], args: given.args.slice(1) });

const methods: ReadonlyMap<string, Invocable> = new Map<string, Invocable>([
  ['size', size],
  [
    'contains',
    (given) => {
      const text = subject(given);
      given.budget.step(given.at, text.length / 64);
      return text.includes(textAt(given, 0));
    },
  ],
  ['startsWith', (given) => subject(given).startsWith(textAt(given, 0))],
  ['endsWith', (given) => subject(given).endsWith(textAt(given, 0))],
  ['matches', matches],
  ['lowerAscii', (given) => subject(given).replace(/[A-Z]/g, (char) => char.toLowerCase())],
  ['upperAscii', (given) => subject(given).replace(/[a-z]/g, (char) => char.toUpperCase())],
  ['trim', (given) => subject(given).trim()],
  ['charAt', (given) => Array.from(subject(given))[placeAt(given, 0, 0)] ?? ''],
  [
    'indexOf',
    (given) =>
      BigInt(
        Array.from(subject(given))
          .join('')
          .indexOf(textAt(given, 0), placeAt(given, 1, 0)),
      ),
  ],
  ['lastIndexOf', (given) => BigInt(subject(given).lastIndexOf(textAt(given, 0)))],
  ['substring', substring],
  ['replace', replace],
  ['split', (given) => split(given)],
  ['join', join],
  ['getFullYear', timeField('year')],
  ['getMonth', timeField('month')],
  ['getDate', timeField('dayOfMonth')],
  ['getDayOfMonth', timeField('dayOfMonth', -1n)],
  ['getDayOfWeek', timeField('dayOfWeek')],
  ['getDayOfYear', timeField('dayOfYear')],
  ['getHours', timeField('hours')],
  ['getMinutes', timeField('minutes')],
  ['getSeconds', timeField('seconds')],
  ['getMilliseconds', timeField('milliseconds')],
]);

function split(given: Invocation): readonly string[] {
  const { budget, at } = given;
  const text = subject(given);
  budget.step(at, 1 + text.length / 16);
  const separator = textAt(given, 0);
  const parts = separator === '' ? Array.from(text) : text.split(separator);
  budget.step(at, parts.length);
  const most = placeAt(given, 1, -1);
  if (most < 0 || parts.length <= most) return parts;
  return most === 0 ? [] : [...parts.slice(0, most - 1), parts.slice(most - 1).join(separator)];
}

const functions: ReadonlyMap<string, Invocable> = new Map<string, Invocable>([
  ['size', first(size)],
  ['len', first(size)],
  ['int', first(toInt)],
  ['uint', first(toUint)],
  ['double', first(toDouble)],
  ['string', first(toText)],
  ['bool', first(toBool)],
  ['bytes', first(toBytes)],
  ['duration', first(toDuration)],
  ['timestamp', first(toTimestamp)],
  ['matches', first(matches)],
  ['type', ({ args }) => new TypeName(typeOf(args[0]))],
  ['dyn', ({ args }) => args[0]],
]);

const filters: ReadonlyMap<string, Invocable> = new Map<string, Invocable>([
  ['length', size],
  ['default', ({ of, args }) => of ?? args[0]],
  ['lower', (given) => subject(given).toLowerCase()],
  ['upper', (given) => subject(given).toUpperCase()],
  ['int', toInt],
  ['first', ({ of }) => (isList(of) ? celOf(of[0]) : null)],
  ['last', ({ of }) => (isList(of) ? celOf(of.at(-1)) : null)],
]);

export const CEL_FUNCTIONS: ReadonlySet<string> = new Set(functions.keys());
export const CEL_METHODS: ReadonlySet<string> = new Set(methods.keys());
export const CEL_FILTERS: ReadonlySet<string> = new Set(filters.keys());
export const celLibrary: Library = { functions, methods, filters, tests: new Map() };
