import { setTimeout as delay } from 'node:timers/promises';
import { environmentOf, hasCommandLine, isEnding, type ProcessRow, processTable, rowOf } from './process-table.ts';

/** Every process of a worker has this in its environment, with the incarnation. */
export const WORKER_MARK = 'LEASEHOLD_WORKER';
/** Every process that a task starts has this as well, with task and attempt. */
export const LEASE_MARK = 'LEASEHOLD_LEASE';

/** Which processes a sweep ends. */
export interface SweepTarget {
  readonly incarnation: string;
  /** `task/attempt`. `all`: every process of the worker. `none`: only those that the other fields name. */
  readonly lease: string;
  /** The child process. All processes of its session and all its descendants are ended, with or without a mark. */
  readonly leader: number | undefined;
  /** The leader is spared, and so are the processes that its modules started when they were loaded. */
  readonly spareLeader: boolean;
  readonly groups: ReadonlySet<number>;
  /** Descendants that were seen before their parents ended. */
  readonly family: readonly ProcessRow[];
}

export interface Swept {
  /** Processes that the sweep ended and no signal to a group had reached. */
  readonly ended: number;
  /** Processes that could not be ended: another user's, or stuck in the kernel. */
  readonly left: number;
}

const ROUND_MS = 5;
const GIVE_UP_MS = 2_000;
/** A process that shows a command line and no environment so many times in a row has none. */
const BARE_LOOKS = 10;

/**
 * Ends, by SIGKILL, the processes of a task that a signal to its groups does not reach, because they called `setsid` or moved to
 * groups of their own. Repeats until none is found: one of them may have been about to fork.
 */
export async function sweep(target: SweepTarget): Promise<Swept> {
  const deadline = performance.now() + GIVE_UP_MS;
  const strays = new Set<string>();
  for (;;) {
    const found = await survivors(target);
    if (found.length === 0) return { ended: strays.size, left: 0 };
    if (performance.now() > deadline) return { ended: strays.size, left: found.length };
    for (const row of found) {
      if (!target.groups.has(row.group) || target.spareLeader) strays.add(identity(row));
      signal(row.pid, 'SIGKILL');
    }
    await delay(ROUND_MS);
  }
}

/** The processes that still live. Descendants are found by their parents too, because one may have cleared its environment. */
export async function survivors(target: SweepTarget): Promise<readonly ProcessRow[]> {
  const table = await processTable();
  const known = new Set(target.family.map(identity));
  const isKin = (row: ProcessRow): boolean =>
    target.groups.has(row.group) ||
    row.session === target.leader ||
    row.pid === target.leader ||
    known.has(identity(row));
  const found = new Set<ProcessRow>();
  const look = async (row: ProcessRow, kin: boolean): Promise<void> => {
    // Never init, and never the process that sweeps: in a child that cleans up after its task, that is the leader.
    if (found.has(row) || row.pid === process.pid || row.pid === 1) return;
    if (row.pid === target.leader && target.spareLeader) return;
    const mark = markOf(await settledEnvironmentOf(row), target);
    if (mark === 'ours' || (kin && !(mark === 'helper' && target.spareLeader))) found.add(row);
  };
  for (const row of table) await look(row, isKin(row));
  for (const row of table) if (row.parent === target.leader) await look(row, true);
  // A Set also visits the elements that are added while it is walked.
  for (const parent of found) for (const row of table) if (row.parent === parent.pid) await look(row, true);
  return [...found];
}

/** The descendants of a living process. */
export async function descendants(leader: number): Promise<readonly ProcessRow[]> {
  const table = await processTable();
  const family = new Set(table.filter((row) => row.parent === leader));
  for (const parent of family) for (const row of table) if (row.parent === parent.pid) family.add(row);
  return [...family];
}

/** "1 process that … was ended", "3 processes that … were ended" */
export function sayEnded(count: number, which: string): string {
  return count === 1 ? `1 process that ${which} was ended` : `${count} processes that ${which} were ended`;
}

function identity(row: ProcessRow): string {
  return `${row.pid}@${row.startedAt}`;
}

/** False: the process is gone, or another user's. Signal 0 only checks. A negative number is a group. */
export function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  if (!isGroup(Math.abs(pid))) return false;
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** A signal to group 0 reaches this process, and one to group 1 all processes. */
export function isGroup(pid: unknown): pid is number {
  return Number.isSafeInteger(pid) && (pid as number) > 1;
}

/** A process in `exec` shows no environment for a moment, on a starved host for long, and must not escape by that. */
async function settledEnvironmentOf({ pid, group }: ProcessRow): Promise<readonly string[] | undefined> {
  const deadline = performance.now() + GIVE_UP_MS;
  for (let bare = 0; ; ) {
    const environment = environmentOf(pid);
    const isShown = environment === undefined ? !isEnding(pid) : environment.length > 0;
    // Kernel threads are in no group.
    if (isShown || group === 0 || performance.now() > deadline) return environment;
    // Either it was started without an environment, or its `exec` ended between the two reads: that does not happen each time.
    if (environment !== undefined && hasCommandLine(pid)) bare++;
    else await delay(1);
    // An ending process shows nothing either.
    if (bare === BARE_LOOKS || rowOf(pid) === undefined) return environment;
  }
}

/** `helper`: a process of this worker that was started outside of any task. */
function markOf(environment: readonly string[] | undefined, target: SweepTarget): 'ours' | 'helper' | 'stranger' {
  if (environment === undefined || !environment.includes(`${WORKER_MARK}=${target.incarnation}`)) return 'stranger';
  if (target.lease === 'all' || environment.includes(`${LEASE_MARK}=${target.lease}`)) return 'ours';
  return environment.some((entry) => entry.startsWith(`${LEASE_MARK}=`)) ? 'stranger' : 'helper';
}
