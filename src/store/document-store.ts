import type { TaskState } from '../core/task/task.ts';
import type { GraphAnswer, GraphTask } from './dependency-store.ts';
import type { PushedTask } from './push-store.ts';

/**
 * The part of the port for documents: tasks that are written down as trees, and run when somebody says so. What became of an
 * execution is told by its task alone.
 */
export interface DocumentStore {
  /** Changes one tree, all or nothing, if it is as the writer saw it; what is pushed is part of the same transaction. */
  documentWrite(params: DocumentWrite): Promise<DocumentAnswer>;
  /** All of a tree, in the order in which they were added; nothing where there is none. */
  documentTree(params: { readonly root: string }): Promise<readonly DocumentRecord[]>;
  documentGet(params: { readonly ids: readonly string[] }): Promise<readonly (DocumentRecord | undefined)[]>;
  /** The document that each of these tasks is the last execution of; where several show it, the oldest. */
  documentOf(params: { readonly tasks: readonly number[] }): Promise<readonly (DocumentRecord | undefined)[]>;
  /** Newest first. */
  documentList(params: DocumentQuery): Promise<readonly DocumentRecord[]>;
  /** How many there are, by how they stand. */
  documentCount(params: DocumentFilter): Promise<DocumentCount>;
}

export interface DocumentWrite {
  readonly root: string;
  /** Of the root, as the writer saw it; 0: there is no such tree. Otherwise nothing is changed. */
  readonly version: number;
  readonly add?: readonly NewDocument[] | undefined;
  readonly change?: readonly DocumentChange[] | undefined;
  readonly remove?: readonly string[] | undefined;
  /** Tasks, and the documents that they are executions of. */
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
  /** The id of a document whose task it shows instead of one of its own. */
  readonly shows?: string | undefined;
  /** A task that it shows for good. */
  readonly task?: number | undefined;
}

export type DocumentAnswer =
  | { readonly ok: true; readonly tasks: readonly PushedTask[] }
  /** The tree is another one than the writer saw. */
  | { readonly ok: false; readonly why: 'stale' }
  /** There is a document with this id already. */
  | { readonly ok: false; readonly why: 'taken'; readonly id: string }
  | { readonly ok: false; readonly why: 'push'; readonly answer: GraphAnswer & { readonly ok: false } };

export interface DocumentRecord extends DocumentChange {
  /** Grows with each that is added. */
  readonly number: number;
  readonly root: string;
  readonly shows: string | undefined;
  /** Of the last execution, or that it shows for good. */
  readonly task: number | undefined;
  /** Of that task, or of the last execution of the document that it shows; undefined: there is none, or it is no longer kept. */
  readonly state: TaskState | undefined;
  /** How often it was executed. */
  readonly run: number;
  /** From 1; one more with each change of it, and that of a root with each change of its tree. */
  readonly version: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface DocumentFilter {
  readonly user?: string | undefined;
  /** Those without a parent alone. */
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
  readonly states: Readonly<Record<TaskState, number>>;
}
