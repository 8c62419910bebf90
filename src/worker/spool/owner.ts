import { readFileSync } from 'node:fs';

/** The owner of a spool folder: one start of one worker, for one node. */
export interface Owner {
  /** The address of the node. */
  readonly url: string;
  readonly name: string;
  readonly incarnation: string;
  readonly pid: number;
  /** The start time of the process as the system counts it: process ids are reused. */
  readonly born?: string | undefined;
}

export function ownerHere(who: Pick<Owner, 'url' | 'name' | 'incarnation'>): Owner {
  return { ...who, pid: process.pid, born: lookAt(process.pid)?.born };
}

/** A safe folder name for any incarnation. */
export function folderOf({ incarnation }: Pick<Owner, 'incarnation'>): string {
  return encodeURIComponent(incarnation).replaceAll('.', '%2E');
}

/** Whether that process lives, as far as it is visible from here. */
export function isAlive({ pid, born }: Owner): boolean {
  // An earlier process had our own pid, and has ended.
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  const seen = lookAt(pid);
  return seen === undefined || (!'ZX'.includes(seen.state) && (born === undefined || born === seen.born));
}

/** The start time of a process, as the system counts it; undefined: the system does not tell. */
export function bornOf(pid: number): string | undefined {
  return lookAt(pid)?.born;
}

/** Undefined where the system has no `/proc`. */
function lookAt(pid: number): { readonly state: string; readonly born: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program is in parentheses, and may contain anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] as string, born: fields[19] as string };
  } catch {
    return undefined;
  }
}
