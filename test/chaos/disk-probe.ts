import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const EVERY_MS = 20;

/** How long the disk itself takes, seen beside whatever else goes on: what it stands still for is nobody's fault here. */
export class DiskProbe {
  #longestMs = 0;
  #stopped = false;
  readonly #over: Promise<void>;

  constructor(folder: string) {
    this.#over = this.#look(join(folder, 'probe'));
  }

  /** The longest that one small write took to be durable, in milliseconds. */
  async stop(): Promise<number> {
    this.#stopped = true;
    await this.#over;
    return this.#longestMs;
  }

  async #look(path: string): Promise<void> {
    await using file = await open(path, 'w');
    while (!this.#stopped) {
      const from = performance.now();
      await file.write('x', 0);
      await file.datasync();
      this.#longestMs = Math.max(this.#longestMs, performance.now() - from);
      await pause(EVERY_MS);
    }
  }
}
