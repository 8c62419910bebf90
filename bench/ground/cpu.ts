/** CPU time of a process and everything it forked, from /proc. */
import { readFileSync } from 'node:fs';

/** USER_HZ is 100 on every Linux that Node runs on. */
const TICK_MICROS = 10_000;

interface Times {
  /** Of the process itself. */
  readonly own: number;
  /** Of its children that have ended: the kernel adds them up here, so that none is lost. */
  readonly ended: number;
}

/** µs of user and system time: the process, its children that ended, its children that live. */
export function treeMicros(pid: number): number {
  const { own, ended } = times(pid);
  const living = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
  const children = living.reduce((sum, child) => sum + childTicks(Number(child)), 0);
  return (own + ended + children) * TICK_MICROS;
}

/** 0 for one that ended between the two looks. */
function childTicks(pid: number): number {
  try {
    return times(pid).own;
  } catch {
    return 0;
  }
}

function times(pid: number): Times {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name, in brackets, may contain anything; utime is the 12th field after it.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [utime = 0, stime = 0, cutime = 0, cstime = 0] = fields.slice(11, 15);
  return { own: utime + stime, ended: cutime + cstime };
}
