type GroupReport = (pid: number, gone: boolean) => void;

let tell: GroupReport | undefined;

/**
 * For handlers that start commands in process groups of their own (`detached: true`). The worker ends the group with the
 * task, and the guard ends it when the worker itself is killed. Does nothing where handlers run inline.
 */
export function reportGroup(pid: number): void {
  tell?.(pid, false);
}

/** The group is empty; the system may soon give its number to another one. */
export function reportGroupGone(pid: number): void {
  tell?.(pid, true);
}

/** Called once by the program of the child process. */
export function onGroupReport(to: GroupReport): void {
  tell = to;
}
