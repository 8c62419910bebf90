type GroupReport = (pid: number, gone: boolean) => void;

const listeners = new Set<GroupReport>();

/**
 * For handlers that start commands in process groups of their own (`detached: true`). In a child process the worker ends the group with the
 * task. Wherever they run, a guard ends it when the worker itself is killed.
 */
export function reportGroup(pid: number): void {
  for (const tell of listeners) tell(pid, false);
}

/** The group is empty; the system may soon give its number to another one. */
export function reportGroupGone(pid: number): void {
  for (const tell of listeners) tell(pid, true);
}

/** What it gives ends it. */
export function onGroupReport(to: GroupReport): () => void {
  listeners.add(to);
  return () => void listeners.delete(to);
}
