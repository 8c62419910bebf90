import { Client } from '../../client/client.ts';
import { CompletionWatcher } from '../../client/completion-watcher.ts';
import { type Duration, parseDuration } from '../../core/duration.ts';
import { fault, isEngineError } from '../../core/errors.ts';
import { type LimitInput, normalizeLimit, type Rate } from '../../core/limits/limit.ts';
import { checkName } from '../../core/names.ts';
import { EMPTY_STATS, type QueueStats } from '../../core/task/event.ts';
import { checkOptions } from '../../engine/check.ts';
import { type Log, SILENT } from '../../engine/log.ts';
import type { SignalOptions } from '../../engine/settle/waits.ts';
import type { CancelAct, RetryAct, TreeOptions } from '../../engine/trees/trees.ts';
import { cancelOne, cancelTree, findTask, retryOne, retryTree } from '../../operate/calls/calls.ts';
import { setLimit } from '../../operate/calls/limit-calls.ts';
import { pushOne, pushSeveral, wireOf } from '../../operate/calls/push-calls.ts';
import { NodeOperator } from '../../operate/node-operator.ts';
import type { Operator } from '../../operate/operator.ts';
import type {
  ApprovalView,
  ExplanationView,
  QueueView,
  ScheduleView,
  SignalView,
  TaskView,
} from '../../operate/views.ts';
import type { CancelAnswer, QueueRecord } from '../../store/store.ts';
import type { AnyTask } from '../../worker/define/definition.ts';
import type { InputOf, ResultOf } from '../../worker/define/pushable-task.ts';
import type { Decision } from '../../worker/durable/durable-context.ts';
import type { Worker } from '../../worker/worker.ts';
import type { AnyWorkflow } from '../../worker/workflow/workflow.ts';
import { type AppArtifacts, CalledArtifacts } from '../artifacts/library.ts';
import type { AppFeedItem, AppTree, Leasehold, RunArguments, WorkflowHandle } from '../library/leasehold.ts';
import { type AppPools, CalledPools } from '../library/pools.ts';
import {
  type GraphTaskInput,
  graphOf,
  type PushArguments,
  type PushOptions,
  pushesOf,
  pushOf,
} from '../library/pushing.ts';
import { type AppRuns, CalledRuns } from '../library/runs.ts';
import { type AppSchedules, CalledSchedules, type ScheduleOptions } from '../library/schedules.ts';
import { type AppWorkflows, CalledWorkflows } from '../library/stored-workflows.ts';
import { type AppTriggers, CalledTriggers } from '../library/triggers.ts';
import { startOver, startWorkflow, workflowHandle } from '../library/workflow-runs.ts';
import { nodeFetch } from './node-fetch.ts';
import { itemOf } from './remote-app-events.ts';
import { RemoteHandle } from './remote-app-handle.ts';
import { type RemoteWorkerOptions, remoteAppWorker } from './remote-app-worker.ts';

export type { RemoteWorkerOptions } from './remote-app-worker.ts';

export interface RemoteOptions {
  /** The token of an operator or an admin; programs that only read, or only run workers, need less. */
  readonly token?: string;
  /** How long repeatable calls are repeated while the node is away; default 15 s. */
  readonly patience?: Duration;
  /** The logger of its workers. */
  readonly log?: Log;
}

const KNOWN: ReadonlySet<string> = new Set(['token', 'patience', 'log'] satisfies (keyof RemoteOptions)[]);
/** Options that belong to the process that has the store open. */
const NODE_OPTIONS: readonly string[] = [
  'clock',
  'world',
  'durability',
  'housekeeping',
  'leaseMs',
  'retentionMs',
  'auditRetentionMs',
  'workerStaleMs',
  'duties',
  'dutyMs',
  'triggerRoots',
  'artifactStore',
  'artifactQuota',
  'artifactTaskQuota',
  'artifactRetentionMs',
  'checkPool',
];
const HOLD_MS = 60_000;

/** The library over HTTP. The node is not called before the first call. */
export function openRemote(url: string, options: RemoteOptions): RemoteApp {
  const foreign = Object.keys(options).find((key) => NODE_OPTIONS.includes(key));
  if (foreign !== undefined) {
    throw fault(
      'INVALID_INPUT',
      { field: foreign, problem: 'it belongs to the node, which has the store open' },
      { hint: 'Set it where the node is started.' },
    );
  }
  checkOptions('options of a node', options, KNOWN);
  const { token, patience, log = SILENT } = options;
  if (token !== undefined && typeof token !== 'string') {
    throw fault('INVALID_INPUT', { field: 'token', problem: 'it must be a text' });
  }
  const client = new Client({
    url,
    token,
    fetch: nodeFetch,
    ...(patience === undefined ? {} : { patienceMs: parseDuration(patience, 'patience') }),
  });
  return new RemoteApp(client, { token, log });
}

