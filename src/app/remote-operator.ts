import { Client } from '../client/client.ts';
import { fault, isEngineError } from '../core/errors.ts';
import type { FinalState, TaskState } from '../core/task.ts';
import type { Explanation } from '../engine/explain.ts';
import type { PushRequest } from '../engine/push.ts';
import type { CancelAct, RetryAct, TreeOptions } from '../engine/subtrees.ts';
import type { RetryAnswer, TaskFilter, Told } from '../operate/sight.ts';
import type {
  ClusterView,
  NodeView,
  PurgedView,
  QueueView,
  RetriedView,
  TaskDetailView,
  TaskView,
  WorkerView,
} from '../operate/views.ts';
import type { CancelAnswer, LogLine } from '../store/store.ts';
import type { AppTree } from './leasehold.ts';
import type {
  Operating,
  OperatingCluster,
  OperatingFleet,
  OperatingLimits,
  OperatingWaits,
  PushedView,
  SweepPart,
} from './operating.ts';
import { readLog } from './remote-app-log.ts';
import { pushOne, pushSeveral } from './remote-app-pushes.ts';
import { cancelTree, retryTree } from './remote-app-trees.ts';
import { followRemote } from './remote-operator-follow.ts';
import { RemoteLimits } from './remote-operator-limits.ts';
import { RemoteWaits } from './remote-operator-waits.ts';
import { RemoteFleet } from './remote-operator-workers.ts';

export interface RemoteOperatorOptions {
  readonly url: string;
  readonly token: string | undefined;
  /** It has answered a moment ago. */
  readonly seen: boolean;
  /** Told when a stream has lost its node, and with nothing when it has it again. */
  readonly onAway?: ((error: Error | undefined) => void) | undefined;
}

/** Of one page, and of those that are changed one by one. */
const PAGE = 500;
/** Some of many tasks may be five thousand. */
const SWEEP_MS = 600_000;
const GREETING_MS = 10_000;

/** Asks a node what an operator asks a store. That it is there is seen first: a call would try again for a while. */
export async function operateRemotely({ seen, ...options }: RemoteOperatorOptions): Promise<RemoteOperator> {
  const client = new Client(options);
  if (!seen) await client.call('health', { patienceMs: 0, timeoutMs: GREETING_MS });
  return new RemoteOperator(client);
}

