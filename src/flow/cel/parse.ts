import type { Expression, MacroName } from '../expression/ast.ts';
import { type Bounds, CONDITION_BOUNDS } from '../expression/budget.ts';
import { Cursor } from '../expression/cursor.ts';
import { ExpressionError } from '../expression/expression-error.ts';
import { OperatorParser } from '../expression/operator-parser.ts';
import { CEL_FILTERS, CEL_FUNCTIONS, CEL_METHODS } from './functions.ts';
import { celTokensOf } from './tokens.ts';
import { Bytes, int, uint } from './values.ts';

/** Parses CEL, and with it what a condition may also say: `and`, `or`, `not`, `a < b < c`, `x | length`. */
export function parseCel(source: string, bounds: Bounds = CONDITION_BOUNDS): Expression {
  if (source.length > bounds.source) {
    throw new ExpressionError(`this is longer than ${bounds.source} characters`, bounds.source, { overBudget: true });
  }
  const cursor = new Cursor(celTokensOf(source), bounds);
  const expression = new CelParser(cursor).expression();
  if (cursor.token.kind !== 'end') throw cursor.unexpected('the end');
  return expression;
}

const WORDS: ReadonlyMap<string, null | boolean> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
  ['True', true],
  ['False', false],
  ['None', null],
]);
const KEYWORDS = new Set(['and', 'or', 'not', 'in']);
const MACROS: ReadonlyMap<string, MacroName> = new Map([
  ['all', 'all'],
  ['exists', 'exists'],
  ['exists_one', 'exists_one'],
  ['existsOne', 'exists_one'],
  ['filter', 'filter'],
  ['map', 'map'],
]);
/** `0x1e3` is one, `1e3` is not. */
const WHOLE = /^(?:\d+|0x[\da-fA-F]+)$/;
const SIGNS = { and: '&&', or: '||' } as const;

class CelParser extends OperatorParser {
  protected choice(): Expression {
    const { cursor } = this;
    const test = this.or(SIGNS);
    const { at } = cursor.token;
    if (!cursor.takeSign('?')) return test;
    const yes = this.or(SIGNS);
    cursor.expectSign(':');
    return cursor.node({ kind: 'choice', test, yes, no: this.expression(), at });
  }

