import { randomUUID } from 'node:crypto';

type GroupReport = (pid: number, gone: boolean) => void;
/** A group is about to be there, and its number is not known yet. Over: it is known, or nothing was started. */
type StartReport = (start: string, over: boolean) => void;

const listeners = new Set<GroupReport>();
let onStart: StartReport | undefined;

/** What is about to start has this in its environment, so that it is found when its worker is killed before it knows the number of the group. */
export const START_MARK = 'LEASEHOLD_START';

/**
 * For handlers that start commands in process groups of their own (`detached: true`), with the environment that `start` is given. In a child process the
 * worker ends the group with the task. Wherever they run, a guard ends it when the worker itself is killed.
 */
export function startGroup<T extends { readonly pid?: number | undefined }>(
  env: NodeJS.ProcessEnv,
  start: (env: NodeJS.ProcessEnv) => T,
): T {
  const mark = randomUUID();
  onStart?.(mark, false);
  try {
    const child = start(onStart === undefined ? env : { ...env, [START_MARK]: mark });
    if (child.pid !== undefined) reportGroup(child.pid);
    return child;
  } finally {
    onStart?.(mark, true);
  }
}

/** The group is there. */
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

/** For the process as a whole, which has one guard. */
export function onGroupStart(to: StartReport): void {
  onStart = to;
}
