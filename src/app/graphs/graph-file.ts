/** A graph in a file: what is wrong with it, each problem with its line, and how it looks. */
import { fault } from '../../core/errors.ts';
import type { Value } from '../../flow/expression/values.ts';
import type { Graph, GraphNode } from '../../flow/graph/definition.ts';
import { readGraph } from '../../flow/graph/read-graph.ts';
import { pathText } from '../../flow/machine/problems.ts';
import { readMachineFile } from '../../worker/machine/load-machine.ts';
import { type MachineProblem, problemLine } from '../machines/problems.ts';

export { graphSchema } from '../../flow/graph/schema/graph-schema.ts';

export interface GraphFile {
  readonly value: Value;
  /** Undefined if a problem keeps it from running. */
  readonly graph: Graph | undefined;
  readonly problems: readonly MachineProblem[];
}

/** JSON, or YAML. A file that is not there rejects with `NOT_FOUND`. */
export async function readGraphFile(file: string): Promise<GraphFile> {
  const { value, lineOf } = await readMachineFile(file);
  const name = file.replace(/^.*[\\/]/, '').replace(/\.(json|ya?ml)$/, '');
  const { graph, problems } = readGraph(value, { name });
  return {
    value,
    graph,
    problems: problems.map(({ path, level, message }) => ({
      file,
      line: lineOf?.(path),
      level,
      path: pathText(path),
      message,
    })),
  };
}

/** A stored workflow, which was checked when it was applied. */
export function graphOf(name: string, value: unknown): Graph {
  const { graph } = readGraph(value as Value, { name });
  if (graph !== undefined) return graph;
  throw fault('INVALID_INPUT', { field: `workflow ${name}`, problem: 'another version of leasehold has stored it' });
}

/** Throws `INVALID_INPUT` that lists all errors, one a line. */
export function graphIn(file: string, { graph, problems }: GraphFile): Graph {
  if (graph !== undefined) return graph;
  const errors = problems.filter(({ level }) => level === 'error');
  const problem = errors.length === 1 ? 'it has a problem' : `it has ${errors.length} problems`;
  throw fault(
    'INVALID_INPUT',
    { field: `workflow ${file}`, problem, problems: errors },
    { hint: errors.map(problemLine).join('\n') },
  );
}

/** One node as people read it. */
export interface ShownNode {
  readonly id: string;
  readonly type: string;
  /** Ids, with the connector where it is not the usual one. */
  readonly from: readonly string[];
  readonly to: readonly string[];
  /** The handler of its tasks; undefined: it runs within the run. */
  readonly handler: string | undefined;
  readonly requires: readonly string[];
  readonly limits: readonly string[];
  readonly pinned: boolean;
}

/** In the order in which they can run: each after all that lead to it. */
export function outlineOfGraph({ nodes }: Graph): readonly ShownNode[] {
  const waits = nodes.map(({ incoming }) => incoming.length);
  const order = nodes.filter(({ incoming }) => incoming.length === 0);
  for (let i = 0; i < order.length; i++) {
    for (const { to } of (order[i] as GraphNode).outgoing) {
      waits[to] = (waits[to] as number) - 1;
      if (waits[to] === 0) order.push(nodes[to] as GraphNode);
    }
  }
  const idOf = (index: number, rejected: boolean): string =>
    `${(nodes[index] as GraphNode).id}${rejected ? ' (false)' : ''}`;
  return order.map(({ id, type, work, incoming, outgoing, pinned }) => {
    const request = work.do === 'task' ? work.request : undefined;
    const { requires = [], credentials = [], only = [] } = request?.placement ?? {};
    return {
      id,
      type,
      from: incoming.map(({ from, rejected }) => idOf(from, rejected)),
      to: outgoing.map(({ to, rejected }) => idOf(to, rejected)),
      handler: request?.handler,
      requires: [
        ...requires,
        ...credentials.map((name) => `credential:${name}`),
        ...only.map((name) => `worker ${name}`),
      ],
      limits: (request?.limits ?? []).map((use) => (typeof use === 'string' ? use : use.name)),
      pinned: pinned !== undefined,
    };
  });
}
