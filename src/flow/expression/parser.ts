import type { Arguments, Expression } from './ast.ts';
import type { Cursor } from './cursor.ts';
import { ExpressionError } from './expression-error.ts';
import { OperatorParser } from './operator-parser.ts';
import type { Token } from './tokens.ts';

/** What an expression may call, by name. Names that are not here are refused when the expression is read, not when it runs. */
export interface Vocabulary {
  readonly filters: ReadonlySet<string>;
  readonly functions: ReadonlySet<string>;
  readonly methods: ReadonlySet<string>;
  readonly tests: ReadonlySet<string>;
  /** `a if b else c`, slices, maps, `**`, `~`, `//` and `%`: more than a condition has. */
  readonly full: boolean;
}

const WORDS: ReadonlyMap<string, null | boolean> = new Map([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['null', null],
  ['None', null],
  ['none', null],
]);
/** These never name a value. */
const KEYWORDS = new Set(['and', 'or', 'not', 'in', 'is', 'if', 'else']);
/** Spellings of `and` and `or` that published conditions have, and templates of Jinja do not. */
const CONDITION_SIGNS = { and: '&&', or: '||' } as const;
/** What a condition speaks of. */
const ROOTS = new Set(['context', 'input', 'output']);

/** Parses an expression in the grammar of Jinja, of which a condition is a part. The cursor is left behind it. */
export function parseExpression(cursor: Cursor, vocabulary: Vocabulary): Expression {
  return new Parser(cursor, vocabulary).expression();
}

class Parser extends OperatorParser {
  readonly #vocabulary: Vocabulary;

  constructor(cursor: Cursor, vocabulary: Vocabulary) {
    super(cursor);
    this.#vocabulary = vocabulary;
  }

  protected choice(): Expression {
    const { cursor } = this;
    let yes = this.#vocabulary.full ? this.or() : this.or(CONDITION_SIGNS);
    while (this.#vocabulary.full && cursor.isWord('if')) {
      const { at } = cursor.take();
      const test = this.or();
      const no = cursor.takeWord('else') ? this.expression() : undefined;
      yes = cursor.node({ kind: 'choice', test, yes, no, at });
    }
    return yes;
  }

  protected sum(): Expression {
    return this.binary(['+', '-'], () => this.#concatenation());
  }

  #concatenation(): Expression {
    return this.#vocabulary.full ? this.binary(['~'], () => this.#product()) : this.#product();
  }

  #product(): Expression {
    const full = this.#vocabulary.full;
    return this.binary(full ? ['*', '/', '//', '%'] : ['*', '/', '%'], () =>
      full ? this.binary(['**'], () => this.#unary(true)) : this.#unary(true),
    );
  }

