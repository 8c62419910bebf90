import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** One living process, as Linux shows it. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** In clock ticks since boot; together with the pid it identifies a process for good. */
  readonly startedAt: string;
}

/** Other systems have no such files; there only process groups are known. */
export const HAS_PROCESS_TABLE: boolean = canRead('/proc/self/stat');

/** Processes read in one turn of the loop: each takes 10 to 30 µs, and a large host has thousands. */
const PER_TURN = 64;

/** All living processes, without zombies. */
export async function processTable(): Promise<readonly ProcessRow[]> {
  const rows: ProcessRow[] = [];
  let count = 0;
  for (const name of HAS_PROCESS_TABLE ? readdirSync('/proc') : []) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const row = rowOf(pid);
    if (row !== undefined) rows.push(row);
    count++;
    if (count % PER_TURN === 0) await nextTurn();
  }
  return rows;
}

export function rowOf(pid: number): ProcessRow | undefined {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The name of the program is in parentheses, and may itself contain parentheses and spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, parent, group, session] = fields;
  if (state === 'Z' || state === 'X') return undefined;
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    startedAt: fields[19] ?? '',
  };
}

/** The `NAME=value` entries that the process was started with; undefined where they may not be read. */
export function environmentOf(pid: number): readonly string[] | undefined {
  const text = read(`/proc/${pid}/environ`);
  return text === '' ? [] : text?.split('\0');
}

/** The process has freed its memory, and will be gone in a moment. */
export function isEnding(pid: number): boolean {
  try {
    readFileSync(`/proc/${pid}/environ`);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH' && rowOf(pid) !== undefined;
  }
}

export function hasCommandLine(pid: number): boolean {
  return read(`/proc/${pid}/cmdline`) !== '';
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return undefined;
  }
}

function canRead(file: string): boolean {
  return read(file) !== undefined;
}
