import { createHash } from 'node:crypto';
import { fault } from '../../core/errors.ts';
import type { Definition } from '../../core/graph/run.ts';
import type { KnownDefinition, RunRequest, StartedRun } from '../../engine/trees/runs.ts';
import { AGENT_HANDLER } from '../../flow/agent/definition.ts';
import type { Value } from '../../flow/expression/values.ts';
import type { Graph } from '../../flow/graph/definition.ts';
import { graphPermissions } from '../../flow/graph/graph-permissions.ts';
import { GRAPH_HANDLER, GRAPH_QUEUE, GRAPH_TRIES, type GraphPayload } from '../../flow/graph/graph-run.ts';
import { MOST_GRAPH, readGraph } from '../../flow/graph/read-graph.ts';
import { LOOP_CHANNELS } from '../../flow/loop/channels.ts';
import { LOOP } from '../../flow/loop/demand.ts';
import { bundleAlone, type MachineBundle, MOST_BUNDLE, readBundle } from '../../flow/machine/bundle/bundle.ts';
import { channelsOf } from '../../flow/machine/bundle/channels.ts';
import { filesOf } from '../../flow/machine/bundle/peers.ts';
import { runPermissions } from '../../flow/machine/bundle/run-permissions.ts';
import type { Machine } from '../../flow/machine/definition.ts';
import { MACHINE_HANDLER, MACHINE_QUEUE, MACHINE_TRIES, type MachinePayload } from '../../flow/machine/machine-run.ts';
import { type Problem, pathText } from '../../flow/machine/problems.ts';
import { readMachine } from '../../flow/machine/read-machine.ts';
import type { RequestOf } from '../../protocol/paths.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { loopTerms } from '../loops/loop-terms.ts';
import { budgetsIn } from './run-budgets.ts';

type Start = RequestOf<'startRun'>;

/** Problems that are told. */
const MOST_TOLD = 20;

/** Starts a run, or goes on with the one that has the name. */
export async function startRun(snapshot: EngineSnapshot, start: Start, op: string | undefined): Promise<StartedRun> {
  const { task } = start;
  if (task !== undefined) return startTask(snapshot, { ...start, task }, op);
  return snapshot.engine.runs.start(await runRequestOf(snapshot, start, op));
}

/** What a start of a machine or a graph asks of the engine. */
export async function runRequestOf(snapshot: EngineSnapshot, start: Start, op?: string): Promise<RunRequest> {
  return start.graph === undefined ? machineRun(snapshot, start, op) : graphRun(start, op);
}

/** The queue of a run that names none. */
export function queueOf({ task, graph, queue }: Pick<Start, 'task' | 'graph' | 'queue'>): string {
  return task?.queue ?? queue ?? (graph === undefined ? MACHINE_QUEUE : GRAPH_QUEUE);
}

/** The task of a workflow, which whoever has its code runs, or of an agent. */
function startTask(
  { engine }: EngineSnapshot,
  { task, name, title, labels, budgets = [], ...others }: Start & { readonly task: NonNullable<Start['task']> },
  op: string | undefined,
): Promise<StartedRun> {
  const [other] = Object.keys(others);
  if (other !== undefined) throw refuse(other, 'a task says that itself, and no machine is given with one');
  const { handler = task.queue } = task;
  return engine.runs.start({
    request: { ...task, handler, ...(op === undefined || name !== undefined ? {} : { op }) },
    run: {
      kind: handler === AGENT_HANDLER ? 'agent' : 'workflow',
      title: title ?? handler,
      ...(name === undefined ? {} : { name }),
      ...(labels === undefined ? {} : { labels }),
    },
    budgets: budgetsIn(budgets),
  });
}

/** Of a graph only what is wrong with it is told: it brings all it needs. */
function graphRun(start: Start, op: string | undefined): RunRequest {
  const { graph: given } = start;
  const other = (['machine', 'bundle', 'use', 'channels'] as const).find((field) => start[field] !== undefined);
  if (other !== undefined) throw refuse(other, 'it is of machines, and this is a graph');
  const { graph, definition } = graphIn('graph', given);
  return readGraphRun({ start, graph, definition, title: graph.name.slice(0, 255) }, op);
}

export interface GraphIn {
  readonly graph: Graph;
  readonly definition: Definition;
  readonly problems: readonly Problem[];
}

/** Throws `INVALID_INPUT` that lists what is wrong with it. */
export function graphIn(field: string, given: unknown, groups?: ReadonlySet<string>): GraphIn {
  const body = JSON.stringify(given) ?? 'null';
  if (Buffer.byteLength(body) > MOST_GRAPH) throw fault('TOO_LARGE', { field, maxBytes: MOST_GRAPH });
  const { graph, problems } = readGraph(given as Value, groups === undefined ? {} : { groups });
  if (graph === undefined) throw refuseProblems(field, problems);
  return { graph, definition: { hash: hashOf(body), kind: 'graph', body }, problems };
}

/** A graph that was read, and what a caller says of its run. */
export interface GraphStart {
  readonly start: Omit<Start, 'graph'>;
  readonly graph: Graph;
  readonly definition: Definition | KnownDefinition;
  /** Of a run that the caller does not call otherwise. */
  readonly title: string;
}

export function startRead({ engine }: EngineSnapshot, start: GraphStart, op: string | undefined): Promise<StartedRun> {
  return engine.runs.start(readGraphRun(start, op));
}

