import { setTimeout as pause } from 'node:timers/promises';
import type { Eye } from './ground.ts';
import { slotFaults } from './look-schedule.ts';

const LOOK_MS = 40;

/** Looks at the counters of limits from outside for as long as a run takes: they are what runs, and never too much. */
export class SlotWatch {
  readonly faults: string[] = [];
  looks = 0;
  /** Looks at which a limit had no room left. */
  full = 0;
  readonly #eye: Eye;
  readonly #over = new AbortController();
  readonly #watching: Promise<void>;

  constructor(eye: Eye) {
    this.#eye = eye;
    this.#watching = this.#watch();
    // Told by `stop`.
    this.#watching.catch(() => {});
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.#watching;
  }

  async #watch(): Promise<void> {
    while (!this.#over.signal.aborted) {
      const slots = await this.#eye.look();
      this.looks++;
      if (slots.some(({ cap, active }) => active > 0 && active === cap)) this.full++;
      this.faults.push(...slotFaults(slots));
      await pause(LOOK_MS);
    }
    await this.#eye.close();
  }
}
