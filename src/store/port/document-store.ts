import type { TaskState } from '../../core/task/task.ts';
import type { GraphAnswer, GraphTask } from './dependency-store.ts';
import type { PushedTask } from './push-store.ts';

/**
 * The part of the port for documents: tasks that are written down as trees and run when they are executed. The outcome
 * of an execution is in its task alone.
 */
export interface DocumentStore {
  /**
   * Changes one tree, all or nothing, if its version is still the one that the writer read. Tasks are pushed in the
   * same transaction.
   */
  documentWrite(params: DocumentWrite): Promise<DocumentAnswer>;
  /** All documents of a tree, in the order in which they were added. Empty where there is no such tree. */
  documentTree(params: { readonly root: string }): Promise<readonly DocumentRecord[]>;
  documentGet(params: { readonly ids: readonly string[] }): Promise<readonly (DocumentRecord | undefined)[]>;
  /** The document whose last execution each of these tasks is. Where several documents show the task, the oldest. */
  documentOf(params: { readonly tasks: readonly number[] }): Promise<readonly (DocumentRecord | undefined)[]>;
  /** Newest first. */
  documentList(params: DocumentQuery): Promise<readonly DocumentRecord[]>;
  /** How many documents there are, by the state of their task. */
  documentCount(params: DocumentFilter): Promise<DocumentCount>;
}

export interface DocumentWrite {
  readonly root: string;
  /** The version of the root that the writer read; 0: there is no such tree. With another version nothing is changed. */
  readonly version: number;
  readonly add?: readonly NewDocument[] | undefined;
  readonly change?: readonly DocumentChange[] | undefined;
  readonly remove?: readonly string[] | undefined;
  /** Tasks, and the documents that the first of them are executions of, in order. Further tasks belong to no document. */
  readonly push?: { readonly items: readonly GraphTask[]; readonly documents: readonly string[] } | undefined;
}

export interface DocumentChange {
  readonly id: string;
  /** Undefined: it is the root. */
  readonly parent: string | undefined;
  readonly user: string | undefined;
  /** Cancelled before it was ever executed. */
  readonly dropped: boolean;
  /** JSON text; the store does not look inside. */
  readonly body: string;
}

export interface NewDocument extends Omit<DocumentChange, 'dropped'> {
  /** The id of a document whose task it shows instead of a task of its own. */
  readonly shows?: string | undefined;
  /** A task that it always shows. */
  readonly task?: number | undefined;
}

export type DocumentAnswer =
  | { readonly ok: true; readonly tasks: readonly PushedTask[] }
  /** The tree has changed since the writer read it. */
  | { readonly ok: false; readonly why: 'stale' }
  /** There is a document with this id already. */
  | { readonly ok: false; readonly why: 'taken'; readonly id: string }
  | { readonly ok: false; readonly why: 'push'; readonly answer: GraphAnswer & { readonly ok: false } };

export interface DocumentRecord extends DocumentChange {
  /** Each new document gets a higher number. */
  readonly number: number;
  readonly root: string;
  readonly shows: string | undefined;
  /** The last execution, or the task that it always shows. */
  readonly task: number | undefined;
  /**
   * The state of that task, or of the last execution of the document that it shows. Undefined: there is no task, or it
   * is no longer kept.
   */
  readonly state: TaskState | undefined;
  /** The last attempt of that task; 0: none has begun it yet. */
  readonly attempt: number | undefined;
  /** How often it was executed. */
  readonly run: number;
  /** From 1; one higher with each change. The version of a root grows with each change of its tree. */
  readonly version: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface DocumentFilter {
  readonly user?: string | undefined;
  /** Only documents without a parent. */
  readonly roots: boolean;
}

export interface DocumentQuery extends DocumentFilter {
  readonly before?: number | undefined;
  readonly limit: number;
}

export interface DocumentCount {
  /** Never executed. */
  readonly fresh: number;
  /** Cancelled before they were ever executed. */
  readonly dropped: number;
  /** Of those whose task waits: how many of these tasks have begun, and have parked since. */
  readonly parked: number;
  readonly states: Readonly<Record<TaskState, number>>;
}
