/** What nodes gave, made from the results of their tasks when somebody needs it. */
import type { TaskState } from '../../core/task/task.ts';
import type { Value } from '../expression/values.ts';
import { BrokenHistory } from '../machine/history/checked.ts';
import type { Graph, GraphNode, Item } from './definition.ts';
import { inputOf, NO_OUTPUT, type NodeOutput, outputWithin } from './items.ts';
import { outputOfTasks } from './node-tasks.ts';

/** What the journal says of the nodes. */
export interface NodePast {
  /** Undefined: the node has not ended, or was skipped. `at`: when a trigger fired. */
  mark(node: number): { readonly at?: number } | undefined;
  /** The number of a task of a node. */
  task(node: number, place: number): number | undefined;
}

export interface NodeTaskResult {
  readonly task: number;
  readonly state: TaskState | 'gone';
  /** JSON text. */
  readonly result: string | undefined;
}

export interface OutputsDeps<R extends NodeTaskResult = NodeTaskResult> {
  readonly graph: Graph;
  /** In the order of the tasks. */
  readonly results: (tasks: readonly number[]) => Promise<readonly R[]>;
  readonly journal: NodePast;
  /** What the run brings for its triggers. */
  readonly items: readonly Value[] | undefined;
}

const READ_AT_ONCE = 500;

export class NodeOutputs<R extends NodeTaskResult = NodeTaskResult> {
  readonly #deps: OutputsDeps<R>;
  readonly #known = new Map<number, NodeOutput>();
  /** Results of completed tasks that were read. */
  readonly #results = new Map<number, Value>();

  /** Connections over which nothing was read yet, of nodes of which some were. */
  readonly #unread = new Map<number, number>();

  constructor(deps: OutputsDeps<R>) {
    this.#deps = deps;
  }

  /** What comes into a node whose sources have ended. */
  async input(node: GraphNode): Promise<readonly Item[]> {
    await this.#make(node.incoming.map(({ from }) => from));
    return this.#inputOf(node);
  }

  async output(node: number): Promise<NodeOutput> {
    await this.#make([node]);
    return this.#known.get(node) ?? NO_OUTPUT;
  }

  /** Of a node that has just ended within the run. */
  keep(node: number, output: NodeOutput): void {
    this.#known.set(node, output);
  }

  /** A node has ended. What only such nodes read is let go: it can be made again. */
  isRead({ incoming }: GraphNode): void {
    for (const { from } of incoming) {
      const source = this.#deps.graph.nodes[from] as GraphNode;
      const left = (this.#unread.get(from) ?? source.outgoing.length) - 1;
      this.#unread.set(from, left);
      if (left > 0) continue;
      this.#known.delete(from);
      if (source.work.do === 'task') for (const task of this.#tasksOf(source)) this.#results.delete(task);
    }
  }

  /** The states of these tasks. What completed ones gave is kept here. */
  async read(tasks: readonly number[]): Promise<readonly R[]> {
    const all: R[] = [];
    for (let from = 0; from < tasks.length; from += READ_AT_ONCE) {
      const some = tasks.slice(from, from + READ_AT_ONCE);
      const results = await this.#deps.results(some);
      for (const [i, { state, result }] of results.entries()) {
        if (state === 'completed') this.#results.set(some[i] as number, parsed(result));
      }
      all.push(...results);
    }
    return all;
  }

  resultsOf(tasks: readonly number[]): readonly Value[] {
    return tasks.map((task) => this.#results.get(task) ?? null);
  }

  readonly #inputOf = (node: GraphNode): readonly Item[] => inputOf(node, (from) => this.#known.get(from) ?? NO_OUTPUT);

  /** These and all that they are made from: first what tasks gave, in few reads, and then each node after its sources. */
  async #make(wanted: readonly number[]): Promise<void> {
    const order = this.#unknownBefore(wanted);
    const tasks = order.flatMap((node) => (node.work.do === 'task' ? this.#tasksOf(node) : []));
    const unread = tasks.filter((task) => !this.#results.has(task));
    for (const { state, task } of await this.read(unread)) {
      // A run that is kept keeps its tasks.
      if (state !== 'completed') throw new BrokenHistory(`task ${task} has no result`);
    }
    for (const node of order) this.#known.set(node.index, this.#made(node));
  }

  #made(node: GraphNode): NodeOutput {
    const { journal, items } = this.#deps;
    if (node.pinned !== undefined) return { kept: node.pinned, rejected: [] };
    const mark = journal.mark(node.index);
    // One that was skipped has none.
    if (mark === undefined) return NO_OUTPUT;
    const input = this.#inputOf(node);
    const { work } = node;
    if (work.do !== 'task') return outputWithin(node, work, input, { at: mark.at ?? 0, items });
    return outputOfTasks(node, work, input, this.resultsOf(this.#tasksOf(node)));
  }

  #tasksOf({ index }: GraphNode): readonly number[] {
    const { journal } = this.#deps;
    const tasks: number[] = [];
    if (journal.mark(index) === undefined) return tasks;
    for (let task = journal.task(index, 0); task !== undefined; task = journal.task(index, tasks.length))
      tasks.push(task);
    return tasks;
  }

  /** Sources first. Not by recursion: a chain may be long. */
  #unknownBefore(wanted: readonly number[]): readonly GraphNode[] {
    const { nodes } = this.#deps.graph;
    const order: GraphNode[] = [];
    const seen = new Set<number>();
    const stack: { readonly node: GraphNode; next: number }[] = [];
    const visit = (index: number): void => {
      if (seen.has(index) || this.#known.has(index)) return;
      seen.add(index);
      stack.push({ node: nodes[index] as GraphNode, next: 0 });
    };
    for (const index of wanted) {
      visit(index);
      for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
        const { node } = top;
        const source = node.pinned === undefined ? node.incoming[top.next++] : undefined;
        if (source !== undefined) visit(source.from);
        else {
          order.push(node);
          stack.pop();
        }
      }
    }
    return order;
  }
}

const parsed = (text: string | undefined): Value => (text === undefined ? null : (JSON.parse(text) as Value));
