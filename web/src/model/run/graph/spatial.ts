/** Finds the nodes of a part of a drawing, without a look at all others. */

import { type GraphLayout, NODE_HEIGHT, NODE_WIDTH } from './layout.ts';
import type { Rect } from './viewport.ts';

const CELL = 512;

export class NodeIndex {
  readonly #layout: GraphLayout;
  readonly #cells = new Map<number, number[]>();
  readonly #columns: number;

  constructor(layout: GraphLayout) {
    this.#layout = layout;
    this.#columns = Math.ceil(layout.width / CELL) + 2;
    for (const [i, { x, y }] of layout.nodes.entries()) {
      const key = this.#key(Math.floor(x / CELL), Math.floor(y / CELL));
      const cell = this.#cells.get(key);
      if (cell === undefined) this.#cells.set(key, [i]);
      else cell.push(i);
    }
  }

  /** Places of the nodes that touch it; more than `most` are none: then they are too small to be told apart. */
  within({ x, y, width, height }: Rect, most = Number.POSITIVE_INFINITY): readonly number[] | undefined {
    const [left, top] = [Math.floor((x - NODE_WIDTH) / CELL), Math.floor((y - NODE_HEIGHT) / CELL)];
    const [right, low] = [Math.floor((x + width) / CELL), Math.floor((y + height) / CELL)];
    const found: number[] = [];
    const look = (nodes: readonly number[]): void => {
      for (const i of nodes) {
        const at = this.#layout.nodes[i] as { readonly x: number; readonly y: number };
        if (at.x <= x + width && at.x + NODE_WIDTH >= x && at.y <= y + height && at.y + NODE_HEIGHT >= y) found.push(i);
      }
    };
    if ((right - left + 1) * (low - top + 1) > this.#cells.size) for (const nodes of this.#cells.values()) look(nodes);
    else
      for (let row = Math.max(0, top); row <= low; row++)
        for (let column = Math.max(0, left); column <= right; column++)
          look(this.#cells.get(this.#key(column, row)) ?? []);
    return found.length > most ? undefined : found.sort((a, b) => a - b);
  }

  at(x: number, y: number): number | undefined {
    return this.within({ x, y, width: 0, height: 0 })?.[0];
  }

  #key(column: number, row: number): number {
    return row * this.#columns + column;
  }
}
