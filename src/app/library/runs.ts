/** Runs of machines for programs, on a store or on a node. */
import { fault, isEngineError } from '../../core/errors.ts';
import type { TaskState } from '../../core/task/task.ts';
import { checkOptions } from '../../engine/check.ts';
import { LONG_MS } from '../../operate/calls/calls.ts';
import type { Caller } from '../../operate/operator.ts';
import type { RunDetailView, RunStepDetailView, RunStepView, RunView } from '../../operate/views.ts';

/** What is started: one of `machine`, `use` and `graph`. */
export interface StartRun {
  /** A machine as an object, or the path of its file. Files that it names are taken along. */
  readonly machine?: object | string | undefined;
  /** Or the name of a machine that the workers know. */
  readonly use?: string | undefined;
  /** Or a workflow of nodes and connections, as an object or the path of its file. */
  readonly graph?: object | string | undefined;
  /** Of a graph: the id of the node with which the run ends. */
  readonly upTo?: string | undefined;
  /** Of a graph: the id of the trigger that fires; default: all of them. */
  readonly trigger?: string | undefined;
  readonly input?: unknown;
  /** The execution id. Started again under it, the run goes on or gives its result. */
  readonly name?: string | undefined;
  /** What people call it; default: the name of the machine. */
  readonly title?: string | undefined;
  /** Default: machines; of a graph: graphs. */
  readonly queue?: string | undefined;
  readonly priority?: number | undefined;
  readonly maxAttempts?: number | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** What the run and all that it starts may use; money is in dollars. */
  readonly budgets?: readonly RunBudget[] | undefined;
  /** Signals that it may wait for where workers of other hosts run it; default: those that the machine names. */
  readonly channels?: readonly string[] | undefined;
}

export interface RunBudget {
  readonly unit: 'tokens' | 'money' | 'ms' | 'calls';
  /** One event tells when it is reached. */
  readonly soft?: number;
  /** A task waits before a call that could go beyond it. */
  readonly hard?: number;
}

export interface StartedRunView extends RunView {
  /** False: the name led to a run that was there already. */
  readonly fresh: boolean;
}

