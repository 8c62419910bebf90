import { fault } from '../errors.ts';

/** What becomes of a task when a dependency has failed or was cancelled. */
export const AFTER_FAILURE = ['cancel', 'fail', 'run'] as const;
export type AfterFailure = (typeof AFTER_FAILURE)[number];

/** A task of a graph: the positions of the tasks that it waits for. Tasks outside of the graph cannot close a cycle. */
export interface GraphNode {
  readonly after: readonly number[];
}

/** Refuses a cycle, and names the tasks on it. */
export function checkAcyclic(nodes: readonly GraphNode[], nameOf: (position: number) => string): void {
  const circle = findCircle(nodes);
  if (circle === undefined) return;
  throw fault('INVALID_INPUT', {
    field: 'after',
    problem: `the tasks wait for each other in a circle: ${circle.map(nameOf).join(' → ')}`,
  });
}

/** The positions of a cycle, each before the one that waits for it; the first is repeated at the end. Undefined: there is none. */
export function findCircle(nodes: readonly GraphNode[]): readonly number[] | undefined {
  const state = new Uint8Array(nodes.length); // 1: on the way down, 2: done
  for (let start = 0; start < nodes.length; start++) {
    if (state[start] !== 0) continue;
    // Without recursion: a chain may be longer than the stack.
    const path: { readonly position: number; next: number }[] = [{ position: start, next: 0 }];
    state[start] = 1;
    while (path.length > 0) {
      const top = path.at(-1) as { position: number; next: number };
      const up = nodes[top.position]?.after[top.next++];
      if (up === undefined) {
        state[top.position] = 2;
        path.pop();
      } else if (state[up] === 1) {
        const positions = path.slice(path.findIndex(({ position }) => position === up)).map(({ position }) => position);
        return [...positions, up].reverse();
      } else if (state[up] === 0) {
        state[up] = 1;
        path.push({ position: up, next: 0 });
      }
    }
  }
  return undefined;
}