export function readGraphRun({ start, graph, definition, title }: GraphStart, op?: string): RunRequest {
  const { input, name, priority, maxAttempts = GRAPH_TRIES, labels, upTo, trigger, budgets = [] } = start;
  const { queue = GRAPH_QUEUE } = start;
  const payload: GraphPayload = {
    definition: definition.hash,
    ...(input === undefined ? {} : { input: input as Value }),
    ...(upTo === undefined ? {} : { upTo: nodeIn(graph, 'upTo', upTo) }),
    ...(trigger === undefined ? {} : { trigger: nodeIn(graph, 'trigger', trigger) }),
  };
  return {
    request: {
      queue,
      handler: GRAPH_HANDLER,
      input: payload,
      maxAttempts,
      permissions: graphPermissions(graph, queue),
      ...(priority === undefined ? {} : { priority }),
      ...(op === undefined || name !== undefined ? {} : { op }),
    },
    run: {
      kind: 'graph',
      title: start.title ?? title,
      ...(name === undefined ? {} : { name }),
      ...(labels === undefined ? {} : { labels }),
    },
    definition,
    budgets: budgetsIn(budgets),
  };
}

function nodeIn({ nodes }: Graph, field: string, id: string): string {
  if (nodes.some((node) => node.id === id)) return id;
  throw refuse(field, `there is no node ${JSON.stringify(id.slice(0, 80))}`);
}

async function machineRun({ engine }: EngineSnapshot, start: Start, op: string | undefined): Promise<RunRequest> {
  const other = (['upTo', 'trigger'] as const).find((field) => start[field] !== undefined);
  if (other !== undefined) throw refuse(other, 'it is of graphs, and this is a machine');
  const { input, name, queue = MACHINE_QUEUE, priority, maxAttempts = MACHINE_TRIES, labels } = start;
  const { title, text, use, machine, channels } = definitionOf(start);
  const loop = await loopTerms(engine, machine, input as Value);
  const definition = text === undefined ? undefined : { hash: hashOf(text), kind: 'machine', body: text };
  const payload: MachinePayload = {
    ...(definition === undefined ? { name: use as string } : { definition: definition.hash }),
    ...(input === undefined ? {} : { input: input as Value }),
    ...(name === undefined ? {} : { executionId: name }),
  };
  const { budgets = [] } = start;
  return {
    request: {
      queue,
      handler: MACHINE_HANDLER,
      input: payload,
      maxAttempts,
      permissions: runPermissions(queue, channels),
      ...(loop === undefined ? {} : { placement: loop.placement, limits: loop.limits, priority: loop.priority }),
      ...(priority === undefined ? {} : { priority }),
      // A name is an operation id by itself, and leads to more than a task.
      ...(op === undefined || name !== undefined ? {} : { op }),
    },
    run: {
      kind: loop?.kind ?? 'machine',
      title: start.title ?? title,
      ...(name === undefined ? {} : { name }),
      ...(labels === undefined && loop === undefined ? {} : { labels: { ...loop?.labels, ...labels } }),
    },
    ...(definition === undefined ? {} : { definition }),
    budgets: budgetsIn(budgets),
  };
}

interface Defined {
  readonly title: string;
  readonly text?: string;
  readonly use?: string;
  /** Undefined: the workers have it. */
  readonly machine?: Machine | typeof LOOP;
  readonly channels: readonly string[];
}

function definitionOf({ machine, bundle, use, channels }: Start): Defined {
  const given = [machine, bundle, use].filter((one) => one !== undefined);
  if (given.length !== 1) throw refuse('machine', 'give exactly one of "machine", "bundle", "use", "graph" and "task"');
  if (use === LOOP) return { title: use, use, machine: use, channels: channels ?? [LOOP_CHANNELS.all] };
  if (use !== undefined) return { title: use.slice(0, 255), use, channels: channels ?? [] };
  const text = bundle ?? JSON.stringify(bundleAlone(machine));
  if (Buffer.byteLength(text) > MOST_BUNDLE) throw fault('TOO_LARGE', { field: 'machine', maxBytes: MOST_BUNDLE });
  const opened = readBundle(text);
  if (opened === undefined) {
    throw bundle === undefined
      ? refuse('machine', 'it is a map')
      : refuse('bundle', 'it is not the text that "leasehold run" makes of a machine');
  }
  const read = machineIn(opened);
  if (bundle === undefined) refuseFiles(read);
  return { title: read.name.slice(0, 255), text, machine: read, channels: channels ?? channelsOf(opened) };
}

function machineIn({ machine: { value } }: MachineBundle): Machine {
  const { machine, problems } = readMachine(value as Value);
  if (machine !== undefined) return machine;
  throw refuseProblems('machine', problems);
}

function refuseProblems(field: string, problems: readonly Problem[]): Error {
  const wrong = problems.filter(({ level }) => level === 'error');
  const said = wrong.slice(0, MOST_TOLD).map(({ path, message }) => `${pathText(path)}: ${message}`);
  return fault(
    'INVALID_INPUT',
    { field, problem: wrong.length === 1 ? said[0] : `it has ${wrong.length} problems` },
    wrong.length === 1 ? {} : { hint: said.join('\n') },
  );
}

/** Files are on the host of the caller: a bundle brings them. */
function refuseFiles(machine: Machine): void {
  const [file] = filesOf(machine);
  if (file === undefined) return;
  throw fault(
    'INVALID_INPUT',
    { field: 'machine', problem: `it names the file ${JSON.stringify(file.slice(0, 80))}, which it does not bring` },
    { hint: 'Start it with "leasehold run FILE --server URL", which takes its files along.' },
  );
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}
