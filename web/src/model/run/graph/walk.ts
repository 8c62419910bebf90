/** From node to node by the keys of the arrows: along connections, and up and down among neighbours. */

import type { GraphLayout } from './layout.ts';

export type Direction = 'left' | 'right' | 'up' | 'down';

/** The node in that direction; the same one if there is none. */
export function stepFrom(layout: GraphLayout, from: number | undefined, direction: Direction): number | undefined {
  const { nodes } = layout;
  const start = from === undefined ? undefined : nodes[from];
  if (from === undefined || start === undefined) return firstOf(layout);
  const isAhead = ({ x, y }: { readonly x: number; readonly y: number }): boolean => {
    const [dx, dy] = [x - start.x, y - start.y];
    switch (direction) {
      case 'left':
        return dx < -8;
      case 'right':
        return dx > 8;
      case 'up':
        return dy < -8 && Math.abs(dy) >= Math.abs(dx) / 3;
      case 'down':
        return dy > 8 && Math.abs(dy) >= Math.abs(dx) / 3;
    }
  };
  const connected = layout.connections.flatMap(({ from: a, to: b }) =>
    direction === 'right' && a === from ? [b] : direction === 'left' && b === from ? [a] : [],
  );
  const sideways = direction === 'up' || direction === 'down';
  const among = connected.length > 0 ? connected : nodes.keys();
  let best: number | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const i of among) {
    const at = nodes[i];
    if (i === from || at === undefined || (connected.length === 0 && !isAhead(at))) continue;
    const [dx, dy] = [Math.abs(at.x - start.x), Math.abs(at.y - start.y)];
    const distance = sideways ? dy + 3 * dx : dx + 3 * dy;
    if (distance < least) [best, least] = [i, distance];
  }
  return best ?? from;
}

/** The leftmost one, of those the highest. */
function firstOf({ nodes }: GraphLayout): number | undefined {
  let best: number | undefined;
  for (const [i, { x, y }] of nodes.entries()) {
    const before = best === undefined ? undefined : nodes[best];
    if (before === undefined || x < before.x - 8 || (Math.abs(x - before.x) <= 8 && y < before.y)) best = i;
  }
  return best;
}
