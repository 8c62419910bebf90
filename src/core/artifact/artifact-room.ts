/** Of one task, those that are under way included. */
export const MAX_TASK_ARTIFACTS = 10_000;

/** No bytes are taken for an artifact that was begun longer ago: whoever takes them, or signs for it, ends it by then. */
export const MAX_UPLOAD_MS = 24 * 3_600_000;

export interface RoomTaken {
  readonly entries: number;
  readonly bytes: number;
}

export interface Quotas {
  /** In bytes; undefined: no bound. */
  readonly taskQuota?: number | undefined;
  readonly quota?: number | undefined;
  /** How many artifacts a task may have, in place of the bound that holds for all. */
  readonly taskEntries?: number | undefined;
}

/** What there is no room for: bytes of the task, bytes of all, or another artifact of the task. */
export interface Full {
  readonly of: 'task' | 'all' | 'entries';
  readonly used: number;
  readonly quota: number;
}

/** Why one more of this size does not fit; undefined: it does. */
export function fullFor(
  size: number,
  taken: { readonly task: RoomTaken; readonly all: RoomTaken },
  { taskQuota, quota, taskEntries = MAX_TASK_ARTIFACTS }: Quotas,
): Full | undefined {
  const { task, all } = taken;
  if (task.entries >= taskEntries) return { of: 'entries', used: task.entries, quota: taskEntries };
  if (taskQuota !== undefined && task.bytes + size > taskQuota) {
    return { of: 'task', used: task.bytes, quota: taskQuota };
  }
  if (quota !== undefined && all.bytes + size > quota) return { of: 'all', used: all.bytes, quota };
  return undefined;
}
