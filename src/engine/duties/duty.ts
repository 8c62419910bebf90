import { isEngineError } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import type { DutyTenure, Store } from '../../store/store.ts';
import type { Log } from '../log.ts';
import { unfailing } from '../unfailing-log.ts';

/** A named housekeeping job. What it does must be safe to do twice; the epoch keeps a deposed holder's writes out. */
export interface Duty {
  readonly name: string;
  /** The net: how long at most until the next pass. */
  readonly intervalMs: number;
  /** Called once at the beginning of each term. */
  readonly begin?: (term: DutyTenure) => void;
  /** `since`: when this pass was begun for the first time, before its term was renewed; it may have failed since. */
  readonly tick: (term: DutyTenure, since: number) => Promise<Pass>;
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
  /** Whether the duty is left to others for now: it is not tried for then, and one that is held is given back. */
  readonly yields?: (() => Promise<boolean>) | undefined;
}

/** After a fault of the world. */
const RETRY_MS = 1000;
/** A renewal that took longer than this has met an outage. */
const SLOW_MS = 500;
/** Of one pass, at a third of the term each: a pass of more than ten terms has hung. */
const MAX_RENEWALS = 30;

/**
 * Holds one duty for this process and runs it.
 *
 *   idle ──dutyTake──> holding ──renew at ttl/3──> holding ──refused or DUTY_LOST──> idle
 *
 * A keeper trusts its own clock only to stop earlier: it renews before it works, and while it works, once a third of the
 * term is gone, counted from before the request was sent. A crash leaves the row to expire; a stop gives it back. An error
 * of the world is logged and tried again with the next interval; nothing here ever ends the process, nor does its log.
 *
 * Who yields to others asks before it takes or renews, and gives back what it has.
 *
 * Whatever takes, uses or gives back the term goes in turn, one after another: of two passes at once the second would be
 * refused the duty that the first has just taken, and believe that it was lost.
 */
export class Keeper {
  readonly duty: Duty;
  readonly #options: KeeperOptions;
  readonly #log: Log;
  #term: DutyTenure | undefined;
  #renewAt = 0;
  /** Settles, and never rejects, when the turn that was asked for last is over. */
  #lastTurn: Promise<unknown> = Promise.resolve();
  #cancelTimer: (() => void) | undefined;
  #workAt = 0;
  /** Monotonic time since which the store has kept a pass from its end. */
  #since: number | undefined;
  #stopped = true;
  /** How much the duty has done in this process. */
  done = 0;

  constructor(duty: Duty, options: KeeperOptions) {
    this.duty = duty;
    this.#options = options;
    this.#log = unfailing(options.log);
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
    await this.#inTurn(() => this.#giveBack());
  }

