import type { GraphNode } from './definition.ts';

/** The ids of nodes that go in a circle, the first one again at the end; undefined: there is none. */
export function circleIn(nodes: readonly GraphNode[]): readonly string[] | undefined {
  const missing = nodes.map(({ incoming }) => incoming.length);
  const ready = nodes.filter(({ incoming }) => incoming.length === 0).map(({ index }) => index);
  let ended = 0;
  for (let next = ready.pop(); next !== undefined; next = ready.pop()) {
    ended++;
    for (const { to } of (nodes[next] as GraphNode).outgoing) {
      const left = (missing[to] as number) - 1;
      missing[to] = left;
      if (left === 0) ready.push(to);
    }
  }
  return ended === nodes.length ? undefined : wayBack(nodes, missing);
}

/** Each node that is left waits for another one that is left: upstream from any of them, one comes again. */
function wayBack(nodes: readonly GraphNode[], missing: readonly number[]): readonly string[] {
  const way: number[] = [];
  const seen = new Map<number, number>();
  let at = missing.findIndex((left) => left > 0);
  while (!seen.has(at)) {
    seen.set(at, way.length);
    way.push(at);
    at = nodes[at]?.incoming.find(({ from }) => (missing[from] as number) > 0)?.from as number;
  }
  const circle = way.slice(seen.get(at)).reverse();
  return [...circle, circle[0] as number].map((index) => (nodes[index] as GraphNode).id);
}
