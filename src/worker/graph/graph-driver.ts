/**
 * Runs a graph as a task, over the turns of its attempt: whatever process goes on with it finds in the journal which nodes have ended.
 *
 * Nodes that only compute run here, and give the same whenever they are computed again. Every other node is a task for each of its items;
 * tasks of branches run side by side. The run parks until so many of them have ended that a node may become ready. A crash repeats no task:
 * its birth is its receipt.
 */
import { type EngineError, isEngineError } from '../../core/errors.ts';
import { encodePayload } from '../../core/task/payload.ts';
import type { World } from '../../core/world.ts';
import { ExpressionError } from '../../flow/expression/expression-error.ts';
import type { Value } from '../../flow/expression/values.ts';
import type { Graph, GraphNode, TaskWork } from '../../flow/graph/definition.ts';
import { type InlineWork, outputWithin } from '../../flow/graph/items.ts';
import { NodeDataError } from '../../flow/graph/node-data-error.ts';
import { NodeOutputs } from '../../flow/graph/node-outputs.ts';
import { inputsOfTasks, outputOfTasks } from '../../flow/graph/node-tasks.ts';
import { isTrigger } from '../../flow/graph/node-types.ts';
import { reduceGraph, startGraph } from '../../flow/graph/reduce.ts';
import type { RunScope } from '../../flow/graph/scope.ts';
import type { GraphCommand, GraphEvent, GraphReduced, GraphSnapshot, NodeFailure } from '../../flow/graph/snapshot.ts';
import type { TaskResult, TurnEntry, TurnThen } from '../../protocol/link.ts';
import { FairTurn } from '../machine/durable/fair-turn.ts';
import type { AttemptSession, RunOutcome } from '../runner/runner.ts';
import { GraphJournal, taskKey } from './graph-journal.ts';
import { outcomeOf } from './outcome.ts';
import { portionsOf } from './portions.ts';
import { needOf } from './wake.ts';

/** One attempt at a run. */
export interface GraphRun extends RunScope {
  readonly attempt: number;
  readonly stop: AbortSignal;
  /** For the triggers. */
  readonly items: readonly Value[] | undefined;
  /** Of tasks whose nodes name none. */
  readonly queue: string;
}

export interface GraphDeps {
  readonly world: World;
  readonly session: AttemptSession;
}

/** The engine holds a task to so many children. */
const MOST_TASKS = 10_000;
const WAIT_KEY = 'w';
const OVER = Symbol('over');

/** A node whose tasks have not all ended. */
interface Underway {
  readonly node: GraphNode;
  readonly work: TaskWork;
  readonly tasks: number;
  /** Places of tasks that have not ended. */
  readonly open: Set<number>;
  failure: NodeFailure | undefined;
}

export class GraphDriver {
  readonly #graph: Graph;
  #run: GraphRun;
  #deps: GraphDeps;
  /** Where it stands, once it has begun. */
  #snapshot: GraphSnapshot | undefined;
  /** The last commit gave the task back until nodes have ended. */
  #isParked = false;
  readonly #journal = new GraphJournal();
  readonly #outputs: NodeOutputs<TaskResult>;
  readonly #underway = new Map<number, Underway>();
  /** What the next commit stores. */
  #pending: TurnEntry[] = [];
  /** Tasks among them. */
  #births = 0;
  readonly #turn: FairTurn;

