import { ExpressionError } from './expression-error.ts';

export interface Token {
  readonly kind: 'number' | 'text' | 'bytes' | 'name' | 'sign' | 'end';
  /** Of a text: what it says, without quotes and escapes. */
  readonly text: string;
  readonly at: number;
  readonly end: number;
}

const SPACE = /[ \t\r\n]+/y;
const NUMBER = /(?:\d[\d_]*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
/** After a dot: `items.0.1` is two places, not the number 0.1. */
const PLACE = /\d+/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
/** Longer ones first. */
const SIGN = /==|!=|<=|>=|&&|\|\||\/\/|\*\*|[<>+\-*/%~|.,:()[\]{}=!]/y;
const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  0: '\0',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '/': '/',
};

/** The tokens of an expression from `from` on, up to the sign that `until` names, or to the end of the source. */
export function tokensOf(source: string, from = 0, until?: RegExp): readonly Token[] {
  const tokens: Token[] = [];
  /** Open brackets: a closing `}}` within them belongs to a map. */
  let open = 0;
  let at = from;
  for (;;) {
    at += matchAt(SPACE, source, at)?.length ?? 0;
    const closed = open === 0 && until !== undefined && matchAt(until, source, at) !== undefined;
    if (closed || at >= source.length) {
      tokens.push({ kind: 'end', text: '', at, end: at });
      return tokens;
    }
    const token = tokenAt(source, at, tokens.at(-1)?.text === '.');
    if (token.kind === 'sign') {
      if ('([{'.includes(token.text)) open++;
      else if (')]}'.includes(token.text)) open--;
    }
    tokens.push(token);
    at = token.end;
  }
}

function tokenAt(source: string, at: number, afterDot: boolean): Token {
  const quote = source[at];
  if (quote === '"' || quote === "'") return textAt(source, at, quote);
  const number = matchAt(afterDot ? PLACE : NUMBER, source, at);
  if (number !== undefined) {
    const end = at + number.length;
    if (matchAt(NAME, source, end) !== undefined && !afterDot) throw new ExpressionError('this is not a number', at);
    return { kind: 'number', text: number.replaceAll('_', ''), at, end };
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

/** What follows a backslash. One that stands for nothing is kept, as Python does. */
function escapeAt(source: string, at: number): { readonly text: string; readonly length: number } {
  const char = source[at] ?? '';
  const hex = /^(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))/.exec(source.slice(at, at + 5));
  if (hex !== null) {
    return { text: String.fromCharCode(Number.parseInt(hex[1] ?? hex[2] ?? '', 16)), length: hex[0].length };
  }
  return { text: ESCAPES[char] ?? `\\${char}`, length: 1 };
}

function matchAt(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
}