export interface RunListOptions {
  readonly state?: readonly TaskState[] | undefined;
  readonly kind?: string | undefined;
  /** What its name begins with. */
  readonly name?: string | undefined;
  readonly title?: string | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface RunStepsOptions {
  /** Of this task alone. */
  readonly task?: string | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface ForkRun {
  /** The key of the step after which it goes on, or `start`; default: the last. */
  readonly step?: string | undefined;
  /** Entries of the context to change; null takes one away. */
  readonly context?: Readonly<Record<string, unknown>> | undefined;
  readonly name?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** Runs, each by its name or by the id of its root task. `app.handle(run.id)` waits for the result. */
export interface AppRuns {
  start(run: StartRun): Promise<StartedRunView>;
  /** Undefined: there is no such run. */
  get(run: string): Promise<RunDetailView | undefined>;
  /** Newest first, a page at a time. */
  list(options?: RunListOptions): Promise<{ readonly runs: readonly RunView[]; readonly cursor?: string | undefined }>;
  /** What its tasks have done, a page at a time. */
  steps(
    run: string,
    options?: RunStepsOptions,
  ): Promise<{ readonly steps: readonly RunStepView[]; readonly cursor?: string | undefined }>;
  /** One step with what it gave, and the context after it. */
  step(run: string, key: string, options?: { readonly task?: string | undefined }): Promise<RunStepDetailView>;
  /** With all its tasks. The reason is kept. */
  cancel(
    run: string,
    options?: { readonly reason?: string | undefined; readonly by?: string | undefined },
  ): Promise<RunView>;
  /** Goes on with a run that failed or was cancelled. */
  retry(run: string): Promise<RunView>;
  /** Another run from a step of this one. */
  fork(run: string, options?: ForkRun): Promise<RunView>;
}

const START: ReadonlySet<string> = new Set([
  'machine',
  'use',
  'graph',
  'upTo',
  'trigger',
  'input',
  'name',
  'title',
  'queue',
  'priority',
  'maxAttempts',
  'labels',
  'budgets',
  'channels',
] satisfies (keyof StartRun)[]);
const FORK: ReadonlySet<string> = new Set(['step', 'context', 'name', 'labels'] satisfies (keyof ForkRun)[]);
const LIST: ReadonlySet<string> = new Set([
  'state',
  'kind',
  'name',
  'title',
  'limit',
  'cursor',
] satisfies (keyof RunListOptions)[]);
const STEPS: ReadonlySet<string> = new Set(['task', 'limit', 'cursor'] satisfies (keyof RunStepsOptions)[]);

export class CalledRuns implements AppRuns {
  readonly #caller: () => Promise<Caller>;

  /** A program that starts no run need not load what answers it. */
  constructor(caller: () => Promise<Caller>) {
    this.#caller = caller;
  }

  async start(run: StartRun): Promise<StartedRunView> {
    checkOptions('run', run, START);
    const { machine, graph, channels, budgets, ...rest } = run;
    const bundle = machine === undefined ? {} : { bundle: await bundleOf(machine) };
    const own = {
      ...(graph === undefined ? {} : { graph: await graphOf(graph) }),
      ...(channels === undefined ? {} : { channels: [...channels] }),
      ...(budgets === undefined ? {} : { budgets: [...budgets] }),
    };
    return (await this.#caller()).call('startRun', { body: defined({ ...rest, ...bundle, ...own }) });
  }

  async get(id: string): Promise<RunDetailView | undefined> {
    try {
      return await (await this.#caller()).call('getRun', { params: { id } });
    } catch (error) {
      if (isEngineError(error, 'NOT_FOUND')) return undefined;
      throw error;
    }
  }

  async list(options: RunListOptions = {}): ReturnType<AppRuns['list']> {
    checkOptions('options', options, LIST);
    const { state, ...rest } = options;
    return (await this.#caller()).call('listRuns', {
      query: defined({ ...rest, ...(state === undefined ? {} : { state: [...state] }) }),
    });
  }

  async steps(id: string, options: RunStepsOptions = {}): ReturnType<AppRuns['steps']> {
    checkOptions('options', options, STEPS);
    return (await this.#caller()).call('listRunSteps', { params: { id }, query: defined(options) });
  }

  async step(
    id: string,
    key: string,
    { task }: { readonly task?: string | undefined } = {},
  ): Promise<RunStepDetailView> {
    return (await this.#caller()).call('getRunStep', {
      params: { id, key },
      query: task === undefined ? {} : { task },
    });
  }

  async cancel(
    id: string,
    { reason, by }: { readonly reason?: string | undefined; readonly by?: string | undefined } = {},
  ): Promise<RunView> {
    return (await this.#caller()).call('cancelRun', {
      params: { id },
      body: reason === undefined ? {} : { reason },
      by,
      timeoutMs: LONG_MS,
    });
  }

  async retry(id: string): Promise<RunView> {
    return (await this.#caller()).call('retryRun', { params: { id }, timeoutMs: LONG_MS });
  }

  async fork(id: string, options: ForkRun = {}): Promise<RunView> {
    checkOptions('options', options, FORK);
    return (await this.#caller()).call('forkRun', { params: { id }, body: defined(options) });
  }
}

/** Loaded here: most programs run no machine. */
async function bundleOf(machine: object | string): Promise<string> {
  if (typeof machine !== 'string' && (typeof machine !== 'object' || machine === null)) {
    throw fault('INVALID_INPUT', { field: 'machine', problem: 'it is an object, or the path of a file' });
  }
  const [{ bundleMachine }, { findMachine }] = await Promise.all([
    import('../../worker/machine/durable/bundle.ts'),
    import('../machines/find.ts'),
  ]);
  const source =
    typeof machine === 'string'
      ? await findMachine(machine)
      : { value: machine, folder: process.cwd(), name: 'machine' };
  return (await bundleMachine(source)).text;
}

/** Whoever answers reads it: here only a file is. */
export async function graphOf(graph: object | string, field = 'graph'): Promise<unknown> {
  if (typeof graph === 'object' && graph !== null) return graph;
  if (typeof graph !== 'string') {
    throw fault('INVALID_INPUT', { field, problem: 'it is an object, or the path of a file' });
  }
  const { graphIn, readGraphFile } = await import('../graphs/graph-file.ts');
  const file = await readGraphFile(graph);
  graphIn(graph, file);
  return file.value;
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

export function defined<T extends object>(options: T): Defined<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Defined<T>;
}
