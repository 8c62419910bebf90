import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ExecutionLock } from './backends.ts';
import { checkExecutionId } from './keys.ts';

/** Everybody gets it: for runs of which the caller knows that nobody else runs them. */
export class NoOpLock implements ExecutionLock {
  async acquire(): Promise<boolean> {
    return true;
  }

  async release(): Promise<void> {}
}

/** Among those that share this object. */
export class MemoryLock implements ExecutionLock {
  readonly #held = new Set<string>();

  async acquire(key: string): Promise<boolean> {
    return this.#held.size !== this.#held.add(key).size;
  }

  async release(key: string): Promise<void> {
    this.#held.delete(key);
  }
}

/**
 * Among the processes of one host. The lock is one of the system on a file, which ends with its process however that ends: no file that was left
 * behind keeps a run from being resumed. Node reaches such locks by way of SQLite only; the file itself stays empty.
 */
export class FileLock implements ExecutionLock {
  readonly #folder: string;
  readonly #held = new Map<string, DatabaseSync>();

  constructor(folder: string) {
    this.#folder = resolve(folder);
  }

  async acquire(key: string): Promise<boolean> {
    checkExecutionId(key);
    if (this.#held.has(key)) return false;
    mkdirSync(this.#folder, { recursive: true });
    const file = new DatabaseSync(join(this.#folder, `${key}.lock`), { timeout: 0 });
    try {
      file.exec('BEGIN EXCLUSIVE');
    } catch (error) {
      file.close();
      if ((error as { readonly errcode?: number }).errcode === SQLITE_BUSY) return false;
      throw error;
    }
    this.#held.set(key, file);
    return true;
  }

  async release(key: string): Promise<void> {
    this.#held.get(key)?.close();
    this.#held.delete(key);
  }
}

const SQLITE_BUSY = 5;
