import type { Invocable, Invocation } from '../evaluate.ts';
import { ExpressionError } from '../expression-error.ts';
import { textOf } from '../text.ts';
import { kindOf, type Value } from '../values.ts';
import { argument, textArgument, wholeArgument } from './given.ts';

/** The text that a filter stands behind. Other values are printed first, as in Jinja. */
const subject = ({ of, budget, at }: Invocation): string => textOf(of, budget, at);

const HTML: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&#34;', "'": '&#39;' };

export const textFilters: Readonly<Record<string, Invocable>> = {
  upper: (given) => subject(given).toUpperCase(),
  lower: (given) => subject(given).toLowerCase(),
  capitalize: (given) => capitalized(subject(given)),
  title: (given) => subject(given).replace(/[^\s\-([{<]+/g, capitalized),
  trim: (given) => trimmed(subject(given), argument(given, 0, 'chars')),
  replace: (given) => replaced(given),
  split: (given) => split(subject(given), argument(given, 0, 'sep'), wholeArgument(given, 1, 'maxsplit', -1), given),
  string: (given) => subject(given),
  safe: ({ of }) => of,
  escape: (given) => subject(given).replace(/[&<>"']/g, (char) => HTML[char] ?? char),
  urlencode: (given) => encodeURIComponent(subject(given)),
  truncate: (given) => truncated(given),
  indent: (given) => indented(given),
  center: (given) => centred(given),
  format: (given) => formatted(given),
  striptags: (given) =>
    subject(given)
      .replace(/<[^<>]*>/g, '')
      .trim()
      .replace(/\s+/g, ' '),
  wordcount: (given) => (subject(given).match(/[\p{L}\p{N}_]+/gu) ?? []).length,
  lines: (given) => subject(given).split(/\r\n|\r|\n/),
  fromjson: (given) => parsed(given),
};

function centred(given: Invocation): string {
  const text = subject(given);
  const width = wholeArgument(given, 0, 'width', 80);
  given.budget.grow(given.at, Math.max(0, width));
  const around = Math.max(0, width - text.length);
  return ' '.repeat(Math.floor(around / 2)) + text + ' '.repeat(Math.ceil(around / 2));
}

/** `"%s of %d" | format(a, b)`: the forms of printf that need no width. */
function formatted(given: Invocation): string {
  const { args, budget, at } = given;
  let used = 0;
  return subject(given).replace(/%(?:\.(\d{1,2}))?([sdfi%])/g, (_all, digits: string | undefined, form: string) => {
    if (form === '%') return '%';
    if (used >= args.length) throw new ExpressionError('format has more places than values', at);
    const value = args[used++];
    if (form === 's') return textOf(value, budget, at);
    if (typeof value !== 'number') throw new ExpressionError(`%${form} takes a number, not ${kindOf(value)}`, at);
    const text = form === 'f' ? value.toFixed(Number(digits ?? 6)) : String(Math.trunc(value));
    budget.grow(at, text.length);
    return text;
  });
}

export function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1).toLowerCase();
}

export function trimmed(text: string, chars: Value): string {
  return trimmedRight(trimmedLeft(text, chars), chars);
}

export function trimmedLeft(text: string, chars: Value): string {
  if (typeof chars !== 'string') return text.trimStart();
  let from = 0;
  while (from < text.length && chars.includes(text[from] as string)) from++;
  return text.slice(from);
}

export function trimmedRight(text: string, chars: Value): string {
  if (typeof chars !== 'string') return text.trimEnd();
  let to = text.length;
  while (to > 0 && chars.includes(text[to - 1] as string)) to--;
  return text.slice(0, to);
}

export function replaced(given: Invocation): string {
  const { budget, at } = given;
  const text = subject(given);
  const [from, to] = [textArgument(given, 0, 'old'), textArgument(given, 1, 'new')];
  const most = wholeArgument(given, 2, 'count', -1);
  budget.step(at, 1 + text.length / 16);
  if (from === '') throw new ExpressionError('an empty text cannot be replaced', at);
  const parts = limited(text.split(from), most, from);
  budget.grow(at, text.length + parts.length * to.length);
  return parts.join(to);
}

/** Pieces beyond the last one that is asked for stay together. */
function limited(parts: readonly string[], most: number, separator: string): readonly string[] {
  if (most < 0 || parts.length <= most + 1) return parts;
  return [...parts.slice(0, most), parts.slice(most).join(separator)];
}

export function split(text: string, separator: Value, most: number, { budget, at }: Invocation): readonly string[] {
  budget.step(at, 1 + text.length / 16);
  if (separator === undefined || separator === null) {
    const words = text
      .trim()
      .split(/\s+/)
      .filter((word) => word !== '');
    budget.step(at, words.length);
    return limited(words, most, ' ');
  }
  if (typeof separator !== 'string' || separator === '') {
    throw new ExpressionError(
      `a separator is a text, not ${separator === '' ? 'an empty one' : kindOf(separator)}`,
      at,
    );
  }
  const parts = limited(text.split(separator), most, separator);
  budget.step(at, parts.length);
  return parts;
}

function truncated(given: Invocation): string {
  const text = subject(given);
  const length = wholeArgument(given, 0, 'length', 255);
  const killWords = argument(given, 1, 'killwords') === true;
  const end = textArgument(given, 2, 'end', '...');
  const leeway = wholeArgument(given, 3, 'leeway', 5);
  if (text.length <= length + leeway) return text;
  const cut = text.slice(0, Math.max(0, length - end.length));
  const space = killWords ? -1 : cut.lastIndexOf(' ');
  return (space < 0 ? cut : cut.slice(0, space)) + end;
}

function indented(given: Invocation): string {
  const { budget, at } = given;
  const width = argument(given, 0, 'width') ?? 4;
  const first = argument(given, 1, 'first') === true;
  const blank = argument(given, 2, 'blank') === true;
  const count = typeof width === 'number' ? Math.max(0, Math.floor(width)) : 0;
  budget.grow(at, count);
  const space = typeof width === 'string' ? width : ' '.repeat(count);
  const lines = subject(given).split('\n');
  budget.grow(at, lines.length * space.length);
  return lines.map((line, i) => ((i === 0 ? first : blank || line !== '') ? space + line : line)).join('\n');
}

function parsed(given: Invocation): Value {
  const { of, budget, at } = given;
  if (typeof of !== 'string') return of;
  budget.step(at, 1 + of.length / 16);
  budget.grow(at, of.length);
  try {
    return JSON.parse(of) as Value;
  } catch {
    throw new ExpressionError('this is not JSON', at);
  }
}