/** A node as commands see it. */
export class RemoteOperator implements Operating {
  readonly cluster: OperatingCluster;
  readonly fleet: OperatingFleet;
  readonly limits: OperatingLimits;
  readonly waits: OperatingWaits;
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
    this.cluster = {
      look: async () => (await client.call('getCluster')) as ClusterView,
      setRole: async (id, role) => (await client.call('editNode', { params: { id }, body: { role } })) as NodeView,
    };
    this.fleet = new RemoteFleet(client);
    this.limits = new RemoteLimits(client);
    this.waits = new RemoteWaits(client);
  }

  async push(requests: readonly PushRequest[]): Promise<readonly PushedView[]> {
    const [only] = requests;
    return requests.length === 1 && only !== undefined
      ? [await pushOne(this.#client, only)]
      : pushSeveral(this.#client, requests);
  }

  async list(filter: Omit<TaskFilter, 'before'>): Promise<readonly TaskView[]> {
    const { queues, states, handlers = [], from, until, limit } = filter;
    const query = { queue: [...queues], state: [...states], handler: [...handlers], from, until };
    const found: TaskView[] = [];
    for await (const page of this.#pages(query, limit)) found.push(...page);
    return found;
  }

  async *find(queue: string, states: readonly TaskState[]): AsyncGenerator<readonly string[]> {
    const pages = this.#pages({ queue: [queue], state: [...states] }, Number.POSITIVE_INFINITY);
    for await (const page of pages) yield page.map(({ id }) => id);
  }

  async task(id: string): Promise<TaskView> {
    const { tasks } = await this.#client.call('listTasks', { query: { id: [id] } });
    if (tasks[0] === undefined) throw fault('NOT_FOUND', { kind: 'task', id });
    return tasks[0] as TaskView;
  }

  async detail(id: string): Promise<TaskDetailView> {
    return (await this.#client.call('getTask', { params: { id } })) as TaskDetailView;
  }

  async explain(id: string): Promise<Explanation> {
    return (await this.#client.call('explainTask', { params: { id } })) as Explanation;
  }

  log(id: string): AsyncGenerator<LogLine> {
    return readLog(this.#client, id);
  }

  async now(): Promise<number> {
    return (await this.#client.call('readEvents')).last;
  }

  follow(
    ids: readonly string[],
    options: { readonly after: number; readonly signal: AbortSignal },
  ): AsyncGenerator<Told> {
    return followRemote(this.#client, ids, options);
  }

  async cancel(ids: readonly string[]): Promise<readonly CancelAnswer[]> {
    return this.#each(ids, async (id, dryRun) => {
      const { tasks } = await this.#client.call('cancelTask', { params: { id }, body: { dryRun } });
      return (tasks[0] as { readonly act: CancelAnswer }).act;
    });
  }

  async retry(ids: readonly string[]): Promise<readonly RetryAnswer[]> {
    return this.#each(ids, async (id, dryRun) => {
      const { tasks } = await this.#client.call('retryTask', { params: { id }, body: { dryRun } });
      const { act, state } = tasks[0] as { readonly act: string; readonly state: TaskState };
      return act === 'again' ? 'again' : state;
    });
  }

  cancelTree(id: string, options: TreeOptions): Promise<AppTree<CancelAct>> {
    return cancelTree(this.#client, id, options);
  }

  retryTree(id: string, options: TreeOptions): Promise<AppTree<RetryAct>> {
    return retryTree(this.#client, id, options);
  }

  async queues(): Promise<readonly QueueView[]> {
    return (await this.#client.call('listQueues')).queues;
  }

  queue(name: string): Promise<QueueView> {
    return this.#client.call('getQueue', { params: { queue: name } });
  }

  pause(name: string): Promise<QueueView> {
    return this.#client.call('pauseQueue', { params: { queue: name } });
  }

  resume(name: string): Promise<QueueView> {
    return this.#client.call('resumeQueue', { params: { queue: name } });
  }

  async purge(name: string, part: SweepPart): Promise<PurgedView> {
    const ask = { params: { queue: name }, body: part, timeoutMs: SWEEP_MS };
    return (await this.#client.call('purgeQueue', ask)) as PurgedView;
  }

  async retryAll(name: string, states: readonly FinalState[], part: SweepPart): Promise<RetriedView> {
    const ask = { params: { queue: name }, body: { ...part, states: [...states] }, timeoutMs: SWEEP_MS };
    return (await this.#client.call('retryQueue', ask)) as RetriedView;
  }

  async workers(): Promise<readonly WorkerView[]> {
    return (await this.#client.call('listWorkers')).workers as readonly WorkerView[];
  }

  async close(): Promise<void> {
    this.#client.close();
  }

  /** What each of these comes to. An id that is none is refused before any is changed, so that several are asked about first. */
  async #each<T>(
    ids: readonly string[],
    act: (id: string, dryRun: boolean) => Promise<T>,
  ): Promise<readonly (T | 'unknown')[]> {
    const known = (id: string, dryRun: boolean): Promise<T | 'unknown'> =>
      act(id, dryRun).catch((error: unknown) => {
        if (isEngineError(error, 'NOT_FOUND')) return 'unknown' as const;
        throw error;
      });
    if (ids.length > 1) await Promise.all(ids.map((id) => known(id, true)));
    const answers: (T | 'unknown')[] = [];
    for (const id of ids) answers.push(await known(id, false));
    return answers;
  }

  async *#pages(
    filter: { readonly queue: string[]; readonly state: TaskState[] },
    limit: number,
  ): AsyncGenerator<readonly TaskView[]> {
    let cursor: string | undefined;
    for (let left = limit; left > 0; ) {
      const query = { ...filter, limit: Math.min(PAGE, left), ...(cursor === undefined ? {} : { cursor }) };
      const page = await this.#client.call('listTasks', { query });
      if (page.tasks.length > 0) yield page.tasks as readonly TaskView[];
      left -= page.tasks.length;
      cursor = page.cursor;
      if (cursor === undefined) return;
    }
  }
}
