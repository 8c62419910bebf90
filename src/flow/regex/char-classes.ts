import type { CharTest } from './syntax.ts';

const between =
  (low: number, high: number): CharTest =>
  (code) =>
    code >= low && code <= high;

export const isDigit: CharTest = between(0x30, 0x39);
const isUpper: CharTest = between(0x41, 0x5a);
const isLower: CharTest = between(0x61, 0x7a);
const isAlpha: CharTest = (code) => isUpper(code) || isLower(code);
export const isWord: CharTest = (code) => isAlpha(code) || isDigit(code) || code === 0x5f;
const isSpace: CharTest = (code) => code === 0x20 || (code >= 0x09 && code <= 0x0d && code !== 0x0b);

export const not =
  (test: CharTest): CharTest =>
  (code) =>
    !test(code);

export const anyOf =
  (tests: readonly CharTest[]): CharTest =>
  (code) =>
    tests.some((test) => test(code));

export const range = between;

export const ESCAPED_CLASSES: ReadonlyMap<string, CharTest> = new Map([
  ['d', isDigit],
  ['D', not(isDigit)],
  ['w', isWord],
  ['W', not(isWord)],
  ['s', isSpace],
  ['S', not(isSpace)],
]);

/** `[[:alpha:]]` */
export const NAMED_CLASSES: ReadonlyMap<string, CharTest> = new Map([
  ['alnum', (code: number) => isAlpha(code) || isDigit(code)],
  ['alpha', isAlpha],
  ['ascii', between(0, 0x7f)],
  ['blank', (code: number) => code === 0x20 || code === 0x09],
  ['cntrl', (code: number) => code < 0x20 || code === 0x7f],
  ['digit', isDigit],
  ['graph', between(0x21, 0x7e)],
  ['lower', isLower],
  ['print', between(0x20, 0x7e)],
  ['punct', (code: number) => code > 0x20 && code < 0x7f && !isAlpha(code) && !isDigit(code)],
  ['space', (code: number) => isSpace(code) || code === 0x0b],
  ['upper', isUpper],
  ['word', isWord],
  ['xdigit', (code: number) => isDigit(code) || between(0x41, 0x46)(code) || between(0x61, 0x66)(code)],
]);

/** `\p{Greek}`, `\pL`. JavaScript knows the tables; it is asked about one character at a time, so it cannot go back. */
export function unicodeClass(name: string): CharTest | undefined {
  if (!/^[A-Za-z_]{1,40}$/.test(name)) return undefined;
  for (const property of [name, `Script=${name}`]) {
    try {
      const pattern = new RegExp(`^\\p{${property}}$`, 'u');
      return (code) => pattern.test(String.fromCodePoint(code));
    } catch {
      // No such property: the next reading of the name.
    }
  }
  return undefined;
}

/** The same characters in either case. */
export function foldCase(test: CharTest): CharTest {
  return (code) => {
    if (test(code)) return true;
    const char = String.fromCodePoint(code);
    const [lower, upper] = [char.toLowerCase(), char.toUpperCase()];
    return (
      (Array.from(lower).length === 1 && test(lower.codePointAt(0) as number)) ||
      (Array.from(upper).length === 1 && test(upper.codePointAt(0) as number))
    );
  };
}
