/** Graphs in tests. */
import assert from 'node:assert/strict';
import type { Graph } from './definition.ts';
import { type InlineWork, inputOf, itemsGiven, NO_OUTPUT, type NodeOutput, outputWithin } from './items.ts';
import { inputsOfTasks, outputOfTasks } from './node-tasks.ts';
import { readGraph } from './read-graph.ts';
import { reduceGraph, startGraph } from './reduce.ts';
import type { RunScope } from './scope.ts';
import type { GraphCommand, GraphSnapshot } from './snapshot.ts';

type NodeFields = Readonly<Record<string, unknown>>;

/** `edges`: "a>b", or "a!b" for what a node `if` rejects. */
export function workflow(
  nodes: Readonly<Record<string, NodeFields>>,
  edges: readonly string[],
  more: object = {},
): object {
  return {
    nodes: Object.entries(nodes).map(([id, fields]) => ({
      id,
      name: id,
      position: { x: 0, y: 0 },
      data: {},
      ...fields,
    })),
    connections: edges.map((edge, i) => {
      const [, sourceNodeId, sign, targetNodeId] = /^(.+?)([>!])(.+)$/.exec(edge) ?? [];
      return { id: `c${i}`, sourceNodeId, targetNodeId, ...(sign === '!' ? { sourceConnectorId: 'false' } : {}) };
    }),
    ...more,
  };
}

export function graphOf(value: object): Graph {
  const { graph, problems } = readGraph(JSON.parse(JSON.stringify(value)));
  assert.ok(graph, JSON.stringify(problems));
  return graph;
}

export interface RanGraph {
  readonly outputs: ReadonlyMap<string, NodeOutput>;
  readonly snapshot: GraphSnapshot;
  readonly end: GraphCommand | undefined;
  /** Ids of nodes in the order in which they began, and what their tasks were given. */
  readonly began: readonly (readonly [string, readonly unknown[]])[];
}

/** Runs a graph within the test. A task gives what `handle` says, and a throw is its failure. */
export function runGraph(
  graph: Graph,
  handle: (handler: string, input: unknown, node: string) => unknown = () => null,
  { input, ...scope }: RunScope & { readonly input?: unknown } = {},
): RanGraph {
  const outputs = new Map<number, NodeOutput>();
  const began: (readonly [string, readonly unknown[]])[] = [];
  const outputOf = (index: number): NodeOutput => {
    const node = graph.nodes[index];
    return outputs.get(index) ?? { ...NO_OUTPUT, kept: node?.pinned ?? [] };
  };
  let { snapshot, commands } = startGraph(graph, scope);
  const queue = [...commands];
  let end: GraphCommand | undefined;
  for (const command of queue) {
    if (command.do !== 'run') {
      assert.equal(end, undefined, 'a run ends once');
      end = command;
      continue;
    }
    const node = graph.nodes[command.node];
    assert.ok(node);
    const { work } = node;
    const given = inputOf(node, outputOf);
    try {
      let output: NodeOutput;
      if (work.do === 'task') {
        const inputs = inputsOfTasks(graph, node, work, given);
        began.push([node.id, inputs]);
        output = outputOfTasks(
          node,
          work,
          given,
          inputs.map((one) => handle(work.request.handler, one, node.id)),
        );
      } else {
        began.push([node.id, []]);
        output = outputWithin(node, work as InlineWork, given, { at: 0, items: itemsGiven(input) });
      }
      outputs.set(node.index, output);
      const [kept, rejected] = [output.kept.length, output.rejected.length];
      ({ snapshot, commands } = reduceGraph(graph, snapshot, { kind: 'ended', node: node.index, kept, rejected }));
    } catch (error) {
      const { name: type, message } = error as Error;
      ({ snapshot, commands } = reduceGraph(graph, snapshot, { kind: 'failed', node: node.index, type, message }));
    }
    queue.push(...commands);
  }
  const named = [...outputs].map(([index, output]) => [graph.nodes[index]?.id ?? '', output] as const);
  return { outputs: new Map(named), snapshot, end, began };
}
