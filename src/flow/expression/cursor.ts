import type { Bounds } from './budget.ts';
import { ExpressionError } from './expression-error.ts';
import type { Token } from './tokens.ts';

/** Where a parser stands in its tokens, and how much it has built of what it may. */
export class Cursor {
  readonly #tokens: readonly Token[];
  readonly #bounds: Bounds;
  #next = 0;
  #nodes = 0;
  #depth = 0;

  constructor(tokens: readonly Token[], bounds: Bounds) {
    this.#tokens = tokens;
    this.#bounds = bounds;
  }

  get token(): Token {
    return this.#tokens[this.#next] as Token;
  }

  get after(): Token {
    return (this.#tokens[this.#next + 1] ?? this.#tokens.at(-1)) as Token;
  }

  /** How many nodes were built. */
  get nodes(): number {
    return this.#nodes;
  }

  take(): Token {
    const { token } = this;
    if (token.kind !== 'end') this.#next++;
    return token;
  }

  isSign(text: string): boolean {
    return this.token.kind === 'sign' && this.token.text === text;
  }

  isWord(text: string): boolean {
    return this.token.kind === 'name' && this.token.text === text;
  }

  /** Takes the token if it is this sign. */
  takeSign(text: string): boolean {
    if (!this.isSign(text)) return false;
    this.#next++;
    return true;
  }

  takeWord(text: string): boolean {
    if (!this.isWord(text)) return false;
    this.#next++;
    return true;
  }

  expectSign(text: string): void {
    if (!this.takeSign(text)) throw this.unexpected(`"${text}"`);
  }

  expectName(): Token {
    if (this.token.kind !== 'name') throw this.unexpected('a name');
    return this.take();
  }

  unexpected(expected: string): ExpressionError {
    const { token } = this;
    const found = token.kind === 'end' ? 'the end' : token.kind === 'text' ? 'a text' : `"${token.text}"`;
    return new ExpressionError(`expected ${expected}, found ${found}`, token.at);
  }

  /** Counts a node. */
  node<T extends { readonly at: number }>(node: T): T {
    if (++this.#nodes > this.#bounds.nodes) {
      throw new ExpressionError(`this has more than ${this.#bounds.nodes} parts`, node.at, { overBudget: true });
    }
    return node;
  }

  /** Parses a part that may contain parts like itself. */
  within<T>(parse: () => T): T {
    if (++this.#depth > this.#bounds.depth) {
      throw new ExpressionError(`this is nested more than ${this.#bounds.depth} deep`, this.token.at, {
        overBudget: true,
      });
    }
    const parsed = parse();
    this.#depth--;
    return parsed;
  }
}