  /** A sign binds tighter than a filter: `-1 | abs` is 1, as in Jinja. */
  #unary(filters: boolean): Expression {
    const { cursor } = this;
    const { at } = cursor.token;
    if (!this.#vocabulary.full && cursor.takeSign('!')) {
      return cursor.node({ kind: 'unary', op: 'not', of: cursor.within(() => this.#unary(filters)), at });
    }
    const op = (['-', '+'] as const).find((sign) => cursor.takeSign(sign));
    const inner =
      op === undefined
        ? this.#primary()
        : cursor.node<Expression>({ kind: 'unary', op, of: cursor.within(() => this.#unary(false)), at });
    const value = this.#postfix(inner);
    return filters ? this.#filtersAndTests(value) : value;
  }

  #primary(): Expression {
    const { cursor } = this;
    const { token } = cursor;
    const { at } = token;
    if (token.kind === 'number') return cursor.node({ kind: 'literal', value: Number(cursor.take().text), at });
    if (token.kind === 'text') return this.#texts();
    if (token.kind === 'name') return this.#name();
    if (cursor.takeSign('(')) return this.#parenthesis(at);
    if (cursor.takeSign('[')) return cursor.node({ kind: 'list', items: this.items(']'), at });
    if (this.#vocabulary.full && cursor.takeSign('{')) return this.map(at);
    throw cursor.unexpected('a value');
  }

  /** Texts side by side are one, as in Python. */
  #texts(): Expression {
    const { cursor } = this;
    const { at } = cursor.token;
    let value = '';
    while (cursor.token.kind === 'text') value += cursor.take().text;
    return cursor.node({ kind: 'literal', value, at });
  }

  #name(): Expression {
    const { cursor } = this;
    const { text: name, at } = cursor.token;
    if (KEYWORDS.has(name)) throw cursor.unexpected('a value');
    cursor.take();
    const value = WORDS.get(name);
    if (value !== undefined) return cursor.node({ kind: 'literal', value, at });
    if (!cursor.isSign('(')) return cursor.node({ kind: 'name', name, at });
    this.mustBe(this.#vocabulary.functions, 'function', name, at);
    return cursor.node({ kind: 'call', name, at, ...this.#arguments() });
  }

  /** A value in parentheses, or a tuple, which is a list here. */
  #parenthesis(at: number): Expression {
    const { cursor } = this;
    if (this.#vocabulary.full && cursor.takeSign(')')) return cursor.node({ kind: 'list', items: [], at });
    const first = this.expression();
    if (!this.#vocabulary.full || !cursor.isSign(',')) {
      cursor.expectSign(')');
      return first;
    }
    cursor.take();
    return cursor.node({ kind: 'list', items: [first, ...this.items(')')], at });
  }

  #postfix(inner: Expression): Expression {
    const { cursor } = this;
    let of = inner;
    for (;;) {
      const { at } = cursor.token;
      if (cursor.takeSign('.')) of = this.#member(of, at);
      else if (cursor.takeSign('[')) of = this.#subscript(of, at);
      else if (cursor.isSign('(')) throw new ExpressionError('this is not a function', at);
      else return of;
    }
  }

  #member(of: Expression, at: number): Expression {
    const { cursor } = this;
    if (cursor.token.kind === 'number') {
      const index = cursor.node({ kind: 'literal' as const, value: Number(cursor.token.text), at: cursor.take().at });
      return cursor.node({ kind: 'index', of, index, at });
    }
    const first = cursor.expectName();
    const name = this.#vocabulary.full ? first.text : this.#dashed(first);
    const { at: nameAt } = first;
    if (!cursor.isSign('(')) return cursor.node({ kind: 'member', of, name, at });
    this.mustBe(this.#vocabulary.methods, 'method', name, nameAt);
    return cursor.node({ kind: 'method', of, name, at, ...this.#arguments() });
  }

  /**
   * `context.first-name`, as the JavaScript SDK reads it. Nothing but the three roots is a name in a condition, so a word directly behind a
   * minus that is none of them can only be a part of the name.
   */
  #dashed(first: Token): string {
    const { cursor } = this;
    let { text: name, end } = first;
    while (
      cursor.isSign('-') &&
      cursor.token.at === end &&
      cursor.after.kind === 'name' &&
      cursor.after.at === end + 1
    ) {
      const { text } = cursor.after;
      if (ROOTS.has(text) || this.#vocabulary.functions.has(text)) break;
      cursor.take();
      end = cursor.take().end;
      name += `-${text}`;
    }
    return name;
  }

  #subscript(of: Expression, at: number): Expression {
    const { cursor } = this;
    const part = (): Expression | undefined =>
      cursor.isSign(':') || cursor.isSign(']') ? undefined : this.expression();
    const from = part();
    if (!this.#vocabulary.full || !cursor.isSign(':')) {
      if (from === undefined) throw cursor.unexpected('a value');
      cursor.expectSign(']');
      return cursor.node({ kind: 'index', of, index: from, at });
    }
    cursor.take();
    const to = part();
    const step = cursor.takeSign(':') ? part() : undefined;
    cursor.expectSign(']');
    return cursor.node({ kind: 'slice', of, from, to, step, at });
  }

  #filtersAndTests(value: Expression): Expression {
    const { cursor } = this;
    let of = value;
    for (;;) {
      if (cursor.takeSign('|')) of = this.#filter(of);
      else if (this.#vocabulary.full && cursor.isWord('is')) of = this.#is(of);
      else return of;
    }
  }

  #filter(of: Expression): Expression {
    const { cursor } = this;
    const { text: name, at } = cursor.expectName();
    this.mustBe(this.#vocabulary.filters, 'filter', name, at);
    const given = cursor.isSign('(') ? this.#arguments() : { args: [], named: [] };
    return cursor.node({ kind: 'filter', of, name, at, ...given });
  }

  #is(of: Expression): Expression {
    const { cursor } = this;
    cursor.take();
    const not = cursor.takeWord('not');
    const { text: name, at } = cursor.expectName();
    this.mustBe(this.#vocabulary.tests, 'test', name, at);
    const given = cursor.isSign('(') ? this.#arguments() : this.#bareArgument();
    return cursor.node({ kind: 'is', of, name, not, at, ...given });
  }

  /** `x is divisibleby 3`. */
  #bareArgument(): Arguments {
    const { kind, text } = this.cursor.token;
    const begins = kind === 'number' || kind === 'text' || (kind === 'name' && !KEYWORDS.has(text));
    return { args: begins ? [this.#postfix(this.#primary())] : [], named: [] };
  }

  #arguments(): Arguments {
    const { cursor } = this;
    const args: Expression[] = [];
    const named: (readonly [string, Expression])[] = [];
    cursor.expectSign('(');
    while (!cursor.isSign(')')) {
      const { token, after } = cursor;
      if (token.kind === 'name' && after.kind === 'sign' && after.text === '=') {
        cursor.take();
        cursor.take();
        named.push([token.text, this.expression()]);
      } else if (named.length > 0) throw cursor.unexpected('a named argument');
      else args.push(this.expression());
      if (!cursor.takeSign(',')) break;
    }
    cursor.expectSign(')');
    return { args, named };
  }
}
