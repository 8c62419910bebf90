import type { PushRequest } from '../engine/push.ts';
import type { Pushed } from '../engine/pushes.ts';
import type { AnswerOf, BodyOf } from '../protocol/routes.ts';

type Item<T> = T extends readonly (infer I)[] ? I : never;
export type TaskShape = Item<AnswerOf<'listTasks'>['tasks']>;
export type LimitShape = AnswerOf<'createLimit'>;
export type LimitEdit = BodyOf<'editLimit'>;
type QueueShape = AnswerOf<'pauseQueue'>;
type SettingShape = AnswerOf<'editWorker'>;
type Retry = BodyOf<'retryQueue'>;

/** Many tasks of a queue, some at a time. */
export interface Sweep extends Pick<Retry, 'dryRun' | 'limit'> {
  readonly expected?: number | undefined;
  readonly before?: number | undefined;
}

/** What the routes ask of the data, under public names. Made anew for each request. */
export interface Desk {
  push(requests: readonly PushRequest[]): Promise<readonly Pushed[]>;
  /** Tasks by number, as they are shown; those that are gone are left out. */
  shown(tasks: readonly number[]): Promise<readonly TaskShape[]>;
  list(filter: {
    readonly queues: readonly string[];
    readonly states: readonly TaskShape['state'][];
    readonly limit: number;
    readonly before?: number | undefined;
    readonly handlers?: readonly string[] | undefined;
    readonly from?: number | undefined;
    readonly until?: number | undefined;
  }): Promise<readonly TaskShape[]>;
  numberOf(id: string): number;
  detail(id: string): Promise<AnswerOf<'getTask'>>;
  explain(id: string): Promise<AnswerOf<'explainTask'>>;
  cancelTree(task: number, options: { readonly dryRun: boolean }): Promise<AnswerOf<'cancelTask'>>;
  retryTree(task: number, options: { readonly dryRun: boolean }): Promise<AnswerOf<'retryTask'>>;
  tree(task: number): Promise<AnswerOf<'showTree'>['tasks']>;
  queues(): Promise<readonly QueueShape[]>;
  queue(name: string): Promise<QueueShape>;
  pause(name: string): Promise<void>;
  resume(name: string): Promise<void>;
  purge(name: string, sweep: Sweep): Promise<AnswerOf<'purgeQueue'>>;
  retryAll(name: string, states: Retry['states'], sweep: Sweep): Promise<AnswerOf<'retryQueue'>>;
  worker(name: string): Promise<AnswerOf<'getWorker'>>;
  workers(): Promise<AnswerOf<'listWorkers'>['workers']>;
  readonly fleet: {
    strays(): Promise<readonly SettingShape[]>;
    look(names: readonly string[]): Promise<readonly SettingShape[]>;
    create(
      name: string,
      worker: { readonly tags: readonly string[]; readonly priority?: number | undefined; readonly code: boolean },
      by: string,
    ): Promise<SettingShape & { readonly secret?: string; readonly code?: string }>;
    rotate(name: string, graceMs: number, by: string): Promise<AnswerOf<'rotateWorker'>>;
    remove(name: string): Promise<number>;
    tags(): Promise<AnswerOf<'listTags'>['tags']>;
  };
  readonly limits: {
    list(): Promise<readonly LimitShape[]>;
    detail(name: string): Promise<AnswerOf<'getLimit'>>;
    change(name: string, edit: LimitEdit, by: string, must: 'new' | 'there'): Promise<LimitShape>;
    remove(name: string, by: string): Promise<LimitShape>;
    pause(name: string, key: string | undefined, forMs: number): Promise<AnswerOf<'getLimit'>>;
  };
  readonly cluster: {
    look(): Promise<AnswerOf<'getCluster'>>;
    setRole(id: string, role: BodyOf<'editNode'>['role']): Promise<AnswerOf<'editNode'>>;
  };
  readonly waits: {
    signal(channel: string, body: unknown, options: { readonly broadcast: boolean }): Promise<AnswerOf<'sendSignal'>>;
    approvals(limit: number): Promise<readonly Item<AnswerOf<'listApprovals'>['approvals']>[]>;
    decide(
      task: number,
      decision: { readonly action: string; readonly value?: unknown; readonly by: string },
    ): Promise<AnswerOf<'decideApproval'>>;
  };
}
