/** A command run to its end, with what it cost: wall time, and CPU of all processes that it started and that were waited for. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

export interface Spent {
  readonly wallS: number;
  readonly cpuS: number;
}

export interface Outcome extends Spent {
  /** 0, another exit status, or why there is none. */
  readonly status: number | string;
  readonly output: string;
}

export interface MeasuredOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** After this it is ended, with its process group. */
  readonly atMostMs: number;
  /** Asked every second: whether it will not end by itself. */
  readonly isStuck?: () => boolean;
}

/** The shell waits for the command and then says what it and everything below it has used. */
const SCRIPT = '"$@"; status=$?; times >&3; exit $status';
const LOOK_MS = 1000;
const groups = new Set<number>();

export function runMeasured(
  command: readonly string[],
  { cwd, env, atMostMs, isStuck = () => false }: MeasuredOptions,
): Promise<Outcome> {
  const startedAt = performance.now();
  const child = spawn('sh', ['-c', SCRIPT, 'sh', ...command], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const { pid } = child;
  if (pid !== undefined) groups.add(pid);
  let output = '';
  let times = '';
  let late: string | undefined;
  const keep = (text: string): void => void (output += text);
  child.stdout?.setEncoding('utf8').on('data', keep);
  child.stderr?.setEncoding('utf8').on('data', keep);
  child.stdio[3]?.on('data', (text: Buffer) => void (times += String(text)));
  const look = setInterval(() => {
    if (performance.now() - startedAt > atMostMs) late = `nothing after ${atMostMs / 1000} s`;
    else if (isStuck()) late = 'no end after its last test';
    if (late !== undefined) endGroup(pid);
  }, LOOK_MS);
  return new Promise((resolve) => {
    const end = (status: number | string): void => {
      clearInterval(look);
      if (pid !== undefined) groups.delete(pid);
      const wallS = (performance.now() - startedAt) / 1000;
      resolve({ status: late ?? status, output, wallS, cpuS: cpuOf(times) });
    };
    child.once('error', (error) => end(error.message));
    child.once('close', (code, signal) => end(code ?? signal ?? 'nothing'));
  });
}

/** Ends what is still running, when the tier itself is ended. */
export function endAll(): void {
  for (const pid of groups) endGroup(pid);
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}

/** Of the second line of `times`, that of the children: `0m12.340000s 0m1.020000s`. */
function cpuOf(times: string): number {
  const found = (times.split('\n')[1] ?? '').matchAll(/(\d+)m([\d.]+)s/g);
  return [...found].reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds), 0);
}

const TICKS_A_SECOND = 100;

/** CPU of this process and of all that it has waited for, a Postgres with its sessions included; undefined where there is no /proc. */
export function cpuOfTree(): number | undefined {
  if (!existsSync('/proc/self/stat')) return undefined;
  // After the name, which stands in brackets, utime is the twelfth, then stime, cutime and cstime.
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_A_SECOND;
}
