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
  #running: Promise<number> | undefined;
  #cancelTimer: (() => void) | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
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
    this.#plan(0);
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
    if (!this.#stopped && this.#options.world.clock.monotonic() + inMs < this.#dueAt) this.#plan(inMs);
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
    const { store, world, holder, ttlMs } = this.#options;
    const now = world.clock.monotonic();
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

  #plan(inMs: number): void {
    const { world } = this.#options;
    this.#cancelTimer?.();
    // Never further than the renewal, so that a duty with a long interval is not lost for lack of a renewal.
    const wait = Math.min(inMs, this.#term === undefined ? inMs : Math.max(0, this.#renewAt - world.clock.monotonic()));
    this.#dueAt = world.clock.monotonic() + wait;
    this.#cancelTimer = world.timers.after(wait, () => void this.#run(), { unref: true });
  }

  async #run(): Promise<void> {
    if (this.#stopped || this.#running !== undefined) return;
    this.#dueAt = Number.POSITIVE_INFINITY;
    let next = this.duty.intervalMs;
    this.#running = this.#pass().then((pass) => {
      next = pass.more ? 0 : Math.min(this.duty.intervalMs, Math.max(1, pass.nextInMs ?? this.duty.intervalMs));
      return pass.did;
    });
    try {
      await this.#running;
    } catch (error) {
      this.#options.log.warn('a duty failed and will try again', { duty: this.duty.name, error: String(error) });
    } finally {
      this.#running = undefined;
    }
    if (!this.#stopped) this.#plan(Math.min(next, Math.max(0, this.#dueAt - this.#options.world.clock.monotonic())));
  }
}
