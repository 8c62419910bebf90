import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

export interface Found {
  readonly pid: number;
  readonly command: string;
}

/** Living processes with this text in their arguments; those that have ended and wait for their parent do not count. */
export function processesNamed(token: string): readonly Found[] {
  return look((command) => command.includes(token));
}

/** The same, or in their environment. */
export function processesMarked(token: string): readonly Found[] {
  return look(
    (command, pid) => command.includes(token) || readFileSync(`/proc/${pid}/environ`, 'utf8').includes(token),
  );
}

function look(wanted: (command: string, pid: number) => boolean): readonly Found[] {
  const found: Found[] = [];
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      if (wanted(command, pid) && isAlive(pid)) found.push({ pid, command });
    } catch {
      // It ended while it was looked at, or is another user's.
    }
  }
  return found;
}

export function isAlive(pid: number): boolean {
  return !'ZX'.includes(stateOf(pid));
}

/** Its letter: `T` when it is stopped, `Z` when it has ended and waits for its parent, `X` when it is gone. */
export function stateOf(pid: number): string {
  if (!existsSync(`/proc/${pid}/stat`)) return 'X';
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2)[0] ?? 'X';
}

/** Looks again and again until it is so; how long that took, or undefined when the time is over. */
export async function until(isSo: () => boolean | Promise<boolean>, withinMs: number): Promise<number | undefined> {
  const began = performance.now();
  for (;;) {
    if (await isSo()) return performance.now() - began;
    if (performance.now() - began > withinMs) return undefined;
    await pause(20);
  }
}

/** A command that ignores every polite signal, with the token in its arguments. */
export function stubborn(token: string): readonly string[] {
  return ['sh', '-c', "trap '' TERM HUP INT; while :; do sleep 0.2; done", token];
}

const WAYS_OUT = [
  ['setsid'],
  ['python3', '-c', 'import os, sys; os.setsid(); os.execvp(sys.argv[1], sys.argv[1:])'],
  ['perl', '-MPOSIX', '-e', 'POSIX::setsid(); exec @ARGV'],
];

/** What runs a command in a session of its own; undefined where there is nothing that can. */
export const wayOut: readonly string[] | undefined = WAYS_OUT.find(([file = '', ...args]) => {
  return spawnSync(file, [...args, 'true'], { stdio: 'ignore' }).status === 0;
});

export function quoted(command: readonly string[]): string {
  return command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
}
