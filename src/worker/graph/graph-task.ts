/** The handler `graph`: runs a workflow of nodes and connections as a durable run. */
import { fault, isEngineError } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import type { Value } from '../../flow/expression/values.ts';
import type { Graph, GraphNode } from '../../flow/graph/definition.ts';
import {
  GRAPH_HANDLER,
  GRAPH_QUEUE,
  GRAPH_TRIES,
  type GraphPayload,
  readGraphPayload,
} from '../../flow/graph/graph-run.ts';
import { itemsGiven } from '../../flow/graph/items.ts';
import { readGraph } from '../../flow/graph/read-graph.ts';
import { BrokenHistory } from '../../flow/machine/history/checked.ts';
import { pathText } from '../../flow/machine/problems.ts';
import type { AnyTask, DrivenAttempt } from '../define/definition.ts';
import { task } from '../define/task.ts';
import type { AttemptSession, RunOutcome } from '../runner/runner.ts';
import { GraphDriver, type GraphRun } from './graph-driver.ts';
import { ParkedRuns } from './parked-runs.ts';

export interface GraphTaskOptions {
  readonly world: World;
  /** Definitions that need not be asked for. */
  readonly definitions?: ReadonlyMap<string, string>;
}

/** A worker keeps the graphs that it ran last. */
const MOST_KEPT = 50;

export function graphTask(options: GraphTaskOptions): AnyTask {
  const graphs = new GraphLoader(options);
  const parked = new ParkedRuns();
  const definition = task(GRAPH_HANDLER, {
    queue: GRAPH_QUEUE,
    maxAttempts: GRAPH_TRIES,
    run: () => {
      throw fault('CONFLICT', { problem: 'a graph needs a worker' });
    },
  });
  const drive = (input: unknown, attempt: DrivenAttempt): Promise<RunOutcome> =>
    driveTask(input, attempt, graphs, parked, options);
  return Object.freeze({ ...definition, drive });
}

async function driveTask(
  given: unknown,
  { request, session, signal }: DrivenAttempt,
  graphs: GraphLoader,
  parked: ParkedRuns,
  { world }: GraphTaskOptions,
): Promise<RunOutcome> {
  try {
    const payload = readGraphPayload(given as Value);
    if (typeof payload === 'string') throw refuse(payload);
    const graph = await graphs.load(payload, session);
    const { input, trigger, upTo } = payload;
    const run: GraphRun = {
      attempt: request.attempt,
      stop: signal,
      items: itemsGiven(input),
      queue: request.queue,
      upTo: placeOf(graph, 'upTo', upTo),
      trigger: placeOf(graph, 'trigger', trigger),
    };
    const driver = parked.take(request) ?? new GraphDriver(graph, run, { world, session });
    driver.goesOn(run, { world, session });
    const outcome = await driver.drive();
    parked.put(request, driver);
    return outcome;
  } catch (error) {
    // Another try would find the same.
    if (error instanceof BrokenHistory || (isEngineError(error) && !error.retryable && error.code !== 'LEASE_LOST')) {
      return { kind: 'giveUp', error };
    }
    throw error;
  }
}

function placeOf({ nodes }: Graph, field: string, id: string | undefined): number | undefined {
  if (id === undefined) return undefined;
  const node = nodes.find((one: GraphNode) => one.id === id);
  if (node === undefined)
    throw refuse(`"${field}" is the id of a node, and there is no ${JSON.stringify(id.slice(0, 80))}`);
  return node.index;
}

/** Graphs by their definitions, each read once. */
class GraphLoader {
  readonly #options: GraphTaskOptions;
  readonly #known = new Map<string, Graph>();

  constructor(options: GraphTaskOptions) {
    this.#options = options;
  }

  async load({ definition, name }: GraphPayload, session: AttemptSession): Promise<Graph> {
    const key = JSON.stringify([definition, name]);
    const graph = this.#known.get(key) ?? (await this.#read(definition, name, session));
    // The one that was used last is the last to go.
    this.#known.delete(key);
    this.#known.set(key, graph);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MOST_KEPT && oldest !== undefined) this.#known.delete(oldest);
    return graph;
  }

  async #read(definition: string, name: string | undefined, session: AttemptSession): Promise<Graph> {
    const text = this.#options.definitions?.get(definition) ?? (await session.definition(definition));
    if (text === undefined) throw fault('NOT_FOUND', { kind: 'definition', id: definition });
    const { graph, problems } = readGraph(JSON.parse(text) as Value, name === undefined ? {} : { name });
    if (graph !== undefined) return graph;
    const [first] = problems.filter(({ level }) => level === 'error');
    throw refuse(first === undefined ? 'it cannot be read' : `${pathText(first.path)}: ${first.message}`);
  }
}

function refuse(problem: string): Error {
  return fault('INVALID_INPUT', { field: 'input of a graph', problem });
}
