import { findCircle } from './graph.ts';

/** A document as its tree sees it: its parent, and what must have ended before it runs. */
export interface DocumentNode {
  readonly id: string;
  /** Undefined: it is the root. */
  readonly parent: string | undefined;
  readonly dependencies: readonly Need[];
}

export interface Need {
  readonly id: string;
  /** It must have completed. Otherwise only its end is waited for, whatever it is. */
  readonly required: boolean;
}

/** What is wrong with a tree. */
export type Flaw =
  | { readonly kind: 'twice'; readonly id: string }
  /** A tree has exactly one root. */
  | { readonly kind: 'roots'; readonly ids: readonly string[] }
  | { readonly kind: 'parent'; readonly id: string; readonly parent: string }
  /** Each is below the next one. */
  | { readonly kind: 'ancestry'; readonly ids: readonly string[] }
  | { readonly kind: 'reference'; readonly id: string; readonly on: string }
  /** Each must have ended before the next one. */
  | { readonly kind: 'circle'; readonly ids: readonly string[] };

/** The first thing that keeps these from being one tree that can run to its end. A parent runs after its children. */
export function findFlaw(nodes: readonly DocumentNode[]): Flaw | undefined {
  const positions = new Map<string, number>();
  for (const [i, { id }] of nodes.entries()) {
    if (positions.has(id)) return { kind: 'twice', id };
    positions.set(id, i);
  }
  for (const { id, parent } of nodes) {
    if (parent !== undefined && !positions.has(parent)) return { kind: 'parent', id, parent };
  }
  const namesOf = (circle: readonly number[]): readonly string[] =>
    circle.map((position) => (nodes[position] as DocumentNode).id);
  const positionOf = (id: string): number => positions.get(id) as number;
  const ancestry = findCircle(nodes.map(({ parent }) => ({ after: parent === undefined ? [] : [positionOf(parent)] })));
  if (ancestry !== undefined) return { kind: 'ancestry', ids: namesOf(ancestry).toReversed() };
  const roots = nodes.filter(({ parent }) => parent === undefined);
  if (roots.length !== 1) return { kind: 'roots', ids: roots.map(({ id }) => id) };
  for (const { id, dependencies } of nodes) {
    const missing = dependencies.find((need) => !positions.has(need.id));
    if (missing !== undefined) return { kind: 'reference', id, on: missing.id };
  }
  const children = Map.groupBy(nodes, ({ parent }) => parent);
  const circle = findCircle(
    nodes.map(({ id, dependencies }) => ({
      after: [...dependencies, ...(children.get(id) ?? [])].map((one) => positionOf(one.id)),
    })),
  );
  return circle === undefined ? undefined : { kind: 'circle', ids: namesOf(circle) };
}

/** A document and everything below it, itself first; empty where it is not among the nodes. */
export function subtreeOf<N extends DocumentNode>(nodes: readonly N[], id: string): readonly N[] {
  const children = Map.groupBy(nodes, ({ parent }) => parent);
  const found = nodes.filter((node) => node.id === id);
  // Grows during the loop.
  for (const node of found) found.push(...(children.get(node.id) ?? []));
  return found;
}

/** A document that stays and depends on one that goes. */
export function needsAcross(
  nodes: readonly DocumentNode[],
  removed: ReadonlySet<string>,
): { readonly id: string; readonly on: string } | undefined {
  for (const { id, dependencies } of nodes) {
    if (removed.has(id)) continue;
    const need = dependencies.find((one) => removed.has(one.id));
    if (need !== undefined) return { id, on: need.id };
  }
  return undefined;
}
