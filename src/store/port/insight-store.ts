import type { HandlerSchema, ToldSchema } from '../../core/placement/worker.ts';
import type { Reason, TaskState } from '../../core/task/task.ts';

/** The part of the port for figures over many tasks, and for saved queries. */
export interface InsightStore {
  /**
   * Counts tasks by creation time and state, the newest first. It reads at most `limit` tasks, whether they match or
   * not, so that each call takes about as long. A caller that goes on below `last` counts every task once.
   */
  taskCount(params: TaskCount): Promise<TaskCounts>;
  /** Failed tasks below `before`, the newest first, with the beginning of their errors. */
  failureList(params: { readonly before?: number | undefined; readonly limit: number }): Promise<readonly Failure[]>;

  /**
   * The queues in which handlers have had tasks, as the newest lanes show, whether a task waits there or not. At most
   * `limit` lanes are read.
   */
  handlerQueues(params: { readonly limit: number }): Promise<readonly HandlerQueue[]>;

  /**
   * Saves a view under its name and replaces one of the same name. Undefined: the view would be a new one, and there
   * are `most` already.
   */
  viewPut(params: { readonly view: NewView; readonly most: number }): Promise<ViewRecord | undefined>;
  /** By name. */
  viewList(): Promise<readonly ViewRecord[]>;
  /** False: there was none of that name. */
  viewDrop(params: { readonly name: string }): Promise<boolean>;

  /**
   * Saves the input schemas that a worker of this name tells, each handler named once. Those of other names stay. The newest
   * `MOST_SCHEMAS_OF_ONE` of a name are kept, and the newest `MOST_SCHEMAS` of all: one name cannot crowd out the others.
   */
  schemaPut(params: { readonly worker: string; readonly schemas: readonly HandlerSchema[] }): Promise<void>;
  /** By handler, then by worker. */
  schemaList(): Promise<readonly ToldSchema[]>;
}

export interface TaskCount {
  /** Empty: all. The same holds for the next two. */
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
  /** Only buckets and states that have tasks. The first bucket begins at `from`. */
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

/** An error begins with its name; the stack behind it may be a megabyte. */
export const MOST_ERROR = 2000;

/** More handlers than any cluster has. What workers report must not grow for ever. */
export const MOST_SCHEMAS = 5000;
export const MOST_SCHEMAS_OF_ONE = 200;

/**
 * Ids grow with creation time, except for transactions that ran at the same time. A bound by creation time is looked up
 * by id, with this much slack on both sides. A clock that was set back by more hides some tasks.
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
