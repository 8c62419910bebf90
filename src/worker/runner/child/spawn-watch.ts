import childProcess from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Knows whether a run may have left processes behind. Most runs start none, and then the process table need not be read
 * (2 ms with 76 processes). It must be created before any module of a user is loaded.
 */
export class SpawnWatch {
  #spawned = false;
  /** A thread has functions of its own, which cannot be watched from here: after one has started, every run may have spawned. */
  #threads = false;

  constructor() {
    subscribe('child_process', () => this.#note());
    subscribe('worker_threads', () => {
      this.#threads = true;
    });
    // The synchronous functions publish nothing, and `sh -c "daemon &"` leaves a process behind all the same.
    const { spawnSync, execSync, execFileSync } = childProcess;
    Object.assign(childProcess, {
      spawnSync: this.#noting(spawnSync),
      execSync: this.#noting(execSync),
      execFileSync: this.#noting(execFileSync),
    });
    syncBuiltinESMExports();
  }

  /** Whether a process may have been started since the last call. */
  take(): boolean {
    const spawned = this.#spawned || this.#threads;
    this.#spawned = false;
    return spawned;
  }

  #note(): void {
    this.#spawned = true;
  }

  #noting<A extends unknown[], R>(original: (...args: A) => R): (...args: A) => R {
    return (...args) => {
      this.#note();
      return original(...args);
    };
  }
}
