import { readFileSync } from 'node:fs';

/** Whose files they are: one start of one worker, for one node. */
export interface Owner {
  /** Of the node. */
  readonly url: string;
  readonly name: string;
  readonly incarnation: string;
  readonly pid: number;
  /** When the process began, as the system counts it: numbers of processes come again. */
  readonly born?: string | undefined;
}

export function ownerHere(who: Pick<Owner, 'url' | 'name' | 'incarnation'>): Owner {
  return { ...who, pid: process.pid, born: lookAt(process.pid)?.born };
}

/** What its folder is called, whatever it is made of. */
export function folderOf({ incarnation }: Pick<Owner, 'incarnation'>): string {
  return encodeURIComponent(incarnation).replaceAll('.', '%2E');
}

/** Whether that process lives, as far as can be seen from here. */
export function isAlive({ pid, born }: Owner): boolean {
  // Another start under our own number has ended, or we would not have it.
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  const seen = lookAt(pid);
  return seen === undefined || (!'ZX'.includes(seen.state) && (born === undefined || born === seen.born));
}

/** Undefined where the system has no `/proc`. */
function lookAt(pid: number): { readonly state: string; readonly born: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program stands in brackets and may hold anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] as string, born: fields[19] as string };
  } catch {
    return undefined;
  }
}
