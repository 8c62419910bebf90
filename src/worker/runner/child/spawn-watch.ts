import childProcess from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Knows whether a run may have left processes behind, so that the many that start none need no look at the process table
 * (2 ms with 76 processes). Must be made before any module of a user is loaded.
 */
export class SpawnWatch {
  #spawned = false;
  /** A thread has functions of its own, which are not seen from here: from then on every run is suspect. */
  #threads = false;

  constructor() {
    subscribe('child_process', () => this.#note());
    subscribe('worker_threads', () => {
      this.#threads = true;
    });
    // Those that wait for the command publish nothing, and `sh -c "daemon &"` leaves one behind all the same.
    const { spawnSync, execSync, execFileSync } = childProcess;
    Object.assign(childProcess, {
      spawnSync: this.#noting(spawnSync),
      execSync: this.#noting(execSync),
      execFileSync: this.#noting(execFileSync),
    });
    syncBuiltinESMExports();
  }

  /** Since it was last asked. */
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
