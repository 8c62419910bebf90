/**
 * One process at a time: a lock of the operating system on a file, which it gives back by itself when its holder dies. SQLite takes the same kind of
 * lock on every system, and also keeps two holders of one process apart.
 */
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fault } from '../../core/errors.ts';
import { pause } from '../../core/pause.ts';
import type { Timers } from '../../core/world.ts';

const LOOK_MS = 50;

export interface LockOptions {
  readonly timers: Timers;
  readonly signal?: AbortSignal | undefined;
}

export async function withLock<T>(file: string, { timers, signal }: LockOptions, work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    while (!taken(lock)) {
      signal?.throwIfAborted();
      await pause(timers, LOOK_MS, { signal });
    }
    return await work();
  } finally {
    lock.close();
  }
}

/** Undefined: somebody else has it. */
export async function tryLock(file: string): Promise<(() => void) | undefined> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const lock = new DatabaseSync(file, { timeout: 0 });
  let held = false;
  try {
    held = taken(lock);
  } finally {
    if (!held) lock.close();
  }
  return held ? () => lock.close() : undefined;
}

function taken(lock: DatabaseSync): boolean {
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    const { errcode } = error as { readonly errcode?: number };
    // SQLITE_BUSY in its kinds.
    if (errcode !== undefined && (errcode & 0xff) === 5) return false;
    throw fault('WORKSPACE_FAILED', { problem: 'a folder of the workspaces cannot be locked' }, { cause: error });
  }
}
