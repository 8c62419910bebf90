import { fault } from '../../core/errors.ts';

/** The bound of payloads, and some more for what wraps them. */
const MAX_DEPTH = 72;

/**
 * Keys, objects and arrays of one text. A million distinct keys take 2.4 s to read, and nobody else is served meanwhile. A
 * push of 5000 tasks has 40 of them for each.
 */
const MAX_PARTS = 200_000;

/** Bounds of a text beside its length. */
export interface JsonBounds {
  readonly maxDepth?: number | undefined;
  /** Entries of a text that is an array. */
  readonly maxEntries?: number | undefined;
  readonly maxParts?: number | undefined;
}

/**
 * Parses a JSON text. A text that is nested too deeply, or has too many parts, is refused before anything is made of it. A
 * number that would change is refused too: 2^53 + 1 must not come back as 2^53.
 */
export function parseBody(text: string, bounds: JsonBounds = {}): unknown {
  const { maxDepth = MAX_DEPTH, maxEntries = Number.POSITIVE_INFINITY, maxParts = MAX_PARTS } = bounds;
  const { depth, changed, parts, entries } = scan(text, { maxDepth, maxEntries, maxParts });
  if (depth > maxDepth) throw refuse(`it is nested more than ${maxDepth} deep`);
  if (parts > maxParts) throw refuse(`it has more than ${maxParts} keys, objects and arrays`);
  if (entries > maxEntries) throw refuse(`it has more than ${maxEntries} entries`);
  if (changed !== undefined) {
    throw refuse(`the number ${changed.slice(0, 40)} cannot be kept as it is; send it as a text`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw refuse(`it is not JSON (${cause instanceof Error ? cause.message : ''})`, cause);
  }
  return value;
}

interface Scan {
  /** The nesting of arrays and objects, counted up to one more than allowed. */
  readonly depth: number;
  /** The first number that would not survive being read. */
  readonly changed: string | undefined;
  /** Keys, objects and arrays, counted up to one more than allowed. */
  readonly parts: number;
  /** Entries of the outermost array or object, counted up to one more than allowed. */
  readonly entries: number;
}

function scan(text: string, { maxDepth, maxEntries, maxParts }: { readonly [K in keyof JsonBounds]-?: number }): Scan {
  let depth = 0;
  let deepest = 0;
  let parts = 0;
  let entries = 1;
  let changed: string | undefined;
  for (let i = 0; i < text.length && deepest <= maxDepth && parts <= maxParts && entries <= maxEntries; i++) {
    const unit = text.charCodeAt(i);
    if (unit === QUOTE) i = endOfString(text, i);
    else if (unit === OPEN_ARRAY || unit === OPEN_OBJECT) {
      deepest = Math.max(deepest, ++depth);
      parts++;
    } else if (unit === CLOSE_ARRAY || unit === CLOSE_OBJECT) depth--;
    else if (unit === COLON) parts++;
    else if (unit === COMMA) entries += depth === 1 ? 1 : 0;
    else if (isDigit(unit)) {
      const end = endOfNumber(text, i);
      changed ??= changedNumber(text, i, end);
      i = end - 1;
    }
  }
  return { depth: deepest, changed, parts, entries };
}

const isDigit = (unit: number): boolean => unit >= 0x30 && unit <= 0x39;

/** The end of the number that begins here: digits, point, exponent and signs. */
function endOfNumber(text: string, from: number): number {
  let end = from + 1;
  while (end < text.length && NUMBER.has(text.charCodeAt(end))) end++;
  return end;
}

const NUMBER: ReadonlySet<number> = new Set(Array.from('0123456789.eE+-', (one) => one.charCodeAt(0)));
/** Every whole number of so many digits survives, and none of them overflows. */
const SAFE_DIGITS = 15;
/** A number with more digits overflows. */
const MOST_DIGITS = 400;

/** A fraction becomes the nearest double, as everywhere. A whole number must stay itself, or print as it was written. */
function changedNumber(text: string, from: number, end: number): string | undefined {
  if (end - from <= SAFE_DIGITS && !/e/i.test(text.slice(from, end))) return undefined;
  const given = text.slice(from, end);
  const value = Number(given);
  if (Number.isNaN(value)) return undefined; // Not JSON; the parser says so.
  if (!Number.isFinite(value) || end - from > MOST_DIGITS) return given;
  if (!/^\d+$/.test(given) || String(value) === given) return undefined;
  return BigInt(given) === BigInt(value) ? undefined : given;
}

const QUOTE = 0x22;
const COLON = 0x3a;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

function endOfString(text: string, from: number): number {
  for (let i = from + 1; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === BACKSLASH) i++;
    else if (unit === QUOTE) return i;
  }
  return text.length;
}

function refuse(problem: string, cause?: unknown): Error {
  return fault('INVALID_INPUT', { field: 'body', problem }, { cause });
}
