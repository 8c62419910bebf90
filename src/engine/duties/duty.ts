import { isEngineError } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import type { Store, Tenure } from '../../store/store.ts';
import type { Log } from '../log.ts';

/** A named housekeeping job. What it does must be safe to do twice; the epoch keeps a deposed holder's writes out. */
export interface Duty {
  readonly name: string;
  /** The net: how long at most until the next pass. */
  readonly intervalMs: number;
  /** Called once at the beginning of each term. */
  readonly begin?: (term: Tenure) => void;
  readonly tick: (term: Tenure) => Promise<Pass>;
}

export interface Pass {
  /** How much was done, for the figures. */
  readonly did: number;
  /** There is more to do: go again at once. */
  readonly more?: boolean;
  /** When the next thing is due, if that is known. */
  readonly nextInMs?: number | undefined;
}

export interface KeeperOptions {
  readonly store: Pick<Store, 'dutyTake' | 'dutyRenew' | 'dutyRelease'>;
  readonly world: World;
  readonly log: Log;
  /** Names this process. */
  readonly holder: string;
  /** The term of a duty; it is renewed after a third of it. */
  readonly ttlMs: number;
}

/** After a fault of the world. */
const RETRY_MS = 1000;

/**
 * Holds one duty for this process and runs it.
 *
 *   idle ──dutyTake──> holding ──renew at ttl/3──> holding ──refused or DUTY_LOST──> idle
 *
 * A keeper trusts its own clock only to stop earlier: it renews before it works once a third of the term is gone, counted
 * from before the request was sent. A crash leaves the row to expire; a stop gives it back. An error of the world is logged
 * and tried again with the next interval; nothing here ever ends the process.
 */
export class Keeper {
  readonly duty: Duty;
  readonly #options: KeeperOptions;
  #term: Tenure | undefined;
  #renewAt = 0;
  #running: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #workAt = 0;
  #stopped = true;
  /** How much the duty has done in this process. */
  done = 0;

  constructor(duty: Duty, options: KeeperOptions) {
    this.duty = duty;
    this.#options = options;
  }

  get holding(): boolean {
    return this.#term !== undefined;
  }

  start(): void {
    this.#stopped = false;
    this.#plan();
  }

  /** Ends in order: waits for the pass under way and gives the duty back, so that another process need not wait. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#running?.catch(() => undefined);
    const term = this.#term;
    this.#term = undefined;
    if (term === undefined) return;
    await this.#options.store.dutyRelease({ duty: term }).catch((error: unknown) => {
      this.#options.log.warn('a duty could not be given back; it will expire', {
        duty: this.duty.name,
        error: String(error),
      });
    });
  }

  /** Something will be due then: do not sleep longer. */
  nudge(inMs: number): void {
    if (this.#stopped || this.#now() + inMs >= this.#workAt) return;
    this.#workAt = this.#now() + inMs;
    this.#plan();
  }

  /** One pass: take or renew the duty, then do its work. Returns how much was done. */
  async tick(): Promise<number> {
    return (await this.#pass()).did;
  }

  async #pass(): Promise<Pass> {
    const term = await this.#hold();
    if (term === undefined) return { did: 0 };
    try {
      const pass = await this.duty.tick(term);
      this.done += pass.did;
      return pass;
    } catch (error) {
      if (!isEngineError(error, 'DUTY_LOST')) throw error;
      this.#term = undefined;
      return { did: 0 };
    }
  }

  async #hold(): Promise<Tenure | undefined> {
    const { store, holder, ttlMs } = this.#options;
    const now = this.#now();
    if (this.#term !== undefined && now >= this.#renewAt) {
      const held = await store.dutyRenew({ duty: this.#term, ttlMs });
      this.#renewAt = now + ttlMs / 3;
      if (!held) this.#term = undefined;
    }
    if (this.#term === undefined) {
      this.#term = await store.dutyTake({ name: this.duty.name, holder, ttlMs });
      this.#renewAt = now + ttlMs / 3;
      if (this.#term !== undefined) this.duty.begin?.(this.#term);
    }
    return this.#term;
  }

  /** Sleeps until there is work or, before that, until the term wants renewing or the duty may have become free. */
  #plan(): void {
    this.#cancelTimer?.();
    const wait = Math.max(0, Math.min(this.#workAt, this.#renewAt) - this.#now());
    this.#cancelTimer = this.#options.world.timers.after(wait, () => void this.#run(), { unref: true });
  }

  async #run(): Promise<void> {
    if (this.#stopped || this.#running !== undefined) return;
    this.#running = this.#turn();
    try {
      await this.#running;
    } catch (error) {
      this.#workAt = this.#renewAt = this.#now() + Math.min(this.duty.intervalMs, RETRY_MS);
      this.#options.log.warn('a duty failed and will try again', { duty: this.duty.name, error: String(error) });
    } finally {
      this.#running = undefined;
    }
    if (!this.#stopped) this.#plan();
  }

  async #turn(): Promise<void> {
    if (this.#now() < this.#workAt) {
      const before = this.#term;
      const term = await this.#hold();
      // A new term begins with work; the old one was only renewed.
      if (term !== undefined && term !== before) this.#workAt = this.#now();
      return;
    }
    this.#workAt = Number.POSITIVE_INFINITY;
    const { more, nextInMs = this.duty.intervalMs } = await this.#pass();
    const wait = more ? 0 : Math.min(this.duty.intervalMs, Math.max(1, nextInMs));
    // A nudge that came meanwhile may want it earlier.
    this.#workAt = Math.min(this.#workAt, this.#now() + wait);
  }

  #now(): number {
    return this.#options.world.clock.monotonic();
  }
}
