import { ExpressionError } from './expression-error.ts';

/** What one evaluation may use. Whoever wrote the expression, it ends soon and stays small. */
export interface Bounds {
  /** Characters of the source. */
  readonly source: number;
  /** Nodes of the syntax tree. */
  readonly nodes: number;
  /** Parts within parts: parentheses, lists, blocks. */
  readonly depth: number;
  /** Evaluated nodes, and items that a filter, a function or a loop goes through. */
  readonly steps: number;
  /** Characters and list items that are made on the way, all in all. */
  readonly size: number;
}

export const CONDITION_BOUNDS: Bounds = { source: 2048, nodes: 200, depth: 32, steps: 100_000, size: 1_000_000 };
export const TEMPLATE_BOUNDS: Bounds = { source: 65_536, nodes: 5000, depth: 32, steps: 100_000, size: 4_000_000 };

/** Counts down what an evaluation has left. What costs much is charged before it is done. */
export class Budget {
  readonly #bounds: Bounds;
  #steps: number;
  #size: number;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
    this.#steps = bounds.steps;
    this.#size = bounds.size;
  }

  step(at: number, count = 1): void {
    this.#steps -= count;
    if (!(this.#steps >= 0)) {
      throw new ExpressionError(`this takes more than ${this.#bounds.steps} steps`, at, { overBudget: true });
    }
  }

  /** Before a text or a list of this length is made. */
  grow(at: number, length: number): void {
    this.#size -= length;
    if (!(this.#size >= 0)) {
      throw new ExpressionError(`this makes more than ${this.#bounds.size} characters or items`, at, {
        overBudget: true,
      });
    }
  }
}
