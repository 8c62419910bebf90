import type { World } from '../../core/world.ts';
import type { DutyRecord, Store } from '../../store/store.ts';
import type { Log } from '../log.ts';
import { unfailing } from '../unfailing-log.ts';

export interface DutyWatchdogOptions {
  readonly store: Pick<Store, 'dutyList'>;
  readonly world: World;
  readonly log: Log;
  /** Duties that should be held. */
  readonly names: readonly string[];
  /** How long a duty is without a holder at most when all goes well: the term of a leader. */
  readonly termMs: number;
}

const LOOK_MS = 1000;
/** Added to the term before it warns. */
const PATIENCE_MS = 2000;

/** Reports a duty that nobody has held for longer than a takeover takes. It only watches. */
export class DutyWatchdog {
  readonly #options: DutyWatchdogOptions;
  readonly #log: Log;
  /** Duty → when this process first saw it free, by its own clock. */
  readonly #seenFree = new Map<string, number>();
  #unheld = new Map<string, number>();
  readonly #alarmed = new Set<string>();
  #cancel = (): void => {};
  #stopped = true;

  constructor(options: DutyWatchdogOptions) {
    this.#options = options;
    this.#log = unfailing(options.log);
  }

  /** Duty → for how many milliseconds nobody has held it, as far as this process knows; 0: it is held. */
  get unheld(): ReadonlyMap<string, number> {
    return this.#unheld;
  }

  start(): void {
    this.#stopped = false;
    this.#plan();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  async look(): Promise<void> {
    const { now, duties } = await this.#options.store.dutyList();
    const rows = new Map(duties.map((duty) => [duty.name, duty]));
    const { names } = this.#options;
    this.#unheld = new Map(names.map((name) => [name, this.#unheldMs(name, rows.get(name), now)]));
    for (const [name, ms] of this.#unheld) this.#report(name, ms, rows.get(name));
  }

  #unheldMs(name: string, row: DutyRecord | undefined, now: number): number {
    if (row !== undefined && row.until >= now) {
      this.#seenFree.delete(name);
      return 0;
    }
    const localNow = this.#options.world.clock.monotonic();
    const since = this.#seenFree.get(name) ?? localNow;
    this.#seenFree.set(name, since);
    // A duty that was given back or never held has no time in its row.
    return row === undefined || row.until === 0 ? localNow - since : now - row.until;
  }

  #report(name: string, ms: number, row: DutyRecord | undefined): void {
    if (ms > this.#options.termMs + PATIENCE_MS && !this.#alarmed.has(name)) {
      this.#alarmed.add(name);
      this.#log.warn('a duty is held by nobody', {
        duty: name,
        seconds: Math.round(ms / 1000),
        last: row?.holder ?? 'nobody ever',
      });
    }
    if (ms === 0 && this.#alarmed.delete(name)) this.#log.info('a duty is held again', { duty: name, by: row?.holder });
  }

  #plan(): void {
    this.#cancel = this.#options.world.timers.after(
      LOOK_MS,
      () => {
        // Other parts report that the store cannot be read. Here only the next look matters.
        void this.look()
          .catch(() => undefined)
          .then(() => this.#stopped || this.#plan());
      },
      { unref: true },
    );
  }
}
