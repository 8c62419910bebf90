/** The layout of a small graph: the column is the distance from the first tasks, rows keep crossing lines few. */

export interface GraphNode {
  readonly id: string;
  readonly after: readonly string[];
}

export interface PlacedNode {
  readonly id: string;
  readonly column: number;
  readonly row: number;
}

export interface Layout {
  readonly nodes: readonly PlacedNode[];
  readonly columns: number;
  readonly rows: number;
}

export function layoutGraph(nodes: readonly GraphNode[]): Layout {
  const known = new Map(nodes.map((node) => [node.id, node]));
  const columns = columnsOf(nodes, known);
  const byColumn: string[][] = [];
  for (const { id } of nodes) {
    const column = columns.get(id) ?? 0;
    (byColumn[column] ??= []).push(id);
  }
  const row = new Map<string, number>();
  for (const [column, ids] of byColumn.entries()) {
    if (ids === undefined) continue;
    // Near the middle of its parents.
    const middleOfParents = (id: string): number => {
      const rows = (known.get(id)?.after ?? []).flatMap((one) => row.get(one) ?? []);
      return rows.length === 0 ? 0 : rows.reduce((sum, one) => sum + one, 0) / rows.length;
    };
    if (column > 0) ids.sort((a, b) => middleOfParents(a) - middleOfParents(b));
    for (const [i, id] of ids.entries()) row.set(id, i);
  }
  const placed = nodes.map(({ id }) => ({ id, column: columns.get(id) ?? 0, row: row.get(id) ?? 0 }));
  return { nodes: placed, columns: byColumn.length, rows: Math.max(0, ...byColumn.map((ids) => ids?.length ?? 0)) };
}

/** The longest path to each node. A cycle, which the server never makes, is cut where it closes. */
function columnsOf(nodes: readonly GraphNode[], known: ReadonlyMap<string, GraphNode>): ReadonlyMap<string, number> {
  const columns = new Map<string, number>();
  const onStack = new Set<string>();
  // An explicit stack, because a chain may be longer than the call stack is deep.
  for (const { id } of nodes) {
    const stack = [id];
    while (stack.length > 0) {
      const now = stack.at(-1) as string;
      const before = (known.get(now)?.after ?? []).filter((one) => known.has(one));
      const next = columns.has(now) ? undefined : before.find((one) => !columns.has(one) && !onStack.has(one));
      onStack.add(now);
      if (next !== undefined) stack.push(next);
      else {
        stack.pop();
        onStack.delete(now);
        if (!columns.has(now)) columns.set(now, Math.max(-1, ...before.map((one) => columns.get(one) ?? -1)) + 1);
      }
    }
  }
  return columns;
}
