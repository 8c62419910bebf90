import type { Reason, TaskState } from '../../core/task/task.ts';

/**
 * The part of the port for trees. A task that another one spawned has a `parent` and the `root` of the tree. A pushed
 * task is its own root, and has neither.
 */
export interface TreeStore {
  /** The members of a tree without its root, ascending by number, above `after`. */
  treeList(params: {
    readonly root: number;
    readonly after: number;
    readonly limit: number;
  }): Promise<readonly TreeRecord[]>;
  /** How many members a tree has in each state, its root included. */
  treeCount(params: { readonly root: number }): Promise<Readonly<Record<TaskState, number>>>;
}

export interface TreeRecord {
  readonly task: number;
  readonly parent: number;
  readonly createdAt: number;
  readonly queue: string;
  readonly handler: string;
  readonly state: TaskState;
  readonly reason: Reason;
  readonly attempt: number;
  readonly cancelRequestedAt: number | undefined;
}