  constructor(graph: Graph, run: GraphRun, deps: GraphDeps) {
    this.#graph = graph;
    this.#run = run;
    this.#deps = deps;
    this.#outputs = new NodeOutputs({
      graph,
      // A later attempt reads over a session of its own.
      results: (tasks) => this.#deps.session.results(tasks),
      journal: this.#journal,
      items: run.items,
    });
    this.#turn = new FairTurn(deps.world);
  }

  /** How many nodes the graph has. */
  get size(): number {
    return this.#graph.nodes.length;
  }

  /**
   * The next attempt may go on with this driver, without reading the journal: nobody else writes into it, and what has completed stays. What
   * has failed may run again before that attempt.
   */
  get isKept(): boolean {
    const failed = this.#snapshot?.failed ?? [...this.#underway.values()].find(({ failure }) => failure !== undefined);
    return this.#isParked && failed === undefined;
  }

  /** For the attempt after the one that parked. */
  goesOn(run: GraphRun, deps: GraphDeps): void {
    this.#run = run;
    this.#deps = deps;
    this.#isParked = false;
  }

  /** Never rejects but for faults of the attempt itself: a lost lease, a stop. */
  async drive(): Promise<RunOutcome> {
    let { snapshot, commands } = await this.#begun();
    for (;;) {
      const queue: GraphCommand[] = [...commands];
      for (const command of queue) {
        if (command.do === 'complete') return this.#complete(snapshot);
        if (command.do === 'fail') return this.#fail(command.failure);
        const event = await this.#begin(this.#graph.nodes[command.node] as GraphNode, snapshot);
        if (event !== undefined) {
          ({ snapshot, commands } = reduceGraph(this.#graph, snapshot, event));
          queue.push(...commands);
        }
        await this.#turn.give();
        this.#run.stop.throwIfAborted();
      }
      const events = await this.#ended();
      const next: GraphCommand[] = [];
      for (const event of events) {
        const reduced = reduceGraph(this.#graph, snapshot, event);
        snapshot = reduced.snapshot;
        next.push(...reduced.commands);
      }
      commands = next;
      if (events.length > 0 || (await this.#park(snapshot)) !== OVER) continue;
      this.#snapshot = snapshot;
      return { kind: 'parked' };
    }
  }

  async #begun(): Promise<GraphReduced> {
    if (this.#snapshot !== undefined) return { snapshot: this.#snapshot, commands: [] };
    if (this.#run.attempt > 1) this.#journal.load(await this.#deps.session.journal());
    return startGraph(this.#graph, this.#run);
  }

  /** Undefined: it ends later. */
  async #begin(node: GraphNode, snapshot: GraphSnapshot): Promise<GraphEvent | undefined> {
    const { index, work } = node;
    const mark = this.#journal.mark(index);
    if (mark !== undefined) return { kind: 'ended', node: index, kept: mark.kept, rejected: mark.rejected };
    try {
      if (work.do !== 'task') return await this.#compute(node, work);
      await this.#bear(node, work, snapshot);
      return undefined;
    } catch (error) {
      if (isOfNode(error)) return { kind: 'failed', node: index, type: nameOf(error), message: error.message };
      throw error;
    }
  }

  async #compute(node: GraphNode, work: InlineWork): Promise<GraphEvent> {
    const { index } = node;
    const at = this.#deps.world.clock.wall();
    const output = outputWithin(node, work, await this.#outputs.input(node), { at, items: this.#run.items });
    this.#outputs.keep(index, output);
    const [kept, rejected] = [output.kept.length, output.rejected.length];
    this.#outputs.isRead(node);
    this.#pending.push(this.#journal.markEntry(index, { kept, rejected, ...(isTrigger(work) ? { at } : {}) }));
    return { kind: 'ended', node: index, kept, rejected };
  }

  /** The tasks of a node that were not born by an earlier attempt. */
  async #bear(node: GraphNode, work: TaskWork, snapshot: GraphSnapshot): Promise<void> {
    const { index } = node;
    const tasks = node.kind === 'array' ? 1 : itemsInto(node, snapshot);
    // A journal of another host may say any number.
    if (tasks > MOST_TASKS) throw tooMany();
    const missing = placesTo(tasks).filter((place) => this.#journal.task(index, place) === undefined);
    if (missing.length > 0) {
      const entries = await this.#birthsOf(node, work, missing);
      this.#pending.push(...entries);
      this.#births += entries.length;
    }
    this.#underway.set(index, { node, work, tasks, open: new Set(placesTo(tasks)), failure: undefined });
  }

  async #birthsOf(node: GraphNode, work: TaskWork, places: readonly number[]): Promise<readonly TurnEntry[]> {
    if (this.#journal.size + this.#births + places.length > MOST_TASKS) throw tooMany();
    const inputs = inputsOfTasks(this.#graph, node, work, await this.#outputs.input(node));
    const { queue = this.#run.queue, ...request } = work.request;
    return places.map((place) => {
      const input = inputs[place];
      // What a store would refuse fails this node alone, and not the turn with all others in it.
      encodePayload(input, { field: `input of the node ${node.id}` });
      return { key: taskKey(node.index, place), kind: 'child', child: { ...request, queue, input } };
    });
  }

  /** Of nodes whose tasks have all ended since they were last looked at. */
  async #ended(): Promise<readonly GraphEvent[]> {
    const born = [...this.#underway.values()].flatMap((one) =>
      [...one.open].flatMap((place) => {
        const task = this.#journal.task(one.node.index, place);
        return task === undefined ? [] : [{ one, place, task }];
      }),
    );
    const results = await this.#outputs.read(born.map(({ task }) => task));
    for (const [i, { one, place }] of born.entries()) this.#note(one, place, results[i] as TaskResult);
    const over = [...this.#underway.values()].filter(({ open }) => open.size === 0);
    const events: GraphEvent[] = [];
    for (const one of over) events.push(await this.#endOf(one));
    return events;
  }

  #note(one: Underway, place: number, result: TaskResult): void {
    const outcome = outcomeOf(result);
    if (outcome === undefined) return;
    one.open.delete(place);
    if (outcome.ok) return;
    const { type, message } = outcome;
    one.failure ??= { node: one.node.index, type, message };
  }

  async #endOf({ node, work, tasks, failure }: Underway): Promise<GraphEvent> {
    const { index } = node;
    this.#underway.delete(index);
    if (failure !== undefined) return { kind: 'failed', ...failure };
    const all = placesTo(tasks).map((place) => this.#journal.task(index, place) as number);
    const output = outputOfTasks(node, work, await this.#outputs.input(node), this.#outputs.resultsOf(all));
    this.#outputs.keep(index, output);
    this.#outputs.isRead(node);
    const kept = output.kept.length;
    this.#pending.push(this.#journal.markEntry(index, { kept, rejected: 0 }));
    return { kind: 'ended', node: index, kept, rejected: 0 };
  }

  /** Until a node may become ready. */
  #park(snapshot: GraphSnapshot): Promise<typeof OVER | undefined> {
    const open = [...this.#underway.values()].flatMap(({ node, open: places }) =>
      [...places].map((place) => this.#journal.task(node.index, place) ?? { child: taskKey(node.index, place) }),
    );
    const left = new Map([...this.#underway].map(([index, { open: places }]) => [index, places.size]));
    const need = needOf(this.#graph, snapshot, left);
    return this.#commit((born) => ({
      go: 'park',
      key: WAIT_KEY,
      // Those of earlier portions have numbers by now.
      children: open.map((ref) => (typeof ref === 'object' ? (born.get(ref.child) ?? ref) : ref)),
      ...(need < open.length ? { need } : {}),
    }));
  }

  async #complete(snapshot: GraphSnapshot): Promise<RunOutcome> {
    const result = await this.#result(snapshot);
    await this.#commit(() => ({ go: 'complete', result }));
    return { kind: 'parked' };
  }

  /** The items of nodes behind which there is nothing, by their names. */
  async #result({ nodes }: GraphSnapshot): Promise<Value> {
    const last = this.#graph.nodes.filter(
      ({ index, outgoing }) =>
        nodes.get(index).at !== 'outside' && outgoing.every(({ to }) => nodes.get(to).at === 'outside'),
    );
    const entries: [string, Value][] = [];
    for (const { index, name } of last) entries.push([name, (await this.#outputs.output(index)).kept]);
    const result = Object.fromEntries(entries);
    try {
      encodePayload(result, { field: 'result' });
      return result;
    } catch {
      // Each task has its own; together they are more than one result can hold.
      return Object.fromEntries(entries.map(([name, items]) => [name, { items: (items as readonly Value[]).length }]));
    }
  }

  /** The failed tasks run again when the run is tried again, and nothing else does. */
  async #fail({ node, type, message }: NodeFailure): Promise<RunOutcome> {
    const { id, name } = this.#graph.nodes[node] as GraphNode;
    const error = { name: type, message, node: id, ...(name === id ? {} : { nodeName: name }) };
    await this.#commit(() => ({ go: 'fail', error, giveUp: true }));
    return { kind: 'parked' };
  }

  /** All that is pending, in as many turns as it takes. */
  async #commit(then: (born: ReadonlyMap<string, number>) => TurnThen): Promise<typeof OVER | undefined> {
    const pending = this.#pending;
    this.#pending = [];
    this.#births = 0;
    const born = new Map<string, number>();
    const portions = portionsOf(pending);
    for (const [i, entries] of portions.entries()) {
      const last = i === portions.length - 1;
      const turned = await this.#deps.session.turn({ entries, then: last ? then(born) : { go: 'on' } });
      for (const [n, { key, kind }] of entries.entries()) {
        const text = turned.entries[n];
        if (kind !== 'child' || typeof text !== 'string') continue;
        this.#journal.born(key, text);
        born.set(key, (JSON.parse(text) as { readonly task: number }).task);
      }
      this.#isParked = turned.went === 'parked';
      if (turned.went !== 'on' && turned.went !== 'woken') return OVER;
    }
    return undefined;
  }
}

const tooMany = (): Error => new NodeDataError(`the run would have more than ${MOST_TASKS} tasks`);

const placesTo = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i);

function itemsInto({ incoming }: GraphNode, { nodes: states }: GraphSnapshot): number {
  if (incoming.length === 0) return 1;
  return incoming.reduce((sum, { from, rejected }) => {
    const state = states.get(from);
    return state.at === 'done' ? sum + (rejected ? state.rejected : state.kept) : sum;
  }, 0);
}

type OfNode = NodeDataError | ExpressionError | EngineError;

/** The fault of what the node says, or of what came into it: another worker would find the same. */
function isOfNode(error: unknown): error is OfNode {
  if (error instanceof NodeDataError || error instanceof ExpressionError) return true;
  return isEngineError(error) && (error.code === 'TOO_LARGE' || error.code === 'INVALID_INPUT');
}

const nameOf = (error: OfNode): string => (isEngineError(error) ? error.code : error.name);
