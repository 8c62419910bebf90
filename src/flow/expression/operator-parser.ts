import { suggest } from '../../core/suggest.ts';
import type { BinaryOperator, CompareOperator, Expression } from './ast.ts';
import type { Cursor } from './cursor.ts';
import { ExpressionError } from './expression-error.ts';

const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=']);

/** The part of the grammar that all languages of machines share: operators, lists and maps. What stands between them is their own. */
export abstract class OperatorParser {
  protected readonly cursor: Cursor;

  constructor(cursor: Cursor) {
    this.cursor = cursor;
  }

  expression(): Expression {
    return this.cursor.within(() => this.choice());
  }

  /** `a if b else c`, `b ? a : c`. */
  protected abstract choice(): Expression;
  /** What comparisons stand between. */
  protected abstract sum(): Expression;

  /** `signs` are other spellings of the two words. */
  protected or(signs: { readonly and?: string; readonly or?: string } = {}): Expression {
    return this.#logical('or', signs.or, () => this.#logical('and', signs.and, () => this.#not()));
  }

  #logical(op: 'and' | 'or', sign: string | undefined, operand: () => Expression): Expression {
    const { cursor } = this;
    let left = operand();
    while (cursor.isWord(op) || (sign !== undefined && cursor.isSign(sign))) {
      const { at } = cursor.take();
      left = cursor.node({ kind: 'logical', op, left, right: operand(), at });
    }
    return left;
  }

  /** The word binds looser than a comparison. */
  #not(): Expression {
    const { cursor } = this;
    const { at } = cursor.token;
    if (!cursor.takeWord('not')) return this.#comparison();
    return cursor.node({ kind: 'unary', op: 'not', of: cursor.within(() => this.#not()), at });
  }

  #comparison(): Expression {
    const { cursor } = this;
    const first = this.sum();
    const rest: { op: CompareOperator; right: Expression }[] = [];
    const { at } = cursor.token;
    for (let op = this.#compareOperator(); op !== undefined; op = this.#compareOperator()) {
      rest.push({ op, right: this.sum() });
    }
    return rest.length === 0 ? first : cursor.node({ kind: 'comparison', first, rest, at });
  }

  #compareOperator(): CompareOperator | undefined {
    const { cursor } = this;
    const { token, after } = cursor;
    if (token.kind === 'sign' && COMPARISONS.has(token.text)) return cursor.take().text as CompareOperator;
    if (cursor.takeWord('in')) return 'in';
    if (!cursor.isWord('not') || after.kind !== 'name' || after.text !== 'in') return undefined;
    cursor.take();
    cursor.take();
    return 'not in';
  }

  protected binary(signs: readonly BinaryOperator[], operand: () => Expression): Expression {
    const { cursor } = this;
    let left = operand();
    for (;;) {
      const op = signs.find((sign) => cursor.isSign(sign));
      if (op === undefined) return left;
      const { at } = cursor.take();
      left = cursor.node({ kind: 'binary', op, left, right: operand(), at });
    }
  }

  /** Values up to the closing sign. */
  protected items(close: string): readonly Expression[] {
    const { cursor } = this;
    const items: Expression[] = [];
    while (!cursor.isSign(close)) {
      items.push(this.expression());
      if (!cursor.takeSign(',')) break;
    }
    cursor.expectSign(close);
    return items;
  }

  protected map(at: number): Expression {
    const { cursor } = this;
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

  protected mustBe(known: ReadonlySet<string>, kind: string, name: string, at: number): void {
    if (known.has(name)) return;
    throw new ExpressionError(`there is no ${kind} "${name}"${othersOf(known, name)}`, at);
  }
}

/** As many as one looks through. */
const MOST_NAMED = 12;

/** What the word may have been meant for. Of many names only the first are said: a message has one line. */
function othersOf(known: ReadonlySet<string>, name: string): string {
  const meant = suggest(name, known);
  if (meant !== undefined) return `; did you mean ${meant}?`;
  const names = [...known].sort();
  if (names.length === 0) return '';
  const more = names.length > MOST_NAMED ? `, and ${names.length - MOST_NAMED} more` : '';
  return `; there are ${names.slice(0, MOST_NAMED).join(', ')}${more}`;
}
