import { ExpressionError } from '../../expression/expression-error.ts';
import type { Token } from '../../expression/tokens.ts';

const SPACE = /[ \t\r\n]+/y;
const NUMBER = /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const NAME = /[A-Za-z_$][A-Za-z0-9_$]*/y;
/** Longer ones first. */
const SIGN = /===|!==|==|!=|<=|>=|&&|\|\||\?\?|[<>+\-*/%!?:.,()[\]{}]/y;
const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  v: '\v',
  0: '\0',
};

/** The tokens of an expression of a graph. */
export function graphTokensOf(source: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  for (;;) {
    at += matchAt(SPACE, source, at)?.length ?? 0;
    if (at >= source.length) {
      tokens.push({ kind: 'end', text: '', at, end: at });
      return tokens;
    }
    const token = tokenAt(source, at);
    tokens.push(token);
    at = token.end;
  }
}

function tokenAt(source: string, at: number): Token {
  const quote = source[at];
  if (quote === '"' || quote === "'") return textAt(source, at, quote);
  const number = matchAt(NUMBER, source, at);
  if (number !== undefined) {
    const end = at + number.length;
    if (matchAt(NAME, source, end) !== undefined) throw new ExpressionError('this is not a number', at);
    return { kind: 'number', text: number, at, end };
  }
  const name = matchAt(NAME, source, at);
  if (name !== undefined) return { kind: 'name', text: name, at, end: at + name.length };
  const sign = matchAt(SIGN, source, at);
  if (sign !== undefined) return { kind: 'sign', text: sign, at, end: at + sign.length };
  throw new ExpressionError(`unexpected ${JSON.stringify(String.fromCodePoint(source.codePointAt(at) ?? 0))}`, at);
}

function textAt(source: string, at: number, quote: string): Token {
  let text = '';
  for (let i = at + 1; i < source.length; i++) {
    const char = source[i] as string;
    if (char === quote) return { kind: 'text', text, at, end: i + 1 };
    if (char === '\n') break;
    if (char !== '\\') {
      text += char;
      continue;
    }
    const escaped = escapeAt(source, i + 1);
    text += escaped.text;
    i += escaped.length;
  }
  throw new ExpressionError(`this text is not closed: expected ${quote}`, at);
}

function escapeAt(source: string, at: number): { readonly text: string; readonly length: number } {
  const coded = /^(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))/.exec(source.slice(at, at + 5));
  if (coded !== null) {
    return { text: String.fromCharCode(Number.parseInt(coded[1] ?? coded[2] ?? '', 16)), length: coded[0].length };
  }
  const char = source[at] ?? '';
  return { text: ESCAPES[char] ?? char, length: 1 };
}

function matchAt(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
}
