import type { AuditStore } from './port/admin/audit-store.ts';
import type { CredentialStore } from './port/admin/credential-store.ts';
import type { TagStore } from './port/admin/tag-store.ts';
import type { ArtifactStore } from './port/artifact-store.ts';
import type { BrowserSessionStore } from './port/browser-session-store.ts';
import type { BudgetStore } from './port/budget-store.ts';
import type { DependencyStore } from './port/dependency-store.ts';
import type { DocumentStore } from './port/document-store.ts';
import type { InsightStore } from './port/insight-store.ts';
import type { LaneWish } from './port/lane-store.ts';
import type { LimitStore } from './port/limit-store.ts';
import type { NodeStore } from './port/node-store.ts';
import type { PoolStore } from './port/pool-store.ts';
import type { NewTask, PushAnswer } from './port/push-store.ts';
import type { ReactionStore } from './port/reaction-store.ts';
import type { ResultStore } from './port/result-store.ts';
import type { RunStore } from './port/run-store.ts';
import type { SettingStore } from './port/setting-store.ts';
import type { TokenStore } from './port/token-store.ts';
import type { TreeStore } from './port/tree-store.ts';
import type { TriggerStore } from './port/trigger-store.ts';
import type { TurnStore } from './port/turn-store.ts';
import type { WaitStore } from './port/wait-store.ts';
import type { WorkflowStore } from './port/workflow-store.ts';
import type { QueueStore } from './queue-store.ts';

export type * from './port/admin/audit-store.ts';
export type * from './port/admin/credential-store.ts';
export type * from './port/admin/tag-store.ts';
export type * from './port/artifact-store.ts';
export type * from './port/browser-session-store.ts';
export type * from './port/budget-store.ts';
export type * from './port/dependency-store.ts';
export type * from './port/document-store.ts';
export type * from './port/insight-store.ts';
export type * from './port/limit-store.ts';
export type * from './port/node-store.ts';
export type * from './port/pool-store.ts';
export type * from './port/reaction-store.ts';
export type * from './port/result-store.ts';
export type * from './port/run-store.ts';
export type * from './port/setting-store.ts';
export type * from './port/token-store.ts';
export type * from './port/tree-store.ts';
export type * from './port/trigger-store.ts';
export type * from './port/turn-store.ts';
export type * from './port/wait-store.ts';
export type * from './port/workflow-store.ts';
export type * from './queue-store.ts';

/**
 * The port: everything the engine asks of durable storage. An adapter reads and compares-and-sets; the rules live in
 * `core/`. Every adapter passes the suite in `conformance/`, and a new verb starts there.
 */
export interface Store
  extends QueueStore,
    LimitStore,
    DependencyStore,
    WaitStore,
    TurnStore,
    TreeStore,
    RunStore,
    BudgetStore,
    ResultStore,
    TriggerStore,
    WorkflowStore,
    PoolStore,
    ReactionStore,
    SettingStore,
    TokenStore,
    BrowserSessionStore,
    AuditStore,
    CredentialStore,
    TagStore,
    ArtifactStore,
    NodeStore,
    DocumentStore,
    InsightStore {
  /** Pushes inside the caller's own transaction: nothing exists until the caller commits. */
  taskPushIn(params: PushInParams): readonly PushAnswer[] | Promise<readonly PushAnswer[]>;

  /** The first ready tasks of these lanes, in the order in which a claim would take them. Reads only. */
  taskReady(params: { readonly lanes: readonly number[]; readonly limit: number }): Promise<readonly ReadyTask[]>;
  /** The task that has this unique key, finished or not. */
  taskByKey(params: { readonly queue: string; readonly key: string }): Promise<number | undefined>;
}

/** The caller's own transaction on the same data, as its client offers it. */
export type CallerTransaction = SqliteTransaction | PostgresTransaction;

/** What a caller's SQLite handle must have; `DatabaseSync` and better-sqlite3 do. */
export interface SqliteTransaction {
  prepare(sql: string): unknown;
}

/** What a caller's Postgres client must have; those of `pg` and others do. */
export interface PostgresTransaction {
  query(sql: string, values: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
}

export interface PushInParams {
  readonly tx: CallerTransaction;
  readonly items: readonly NamedTask[];
}

/** A task for the caller's own transaction: its lane and spec are interned there too, if they are new. */
export interface NamedTask extends Omit<NewTask, 'lane' | 'spec'>, LaneWish {
  readonly specBody: string;
}

export interface ReadyTask {
  readonly task: number;
  readonly lane: number;
  readonly priority: number;
}
