import type { BinaryOperator, CompareOperator, Expression, MacroName } from '../expression/ast.ts';
import { type Bounds, CONDITION_BOUNDS } from '../expression/budget.ts';
import { Cursor } from '../expression/cursor.ts';
import { ExpressionError } from '../expression/expression-error.ts';
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
const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=']);

class CelParser {
  readonly #cursor: Cursor;

  constructor(cursor: Cursor) {
    this.#cursor = cursor;
  }

  expression(): Expression {
    return this.#cursor.within(() => this.#choice());
  }

  #choice(): Expression {
    const cursor = this.#cursor;
    const test = this.#or();
    const { at } = cursor.token;
    if (!cursor.takeSign('?')) return test;
    const yes = this.#or();
    cursor.expectSign(':');
    return cursor.node({ kind: 'choice', test, yes, no: this.expression(), at });
  }

  #or(): Expression {
    return this.#logical('or', '||', () => this.#logical('and', '&&', () => this.#not()));
  }

  #logical(op: 'and' | 'or', sign: string, operand: () => Expression): Expression {
    const cursor = this.#cursor;
    let left = operand();
    while (cursor.isWord(op) || cursor.isSign(sign)) {
      const { at } = cursor.take();
      left = cursor.node({ kind: 'logical', op, left, right: operand(), at });
    }
    return left;
  }

  /** The word binds looser than a comparison, the sign tighter. */
  #not(): Expression {
    const cursor = this.#cursor;
    const { at } = cursor.token;
    if (!cursor.takeWord('not')) return this.#comparison();
    return cursor.node({ kind: 'unary', op: 'not', of: cursor.within(() => this.#not()), at });
  }

  #comparison(): Expression {
    const cursor = this.#cursor;
    const first = this.#sum();
    const rest: { op: CompareOperator; right: Expression }[] = [];
    const { at } = cursor.token;
    for (let op = this.#compareOperator(); op !== undefined; op = this.#compareOperator()) {
      rest.push({ op, right: this.#sum() });
    }
    return rest.length === 0 ? first : cursor.node({ kind: 'comparison', first, rest, at });
  }

  #compareOperator(): CompareOperator | undefined {
    const cursor = this.#cursor;
    const { token, after } = cursor;
    if (token.kind === 'sign' && COMPARISONS.has(token.text)) return cursor.take().text as CompareOperator;
    if (cursor.takeWord('in')) return 'in';
    if (!cursor.isWord('not') || after.kind !== 'name' || after.text !== 'in') return undefined;
    cursor.take();
    cursor.take();
    return 'not in';
  }

  #sum(): Expression {
    return this.#binary(['+', '-'], () => this.#binary(['*', '/', '%'], () => this.#unary()));
  }

  #binary(signs: readonly BinaryOperator[], operand: () => Expression): Expression {
    const cursor = this.#cursor;
    let left = operand();
    for (;;) {
      const op = signs.find((sign) => cursor.isSign(sign));
      if (op === undefined) return left;
      const { at } = cursor.take();
      left = cursor.node({ kind: 'binary', op, left, right: operand(), at });
    }
  }

  #unary(): Expression {
    const cursor = this.#cursor;
    const { at } = cursor.token;
    if (cursor.takeSign('!')) {
      return cursor.node({ kind: 'unary', op: 'not', of: cursor.within(() => this.#unary()), at });
    }
    if (!cursor.takeSign('-')) return this.#filtered(this.#postfix(this.#primary()));
    // The least whole number has no positive one to be written as.
    if (cursor.token.kind === 'number' && /^[\dxa-fA-F]+$/.test(cursor.token.text)) {
      const value = int(-BigInt(cursor.take().text), at);
      return this.#filtered(this.#postfix(cursor.node({ kind: 'literal', value, at })));
    }
    return cursor.node({ kind: 'unary', op: '-', of: cursor.within(() => this.#unary()), at });
  }

  #filtered(value: Expression): Expression {
    const cursor = this.#cursor;
    let of = value;
    while (cursor.takeSign('|')) {
      const { text: name, at } = cursor.expectName();
      mustBe(CEL_FILTERS, 'filter', name, at);
      const args = cursor.takeSign('(') ? this.#items(')') : [];
      of = cursor.node({ kind: 'filter', of, name, args, named: [], at });
    }
    return of;
  }

  #primary(): Expression {
    const cursor = this.#cursor;
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
    if (cursor.takeSign('[')) return cursor.node({ kind: 'list', items: this.#items(']'), at });
    if (cursor.takeSign('{')) return this.#map(at);
    if (cursor.takeSign('.')) return this.#name();
    throw cursor.unexpected('a value');
  }

  #name(): Expression {
    const cursor = this.#cursor;
    const { text: name, at } = cursor.expectName();
    const value = WORDS.get(name);
    if (value !== undefined) return cursor.node({ kind: 'literal', value, at });
    if (!cursor.takeSign('(')) return cursor.node({ kind: 'name', name, at });
    const args = this.#items(')');
    if (name === 'has') return this.#has(args, at);
    mustBe(CEL_FUNCTIONS, 'function', name, at);
    return cursor.node({ kind: 'call', name, args, named: [], at });
  }

  #has(args: readonly Expression[], at: number): Expression {
    const [of] = args;
    if (args.length !== 1 || of?.kind !== 'member') throw new ExpressionError('has takes a field: has(x.name)', at);
    return this.#cursor.node({ kind: 'has', of: of.of, name: of.name, at });
  }

  #items(close: string): readonly Expression[] {
    const cursor = this.#cursor;
    const items: Expression[] = [];
    while (!cursor.isSign(close)) {
      items.push(this.expression());
      if (!cursor.takeSign(',')) break;
    }
    cursor.expectSign(close);
    return items;
  }

  #map(at: number): Expression {
    const cursor = this.#cursor;
    const entries: (readonly [Expression, Expression])[] = [];
    while (!cursor.isSign('}')) {
      const key = this.expression();
      cursor.expectSign(':');
      entries.push([key, this.expression()]);
      if (!cursor.takeSign(',')) break;
    }
    cursor.expectSign('}');
    return cursor.node({ kind: 'map', entries, at });
  }

  #postfix(inner: Expression): Expression {
    const cursor = this.#cursor;
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
    const cursor = this.#cursor;
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
    const args = this.#items(')');
    const macro = MACROS.get(name);
    if (macro !== undefined) return this.#macro(macro, of, args, nameAt);
    mustBe(CEL_METHODS, 'method', name, nameAt);
    return cursor.node({ kind: 'method', of, name, args, named: [], at });
  }

  #macro(macro: MacroName, of: Expression, args: readonly Expression[], at: number): Expression {
    const [variable, second, third] = args;
    const most = macro === 'map' ? 3 : 2;
    if (variable?.kind !== 'name' || second === undefined || args.length > most) {
      throw new ExpressionError(`${macro} takes a name and an expression: list.${macro}(x, x > 0)`, at);
    }
    const [test, body] = third === undefined ? [undefined, second] : [second, third];
    return this.#cursor.node({ kind: 'macro', macro, of, name: variable.name, test, body, at });
  }
}

function numberOf(text: string, at: number): unknown {
  if (/[uU]$/.test(text)) return uint(BigInt(text.slice(0, -1)), at);
  if (text.startsWith('0x') || /^\d+$/.test(text)) return int(BigInt(text), at);
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

function mustBe(known: ReadonlySet<string>, kind: string, name: string, at: number): void {
  if (known.has(name)) return;
  throw new ExpressionError(`there is no ${kind} "${name}"; there are ${[...known].sort().join(', ')}`, at);
}
