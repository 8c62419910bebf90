/** Expressions of graphs: the part of JavaScript that workflows use to pick, compare and put together values. None of it is JavaScript. */
import { suggest } from '../../../core/suggest.ts';
import type { BinaryOperator, CompareOperator, Expression } from '../../expression/ast.ts';
import { type Bounds, CONDITION_BOUNDS } from '../../expression/budget.ts';
import { Cursor } from '../../expression/cursor.ts';
import { ExpressionError } from '../../expression/expression-error.ts';
import { GRAPH_FUNCTIONS, GRAPH_METHODS } from './library.ts';
import { graphTokensOf } from './tokens.ts';

/** Throws `ExpressionError`. */
export function parseGraphExpression(source: string, bounds: Bounds = CONDITION_BOUNDS): Expression {
  if (source.length > bounds.source) {
    throw new ExpressionError(`this is longer than ${bounds.source} characters`, bounds.source, { overBudget: true });
  }
  const cursor = new Cursor(graphTokensOf(source), bounds);
  const expression = new Parser(cursor).expression();
  if (cursor.token.kind !== 'end') throw cursor.unexpected('the end');
  return expression;
}

/** The item, and all items that came in. */
export const ROOTS = ['$', '$items'] as const;
const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['null', null],
  ['undefined', undefined],
]);
const EQUALITY: ReadonlyMap<string, CompareOperator> = new Map([
  ['===', '=='],
  ['==', '=='],
  ['!==', '!='],
  ['!=', '!='],
]);
const RELATION: ReadonlyMap<string, CompareOperator> = new Map([
  ['<', '<'],
  ['<=', '<='],
  ['>', '>'],
  ['>=', '>='],
]);
const NAMESPACES: ReadonlySet<string> = new Set(
  [...GRAPH_FUNCTIONS].flatMap((name) => (name.includes('.') ? [name.split('.')[0] as string] : [])),
);

class Parser {
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
    const yes = this.expression();
    cursor.expectSign(':');
    return cursor.node({ kind: 'choice', test, yes, no: this.expression(), at });
  }

  #or(): Expression {
    const cursor = this.#cursor;
    let left = this.#and();
    for (;;) {
      const { at } = cursor.token;
      if (cursor.takeSign('||')) left = cursor.node({ kind: 'logical', op: 'or', left, right: this.#and(), at });
      else if (cursor.takeSign('??')) {
        left = cursor.node({ kind: 'filter', of: left, name: '??', args: [this.#and()], named: [], at });
      } else return left;
    }
  }

  #and(): Expression {
    const cursor = this.#cursor;
    let left = this.#compared(EQUALITY, () => this.#compared(RELATION, () => this.#sum()));
    for (;;) {
      const { at } = cursor.token;
      if (!cursor.takeSign('&&')) return left;
      const right = this.#compared(EQUALITY, () => this.#compared(RELATION, () => this.#sum()));
      left = cursor.node({ kind: 'logical', op: 'and', left, right, at });
    }
  }

  #compared(signs: ReadonlyMap<string, CompareOperator>, operand: () => Expression): Expression {
    const cursor = this.#cursor;
    let first = operand();
    for (;;) {
      const { at, kind, text } = cursor.token;
      const op = kind === 'sign' ? signs.get(text) : undefined;
      if (op === undefined) return first;
      cursor.take();
      first = cursor.node({ kind: 'comparison', first, rest: [{ op, right: operand() }], at });
    }
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
    const op = cursor.takeSign('!') ? 'not' : cursor.takeSign('-') ? '-' : cursor.takeSign('+') ? '+' : undefined;
    if (op === undefined) return this.#postfix(this.#primary());
    return cursor.node({ kind: 'unary', op, of: cursor.within(() => this.#unary()), at });
  }

  #primary(): Expression {
    const cursor = this.#cursor;
    const { at, kind, text } = cursor.token;
    if (kind === 'number') return cursor.node({ kind: 'literal', value: Number(cursor.take().text), at });
    if (kind === 'text') return cursor.node({ kind: 'literal', value: cursor.take().text, at });
    if (kind === 'name') return this.#name(text, at);
    if (cursor.takeSign('(')) {
      const inner = this.expression();
      cursor.expectSign(')');
      return inner;
    }
    if (cursor.takeSign('[')) return cursor.node({ kind: 'list', items: this.#items(']'), at });
    if (cursor.takeSign('{')) return this.#map(at);
    throw cursor.unexpected('a value');
  }

  #name(name: string, at: number): Expression {
    const cursor = this.#cursor;
    cursor.take();
    if (WORDS.has(name)) return cursor.node({ kind: 'literal', value: WORDS.get(name), at });
    if ((ROOTS as readonly string[]).includes(name)) return cursor.node({ kind: 'name', name, at });
    if (NAMESPACES.has(name) && cursor.takeSign('.')) return this.#call(`${name}.${cursor.expectName().text}`, at);
    if (cursor.isSign('(')) return this.#call(name, at);
    throw new ExpressionError(`there is no name "${name}"; an expression speaks of ${ROOTS.join(' and ')}`, at);
  }

  #call(name: string, at: number): Expression {
    const cursor = this.#cursor;
    mustBe(GRAPH_FUNCTIONS, 'function', name, at);
    cursor.expectSign('(');
    return cursor.node({ kind: 'call', name, args: this.#items(')'), named: [], at });
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
    const { text: name, at: nameAt } = cursor.expectName();
    if (!cursor.takeSign('(')) return cursor.node({ kind: 'member', of, name, at });
    mustBe(GRAPH_METHODS, 'method', name, nameAt);
    return cursor.node({ kind: 'method', of, name, args: this.#items(')'), named: [], at: nameAt });
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
      const { kind, text, at: keyAt } = cursor.token;
      if (kind !== 'name' && kind !== 'text' && kind !== 'number') throw cursor.unexpected('a key');
      cursor.take();
      cursor.expectSign(':');
      entries.push([cursor.node<Expression>({ kind: 'literal', value: text, at: keyAt }), this.expression()]);
      if (!cursor.takeSign(',')) break;
    }
    cursor.expectSign('}');
    return cursor.node({ kind: 'map', entries, at });
  }
}

function mustBe(known: ReadonlySet<string>, kind: string, name: string, at: number): void {
  if (known.has(name)) return;
  const meant = suggest(name, known);
  const others = meant === undefined ? `; there are ${[...known].sort().join(', ')}` : `; did you mean ${meant}?`;
  throw new ExpressionError(`there is no ${kind} "${name}"${others}`, at);
}
