import { ExpressionError } from '../expression/expression-error.ts';
import type { Token } from '../expression/tokens.ts';

const SPACE = /(?:[ \t\r\n\f]+|\/\/[^\n]*)+/y;
const NUMBER = /0x[0-9a-fA-F]+[uU]?|(?:\d+\.\d+|\.\d+|\d+)(?:[eE][+-]?\d+)?[uU]?/y;
const PLACE = /\d+/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const SIGN = /&&|\|\||==|!=|<=|>=|[<>!?:+\-*/%|.,()[\]{}]/y;
const QUOTE = /([rR]?[bB]?|[bB][rR])("""|'''|"|')/y;
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['a', '\x07'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
  ['\\', '\\'],
  ['?', '?'],
  ['"', '"'],
  ["'", "'"],
  ['`', '`'],
]);

/** The tokens of a CEL expression. */
export function celTokensOf(source: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  for (;;) {
    at += matchAt(SPACE, source, at)?.length ?? 0;
    if (at >= source.length) {
      tokens.push({ kind: 'end', text: '', at, end: at });
      return tokens;
    }
    const token = tokenAt(source, at, tokens.at(-1));
    tokens.push(token);
    at = token.end;
  }
}

function tokenAt(source: string, at: number, before: Token | undefined): Token {
  QUOTE.lastIndex = at;
  const quote = QUOTE.exec(source);
  if (quote !== null) return textAt(source, at, quote[1] as string, quote[2] as string);
  const afterDot = before?.kind === 'sign' && before.text === '.';
  // `items.0` is a place; `.5` is a number only where no value stands before it.
  const isMember =
    source[at] === '.' && before !== undefined && (before.kind !== 'sign' || ')]}'.includes(before.text));
  const number = isMember ? undefined : matchAt(afterDot ? PLACE : NUMBER, source, at);
  if (number !== undefined) return { kind: 'number', text: number, at, end: at + number.length };
  const name = matchAt(NAME, source, at);
  if (name !== undefined) return { kind: 'name', text: name, at, end: at + name.length };
  const sign = matchAt(SIGN, source, at);
  if (sign !== undefined) return { kind: 'sign', text: sign, at, end: at + sign.length };
  throw new ExpressionError(`unexpected ${JSON.stringify(String.fromCodePoint(source.codePointAt(at) ?? 0))}`, at);
}

function textAt(source: string, at: number, prefix: string, quote: string): Token {
  const raw = /r/i.test(prefix);
  const bytes = /b/i.test(prefix);
  let text = '';
  for (let i = at + prefix.length + quote.length; i < source.length; ) {
    if (source.startsWith(quote, i)) return { kind: bytes ? 'bytes' : 'text', text, at, end: i + quote.length };
    if (source[i] === '\n' && quote.length === 1) break;
    if (source[i] === '\\' && !raw) {
      const escaped = escapeAt(source, i + 1, bytes);
      text += escaped.text;
      i += 1 + escaped.length;
    } else text += source[i++];
  }
  throw new ExpressionError(`this text is not closed: expected ${quote}`, at);
}

/** In bytes, a number of an escape is that of a byte, which stands for itself as a character up to U+00FF. */
function escapeAt(source: string, at: number, bytes: boolean): { readonly text: string; readonly length: number } {
  const rest = source.slice(at, at + 9);
  const coded = /^(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))/.exec(rest);
  if (coded !== null) {
    const [all, byte, short, long, octal] = coded;
    const code = octal === undefined ? Number.parseInt(byte ?? short ?? long ?? '', 16) : Number.parseInt(octal, 8);
    if (code <= 0x10_ff_ff && !(bytes && (short ?? long) !== undefined)) {
      return { text: String.fromCodePoint(code), length: all.length };
    }
  }
  const text = ESCAPES.get(rest[0] ?? '');
  if (text === undefined) throw new ExpressionError(`there is no escape "\\${rest[0] ?? ''}"`, at);
  return { text, length: 1 };
}

function matchAt(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
}
