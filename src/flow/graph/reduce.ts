/**
 * What comes next in a graph. A node is ready when each of its connections has said what comes over it; it runs if any item came. Each
 * connection is gone through once in a run, so the work grows with nodes and connections, and with nothing else.
 */
import type { Graph, GraphNode } from './definition.ts';
import { mayFire, partOfRun, type RunScope } from './scope.ts';
import type {
  Flow,
  GraphCommand,
  GraphEvent,
  GraphReduced,
  GraphSnapshot,
  NodeFailure,
  NodeState,
} from './snapshot.ts';
import { Vector } from './vector.ts';

const NOTHING: Flow = { kept: 0, rejected: 0 };

export function startGraph(graph: Graph, scope: RunScope = {}): GraphReduced {
  const within = partOfRun(graph, scope);
  const states = graph.nodes.map(({ index, pinned, incoming }): NodeState => {
    if (within[index] !== true) return { at: 'outside' };
    return { at: 'waiting', missing: pinned === undefined ? incoming.length : 0, fed: incoming.length === 0 };
  });
  const open = within.filter(Boolean).length;
  const move = new Move(graph, { nodes: Vector.of(states), open, running: 0, failed: undefined });
  for (const node of graph.nodes) {
    const { index, pinned, incoming } = node;
    if (within[index] !== true || (pinned === undefined && incoming.length > 0)) continue;
    const idle = scope.trigger !== undefined && scope.trigger !== index && pinned === undefined && mayFire(node);
    if (idle) move.end(index, { at: 'skipped' }, NOTHING);
    else move.begin(index);
  }
  return move.result();
}

/** An event of a node that does not run is one that came twice, and changes nothing. */
export function reduceGraph(graph: Graph, snapshot: GraphSnapshot, event: GraphEvent): GraphReduced {
  if (snapshot.nodes.get(event.node).at !== 'running') return { snapshot, commands: [] };
  const move = new Move(graph, snapshot);
  if (event.kind === 'ended') {
    const { node, kept, rejected } = event;
    move.end(node, { at: 'done', kept, rejected }, { kept, rejected });
  } else move.fail(event);
  return move.result();
}

class Move {
  readonly #graph: Graph;
  #nodes: Vector<NodeState>;
  #open: number;
  #running: number;
  #failed: NodeFailure | undefined;
  readonly #commands: GraphCommand[] = [];
  /** Nodes that have ended, of which those behind them are still to be told. */
  readonly #told: (readonly [GraphNode, Flow])[] = [];

  constructor(graph: Graph, { nodes, open, running, failed }: GraphSnapshot) {
    this.#graph = graph;
    this.#nodes = nodes;
    this.#open = open;
    this.#running = running;
    this.#failed = failed;
  }

  begin(index: number): void {
    const node = this.#graph.nodes[index] as GraphNode;
    if (node.pinned !== undefined) {
      const flow = { kept: node.pinned.length, rejected: 0 };
      this.end(index, { at: 'done', ...flow }, flow);
      return;
    }
    // What is ready after a failure stays as it is: when the run is tried again, it begins.
    if (this.#failed !== undefined) return;
    this.#nodes = this.#nodes.with(index, { at: 'running' });
    this.#running++;
    this.#commands.push({ do: 'run', node: index });
  }

  end(index: number, state: NodeState, flow: Flow): void {
    if (this.#nodes.get(index).at === 'running') this.#running--;
    this.#nodes = this.#nodes.with(index, state);
    this.#open--;
    this.#told.push([this.#graph.nodes[index] as GraphNode, flow]);
  }

  fail({ node, type, message }: NodeFailure): void {
    this.#running--;
    this.#failed ??= { node, type, message };
    this.#nodes = this.#nodes.with(node, { at: 'failed' });
  }

  result(): GraphReduced {
    for (let next = this.#told.pop(); next !== undefined; next = this.#told.pop()) this.#tell(...next);
    const failed = this.#failed;
    if (failed !== undefined && this.#running === 0) this.#commands.push({ do: 'fail', failure: failed });
    else if (this.#open === 0) this.#commands.push({ do: 'complete' });
    return {
      snapshot: { nodes: this.#nodes, open: this.#open, running: this.#running, failed },
      commands: this.#commands,
    };
  }

  #tell({ outgoing }: GraphNode, { kept, rejected }: Flow): void {
    for (const connection of outgoing) {
      const state = this.#nodes.get(connection.to);
      // A pinned node waits for nobody.
      if (state.at !== 'waiting' || state.missing === 0) continue;
      const fed = state.fed || (connection.rejected ? rejected : kept) > 0;
      const missing = state.missing - 1;
      this.#nodes = this.#nodes.with(connection.to, { at: 'waiting', missing, fed });
      if (missing > 0) continue;
      if (fed) this.begin(connection.to);
      else this.end(connection.to, { at: 'skipped' }, NOTHING);
    }
  }
}