  /**
   * Something will be due then: do not sleep longer. This concerns the holder only. Whoever takes the duty later begins
   * with work, and finds it; until then a nudge would cost a write for each push.
   */
  nudge(inMs: number): void {
    if (this.#stopped || this.#term === undefined || this.#now() + inMs >= this.#workAt) return;
    this.#workAt = this.#now() + inMs;
    this.#plan();
  }

  /**
   * One pass: take or renew the duty, then do its work. Returns how much was done. It follows a pass that is under way and
   * does not join it, since that one may have looked before the caller wrote what is to be found.
   */
  async tick(): Promise<number> {
    return (await this.#inTurn(() => this.#pass())).did;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(work);
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }

  async #giveBack(): Promise<void> {
    const term = this.#term;
    this.#term = undefined;
    if (term === undefined) return;
    await this.#options.store.dutyRelease({ duty: term }).catch((error: unknown) => {
      this.#warn('a duty could not be given back; it will expire', error);
    });
  }

  async #pass(): Promise<Pass> {
    const since = (this.#since ??= this.#now());
    const term = await this.#hold();
    this.#since = term && since;
    if (term === undefined) return { did: 0 };
    const endRenewals = this.#renewMeanwhile(term);
    try {
      const pass = await this.duty.tick(term, since);
      this.#since = undefined;
      this.done += pass.did;
      return pass;
    } catch (error) {
      if (!isEngineError(error, 'DUTY_LOST')) throw error;
      this.#since = undefined;
      this.#term = undefined;
      return { did: 0 };
    } finally {
      await endRenewals();
    }
  }

  async #hold(): Promise<DutyTenure | undefined> {
    const { store, holder, ttlMs, yields } = this.#options;
    if (this.#term !== undefined && this.#now() < this.#renewAt) return this.#term;
    if (await yields?.()) {
      this.#renewAt = this.#now() + ttlMs / 3;
      await this.#giveBack();
      return undefined;
    }
    if (this.#term !== undefined) await this.#renew(this.#term);
    if (this.#term === undefined) {
      const asked = this.#now();
      this.#term = await store.dutyTake({ name: this.duty.name, holder, ttlMs });
      this.#renewAt = this.#renewalAfter(asked);
      if (this.#term !== undefined) this.duty.begin?.(this.#term);
    }
    return this.#term;
  }

  async #renew(term: DutyTenure): Promise<void> {
    const { store, ttlMs } = this.#options;
    const asked = this.#now();
    const held = await store.dutyRenew({ duty: term, ttlMs });
    this.#renewAt = this.#renewalAfter(asked);
    if (!held) this.#term = undefined;
  }

  /** After a third of the term at most, and when the other duties of this process do: one commit serves them all. */
  #renewalAfter(asked: number): number {
    // Whole milliseconds, so that a time on the grid is not taken for one just before it.
    const third = Math.max(1, Math.floor(this.#options.ttlMs / 3));
    return Math.floor((asked + third) / third) * third;
  }

  /**
   * A pass may outlast its term: a recount of a large store does. Were the term not renewed meanwhile, two processes could
   * depose each other for ever, each with a recount that comes to nothing. Not without end, though: a pass that hangs in a
   * call that is never answered must not keep the duty from the others. Returns what ends the renewals.
   */
  #renewMeanwhile(term: DutyTenure): () => Promise<void> {
    let cancel = (): void => {};
    let renewal = Promise.resolve();
    let left = MAX_RENEWALS;
    const plan = (): void => {
      if (this.#term === term && left-- > 0) cancel = this.#after(this.#renewAt, renew);
    };
    const renew = (): void => {
      const failed = (error: unknown): void => {
        this.#renewAt = this.#now() + this.#retryMs();
        this.#warn('a duty could not be renewed and will try again', error);
      };
      renewal = this.#renew(term).catch(failed).then(plan);
    };
    plan();
    return async () => {
      // In this order: a renewal that is under way plans the next one.
      await renewal;
      cancel();
    };
  }

  /** Sleeps until there is work or, before that, until the term wants renewing or the duty may have become free. */
  #plan(): void {
    this.#cancelTimer?.();
    if (this.#stopped) return;
    this.#cancelTimer = this.#after(Math.min(this.#workAt, this.#renewAt), () => void this.#run());
  }

  async #run(): Promise<void> {
    try {
      await this.#inTurn(() => this.#turn());
    } catch (error) {
      this.#workAt = this.#renewAt = this.#now() + this.#retryMs();
      this.#warn('a duty failed and will try again', error);
    }
    this.#plan();
  }

  async #turn(): Promise<void> {
    if (this.#stopped) return;
    if (this.#now() < this.#workAt) {
      const before = this.#term;
      const since = (this.#since ??= this.#now());
      const term = await this.#hold();
      // A new term begins with work; the old one was only renewed. After an outage too: the duty must hear of it.
      const slow = before !== undefined && this.#now() - since > SLOW_MS;
      if (term !== undefined && (slow || term !== before)) this.#workAt = this.#now();
      else this.#since = undefined;
      return;
    }
    this.#workAt = Number.POSITIVE_INFINITY;
    const { more, nextInMs = this.duty.intervalMs } = await this.#pass();
    const wait = more ? 0 : Math.min(this.duty.intervalMs, Math.max(1, nextInMs));
    // A nudge that came meanwhile may want it earlier.
    this.#workAt = Math.min(this.#workAt, this.#now() + wait);
  }

  #after(at: number, fn: () => void): () => void {
    return this.#options.world.timers.after(Math.max(0, at - this.#now()), fn, { unref: true });
  }

  /** Well before the term is over, however short it is. */
  #retryMs(): number {
    return Math.min(this.duty.intervalMs, this.#options.ttlMs / 3, RETRY_MS);
  }

  #warn(message: string, error: unknown): void {
    this.#log.warn(message, { duty: this.duty.name, error: String(error) });
  }

  #now(): number {
    return this.#options.world.clock.monotonic();
  }
}
