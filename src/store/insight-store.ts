import type { HandlerSchema } from '../core/placement/worker.ts';
import type { Reason, TaskState } from '../core/task/task.ts';

/** The part of the port for people who look: figures over many tasks, and the questions that they keep. */
export interface InsightStore {
  /**
   * Counts some tasks by the time of their creation and by state, the newest first: no more than `limit` are looked at, whether
   * they fit or not, so that a call takes as long as any other. Who goes on below `last` counts every task once.
   */
  taskCount(params: TaskCount): Promise<TaskCounts>;
  /** Failed tasks below `before`, the newest first, with no more of their errors than people read. */
  failureList(params: { readonly before?: number | undefined; readonly limit: number }): Promise<readonly Failure[]>;

  /** In which queues handlers have had tasks, as the newest lanes tell, whether one waits there or not. No more than `limit` are looked at. */
  handlerQueues(params: { readonly limit: number }): Promise<readonly HandlerQueue[]>;

  /** Keeps a view under its name, in the place of one that has it. Undefined: it would be a new one, and there are `most` already. */
  viewPut(params: { readonly view: NewView; readonly most: number }): Promise<ViewRecord | undefined>;
  /** By name. */
  viewList(): Promise<readonly ViewRecord[]>;
  /** False: there was none of that name. */
  viewDrop(params: { readonly name: string }): Promise<boolean>;

  /** Keeps what handlers take, each named once, in the place of what they took before; of all the newest `MOST_SCHEMAS`. */
  schemaPut(params: { readonly schemas: readonly HandlerSchema[] }): Promise<void>;
  /** By name. */
  schemaList(): Promise<readonly HandlerSchema[]>;
}

export interface TaskCount {
  /** None names all; so do the next two. */
  readonly queues: readonly string[];
  readonly handlers: readonly string[];
  readonly states: readonly TaskState[];
  /** Created then or later, and before `until`: calendar time. */
  readonly from: number;
  readonly until: number;
  /** The length of a bucket; at least 1. */
  readonly stepMs: number;
  /** Only those that are older than this one. */
  readonly before?: number | undefined;
  readonly limit: number;
}

export interface TaskCounts {
  /** Of buckets and states that have some. The first bucket begins at `from`. */
  readonly counts: readonly { readonly bucket: number; readonly state: TaskState; readonly tasks: number }[];
  /** How many tasks were looked at: fewer than the limit means that there are no more. */
  readonly looked: number;
  /** The oldest of them; undefined: there are none. */
  readonly last: number | undefined;
}

export interface Failure {
  readonly task: number;
  readonly queue: string;
  readonly handler: string;
  readonly reason: Reason;
  readonly createdAt: number;
  readonly endedAt: number;
  /** JSON text, cut off after `MOST_ERROR` characters. */
  readonly error: string | undefined;
}

/** What names the error stands at its beginning; a stack behind it may have a megabyte. */
export const MOST_ERROR = 2000;

/** More handlers than anybody offers; what workers say must not grow for ever. */
export const MOST_SCHEMAS = 1000;

/**
 * Tasks come in the order of their ids, but for those of transactions that were under way together: a bound by the time of
 * creation is looked up in that order, and so much is added on both sides. A clock that was set back by more hides some.
 */
export const CREATION_SLACK_MS = 10_000;

export interface HandlerQueue {
  readonly handler: string;
  readonly queue: string;
}

export interface NewView {
  readonly name: string;
  readonly screen: string;
  readonly query: string;
  readonly by: string;
}

export interface ViewRecord extends NewView {
  /** Calendar time. */
  readonly savedAt: number;
}