  protected sum(): Expression {
    return this.binary(['+', '-'], () => this.binary(['*', '/', '%'], () => this.#unary()));
  }

  #unary(): Expression {
    const { cursor } = this;
    const { at } = cursor.token;
    if (cursor.takeSign('!')) {
      return cursor.node({ kind: 'unary', op: 'not', of: cursor.within(() => this.#unary()), at });
    }
    if (!cursor.takeSign('-')) return this.#filtered(this.#postfix(this.#primary()));
    // The least whole number has no positive one to be written as.
    if (cursor.token.kind === 'number' && WHOLE.test(cursor.token.text)) {
      const value = int(-BigInt(cursor.take().text), at);
      return this.#filtered(this.#postfix(cursor.node({ kind: 'literal', value, at })));
    }
    return cursor.node({ kind: 'unary', op: '-', of: cursor.within(() => this.#unary()), at });
  }

  #filtered(value: Expression): Expression {
    const { cursor } = this;
    let of = value;
    while (cursor.takeSign('|')) {
      const { text: name, at } = cursor.expectName();
      this.mustBe(CEL_FILTERS, 'filter', name, at);
      const args = cursor.takeSign('(') ? this.items(')') : [];
      of = cursor.node({ kind: 'filter', of, name, args, named: [], at });
    }
    return of;
  }

  #primary(): Expression {
    const { cursor } = this;
    const { token } = cursor;
    const { at, text } = token;
    if (token.kind === 'number') return cursor.node({ kind: 'literal', value: numberOf(cursor.take().text, at), at });
    if (token.kind === 'text') return cursor.node({ kind: 'literal', value: cursor.take().text, at });
    if (token.kind === 'bytes') return cursor.node({ kind: 'literal', value: bytesOf(cursor.take().text), at });
    if (token.kind === 'name' && !KEYWORDS.has(text)) return this.#name();
    if (cursor.takeSign('(')) {
      const inner = this.expression();
      cursor.expectSign(')');
      return inner;
    }
    if (cursor.takeSign('[')) return cursor.node({ kind: 'list', items: this.items(']'), at });
    if (cursor.takeSign('{')) return this.map(at);
    if (cursor.takeSign('.')) return this.#name();
    throw cursor.unexpected('a value');
  }

  #name(): Expression {
    const { cursor } = this;
    const { text: name, at } = cursor.expectName();
    const value = WORDS.get(name);
    if (value !== undefined) return cursor.node({ kind: 'literal', value, at });
    if (!cursor.takeSign('(')) return cursor.node({ kind: 'name', name, at });
    const args = this.items(')');
    if (name === 'has') return this.#has(args, at);
    this.mustBe(CEL_FUNCTIONS, 'function', name, at);
    return cursor.node({ kind: 'call', name, args, named: [], at });
  }

  #has(args: readonly Expression[], at: number): Expression {
    const [of] = args;
    if (args.length !== 1 || of?.kind !== 'member') throw new ExpressionError('has takes a field: has(x.name)', at);
    return this.cursor.node({ kind: 'has', of: of.of, name: of.name, at });
  }

  #postfix(inner: Expression): Expression {
    const { cursor } = this;
    let of = inner;
    for (;;) {
      const { at } = cursor.token;
      if (cursor.takeSign('.')) of = this.#member(of, at);
      else if (cursor.takeSign('[')) {
        const index = this.expression();
        cursor.expectSign(']');
        of = cursor.node({ kind: 'index', of, index, at });
      } else if (cursor.isSign('(')) throw new ExpressionError('this is not a function', at);
      else return of;
    }
  }

  #member(of: Expression, at: number): Expression {
    const { cursor } = this;
    if (cursor.token.kind === 'number') {
      const index = cursor.node<Expression>({
        kind: 'literal',
        value: BigInt(cursor.token.text),
        at: cursor.take().at,
      });
      return cursor.node({ kind: 'index', of, index, at });
    }
    const { text: name, at: nameAt } = cursor.expectName();
    if (!cursor.takeSign('(')) return cursor.node({ kind: 'member', of, name, at });
    const args = this.items(')');
    const macro = MACROS.get(name);
    if (macro !== undefined) return this.#macro(macro, of, args, nameAt);
    this.mustBe(CEL_METHODS, 'method', name, nameAt);
    return cursor.node({ kind: 'method', of, name, args, named: [], at });
  }

  #macro(macro: MacroName, of: Expression, args: readonly Expression[], at: number): Expression {
    const [variable, second, third] = args;
    const most = macro === 'map' ? 3 : 2;
    if (variable?.kind !== 'name' || second === undefined || args.length > most) {
      throw new ExpressionError(`${macro} takes a name and an expression: list.${macro}(x, x > 0)`, at);
    }
    const [test, body] = third === undefined ? [undefined, second] : [second, third];
    return this.cursor.node({ kind: 'macro', macro, of, name: variable.name, test, body, at });
  }
}

function numberOf(text: string, at: number): unknown {
  if (/[uU]$/.test(text) && /[.eE]/.test(text.replace(/^0x.*/, ''))) {
    throw new ExpressionError('a number with u is a whole one', at);
  }
  if (/[uU]$/.test(text)) return uint(BigInt(text.slice(0, -1)), at);
  if (WHOLE.test(text)) return int(BigInt(text), at);
  return Number(text);
}

/** Of characters up to U+00FF from escapes, each is a byte; others are written in UTF-8. */
function bytesOf(text: string): Bytes {
  const bytes = Array.from(text).flatMap((char) => {
    const code = char.codePointAt(0) as number;
    return code < 0x100 ? [code] : [...new TextEncoder().encode(char)];
  });
  return new Bytes(Uint8Array.from(bytes));
}