/** The same calls as `App`, over HTTP, on a store that a node has open. */
export class RemoteApp implements Leasehold {
  readonly #client: Client;
  readonly #operator: Operator;
  readonly #completions: CompletionWatcher;
  readonly #log: Log;
  readonly #mayRule: boolean;
  readonly #workers = new Set<Worker>();
  /** Runs of machines: start, look, cancel, retry, fork. */
  readonly runs: AppRuns;
  /** Schedules: look, pause, resume, run, remove. */
  readonly schedules: AppSchedules;
  readonly #schedules: CalledSchedules;
  /** Stored workflows: apply, look, enable, run. */
  readonly workflows: AppWorkflows;
  /** How many workers there should be: put, look, check. */
  readonly pools: AppPools;
  /** Triggers: what starts work when something happens. */
  readonly triggers: AppTriggers;
  /** Files that tasks have left behind: list, look, read, save, remove. */
  readonly artifacts: AppArtifacts;

  constructor(client: Client, { token, log }: { readonly token: string | undefined; readonly log: Log }) {
    this.#client = client;
    this.#operator = new NodeOperator(client);
    this.runs = new CalledRuns(() => Promise.resolve(this.#operator));
    this.#schedules = new CalledSchedules(() => Promise.resolve(this.#operator));
    this.schedules = this.#schedules;
    this.triggers = new CalledTriggers(() => Promise.resolve(this.#operator));
    this.artifacts = new CalledArtifacts(() => Promise.resolve(this.#operator));
    this.workflows = new CalledWorkflows(() => Promise.resolve(this.#operator));
    this.pools = new CalledPools(() => Promise.resolve(this.#operator));
    this.#completions = new CompletionWatcher(client);
    this.#mayRule = token !== undefined;
    this.#log = log;
  }

  /** Where the node answers. */
  get url(): string {
    return this.#client.origin;
  }

  async push<T extends AnyTask>(task: T, ...args: PushArguments<T>): Promise<RemoteHandle<ResultOf<T>>> {
    const [input, options = {}] = args;
    const request = await pushOf(task, input, options);
    refuseTx(options);
    return this.#handle<ResultOf<T>>(await pushOne(this.#operator, request));
  }

  async run<W extends AnyWorkflow>(workflow: W, ...args: RunArguments<W>): Promise<WorkflowHandle<ResultOf<W>>> {
    const [input, options = {}] = args;
    const started = await startWorkflow(workflow, input, options, startOver(this.#operator));
    const handle = this.#handle<ResultOf<W>>(started);
    return workflowHandle(handle, options.executionId, (channel, body) => this.signal(channel, body));
  }

  async pushMany<T extends AnyTask>(
    task: T,
    inputs: readonly InputOf<T>[],
    options: Omit<PushOptions, 'unique' | 'op'> = {},
  ): Promise<readonly RemoteHandle<ResultOf<T>>[]> {
    const requests = await pushesOf(task, inputs, options);
    refuseTx(options);
    return (await pushSeveral(this.#operator, requests)).map((one) => this.#handle<ResultOf<T>>(one));
  }

  async pushGraph(graph: readonly GraphTaskInput[]): Promise<Readonly<Record<string, RemoteHandle>>> {
    const requests = await graphOf(graph);
    if (requests.length === 0) return {};
    const tasks = requests.map(wireOf);
    const pushed = await this.#operator.call('pushGraph', { body: { tasks } });
    return Object.fromEntries(pushed.tasks.map((one) => [one.name, this.#handle(one)]));
  }

  handle(id: string): RemoteHandle {
    return this.#handle({ id, fresh: false });
  }

  get(id: string): Promise<TaskView | undefined> {
    return findTask(this.#operator, id);
  }

  explain(id: string): Promise<ExplanationView> {
    return this.#operator.call('explainTask', { params: { id } });
  }

  cancel(id: string): Promise<CancelAnswer> {
    return cancelOne(this.#operator, id);
  }

  async retry(id: string): Promise<void> {
    const from = await retryOne(this.#operator, id);
    if (from !== 'again') throw fault('ILLEGAL_TRANSITION', { kind: 'task', from, to: 'ready' });
  }

  cancelTree(id: string, options: TreeOptions = {}): Promise<AppTree<CancelAct>> {
    return cancelTree(this.#operator, id, options);
  }

  retryTree(id: string, options: TreeOptions = {}): Promise<AppTree<RetryAct>> {
    return retryTree(this.#operator, id, options);
  }

  async signal(channel: string, body?: unknown, options: SignalOptions = {}): Promise<SignalView> {
    const { broadcast = false, op } = options;
    if (op !== undefined) {
      throw fault('INVALID_INPUT', { field: 'op', problem: 'a signal over HTTP has no operation id' });
    }
    return this.#operator.call('sendSignal', { body: { channel, body, broadcast } });
  }

  async approvals({ limit = 100 }: { readonly limit?: number } = {}): Promise<readonly ApprovalView[]> {
    return (await this.#operator.call('listApprovals', { query: { limit } })).approvals;
  }

  async decide(id: string, { by, ...decision }: Decision & { readonly key?: string }): Promise<void> {
    await this.#operator.call('decideApproval', { params: { id }, body: decision, by });
  }

  async stats(queue: string): Promise<QueueStats> {
    try {
      return recordOf(await this.#operator.call('getQueue', { params: { queue: checkName('queue', queue) } })).stats;
    } catch (error) {
      if (isEngineError(error, 'NOT_FOUND')) return EMPTY_STATS;
      throw error;
    }
  }

  async queues(): Promise<readonly QueueRecord[]> {
    return (await this.#operator.call('listQueues')).queues.map(recordOf);
  }

  async *events(options: { readonly after?: number; readonly signal?: AbortSignal } = {}): AsyncIterable<AppFeedItem> {
    const { after = 0, signal } = options;
    for await (const view of this.#operator.events({ after, signal })) yield itemOf(view);
  }

  schedule<T extends AnyTask>(name: string, options: ScheduleOptions<T>): Promise<ScheduleView> {
    return this.#schedules.put(name, options);
  }

  async setLimit(name: string, limit: LimitInput, by?: string): Promise<number> {
    const { rate, cost, concurrent = null, perKey = null, strategy, backlog = null } = normalizeLimit(limit);
    // Null where there is no bound: a field that is not given would stay as it was.
    const edit = { concurrent, perKey, rate: wireRate(rate), cost: wireRate(cost), strategy, backlog };
    return (await setLimit(this.#operator, checkName('limit', name), edit, by)).limit.revision;
  }

  async removeLimit(name: string, by?: string): Promise<void> {
    await this.#operator.call('removeLimit', { params: { name: checkName('limit', name) }, by });
  }

  /**
   * A worker in this process that works for the node, over a WebSocket. It signs in with a name and its secret, or with a code;
   * with the token of an operator it registers itself. Leases are renewed from the loop, so a handler that blocks the loop
   * belongs in a child process.
   */
  worker(options: RemoteWorkerOptions): Worker {
    const worker = remoteAppWorker(this.#client, options, { log: this.#log, mayRule: this.#mayRule });
    this.#workers.add(worker);
    void worker.ended.then(() => this.#workers.delete(worker));
    return worker;
  }

  async stopWorkers(options: Parameters<Worker['stop']>[0] = {}): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.stop(options)));
  }

  /** Drains its workers and ends everything that still waits for the node. */
  async close(options: { readonly drainMs?: Duration } = {}): Promise<void> {
    const { drainMs } = options;
    const stop = drainMs === undefined ? {} : { drainMs: parseDuration(drainMs, 'drainMs') };
    // Timers of workers do not keep the process alive; while this close waits, something must.
    const hold = setInterval(() => {}, HOLD_MS);
    try {
      await this.stopWorkers(stop);
    } finally {
      clearInterval(hold);
      this.#client.close();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #handle<Result = unknown>(pushed: { readonly id: string; readonly fresh: boolean }): RemoteHandle<Result> {
    return new RemoteHandle<Result>(this.#operator, this.#completions, pushed);
  }
}

function refuseTx({ tx }: PushOptions): void {
  if (tx === undefined) return;
  throw fault(
    'INVALID_INPUT',
    { field: 'tx', problem: 'a transaction of this process cannot reach the store of a node' },
    { hint: 'Open the store itself, where it is the database of that transaction: open("postgres://…").' },
  );
}

function recordOf({ name, paused, ...stats }: QueueView): QueueRecord {
  return { name, paused, stats };
}

function wireRate(rate: Rate | undefined): { max: number; window: number; burst: number; perKey: boolean } | null {
  if (rate === undefined) return null;
  const { max, windowMs, burst, perKey } = rate;
  return { max, window: windowMs, burst, perKey };
}
