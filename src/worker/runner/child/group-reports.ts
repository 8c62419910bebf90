type GroupReport = (pid: number, gone: boolean) => void;

let tell: GroupReport | undefined;

/**
 * For handlers that start commands in process groups of their own (`detached: true`): says so to the worker, which ends the
 * group with the task, and to the guard, which ends it when the worker itself is killed. Does nothing in a worker that
 * runs its handlers inline.
 */
export function reportGroup(pid: number): void {
  tell?.(pid, false);
}

/** Nobody is left in the group; its number may soon be that of a stranger. */
export function reportGroupGone(pid: number): void {
  tell?.(pid, true);
}

/** For the runtime of a child process. */
export function onGroupReport(to: GroupReport): void {
  tell = to;
}
