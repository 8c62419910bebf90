import { isEngineError } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import type { DutyTenure, Store } from '../../store/store.ts';
import type { Log } from '../log.ts';
import { unfailing } from '../unfailing-log.ts';

/** A named housekeeping job. Its work must be safe to do twice. The epoch refuses the writes of a former holder. */
export interface Duty {
  readonly name: string;
  /** The longest time until the next pass, also without a nudge. */
  readonly intervalMs: number;
  /** How long a process that has just started leaves its work, because its first tasks come first; default 0. */
  readonly restMs?: number;
  /** Called once at the beginning of each term. */
  readonly begin?: (term: DutyTenure) => void;
  /** `since`: when this pass first began, before its term was renewed. It may have failed since, and this is a repeat. */
  readonly tick: (term: DutyTenure, since: number) => Promise<PassResult>;
}

export interface PassResult {
  /** How much was done, for the metrics. */
  readonly did: number;
  /** There is more to do: run again at once. */
  readonly more?: boolean;
  /** When the next work is due, if that is known. */
  readonly nextInMs?: number | undefined;
}

export interface KeeperOptions {
  readonly store: Pick<Store, 'dutyTake' | 'dutyRenew' | 'dutyRelease'>;
  readonly world: World;
  readonly log: Log;
  /** The name of this process. */
  readonly holder: string;
  /** The term of a duty; it is renewed after a third of it. */
  readonly ttlMs: number;
  /** Whether the duty is left to others for now: then it is not taken, and a held one is given back. */
  readonly yields?: (() => Promise<boolean>) | undefined;
}

/** After an error of the store or the network. */
const RETRY_MS = 1000;
/** A renewal that took longer than this has met an outage. */
const SLOW_MS = 500;
/** Renewals of one pass, at a third of the term each: a pass of more than ten terms hangs. */
const MAX_RENEWALS = 30;

/**
 * Holds one duty for this process and runs it.
 *
 *   idle ──dutyTake──> holding ──renew at ttl/3──> holding ──refused or DUTY_LOST──> idle
 *
 * A keeper trusts its own clock only to stop earlier. It renews before it works, and during the work once a third of the term has passed,
 * counted from before the request was sent. A crash leaves the row to expire; a stop gives it back. An error of the store is logged and
 * tried again after the next interval. Nothing here ever ends the process, and neither does its log.
 *
 * A process that leaves the duties to a leader checks for one before it takes or renews, and gives back what it holds.
 *
 * Everything that takes, uses or gives back the term runs one after the other. Of two passes at once, the second would be refused the duty
 * that the first has just taken, and would take it for lost.
 */
export class Keeper {
  readonly duty: Duty;
  readonly #options: KeeperOptions;
  readonly #log: Log;
  #term: DutyTenure | undefined;
  #renewAt = 0;
  /** Settles when the last queued turn is over. Never rejects. */
  #lastTurn: Promise<unknown> = Promise.resolve();
  #cancelTimer: (() => void) | undefined;
  #workAt = 0;
  #restUntil = 0;
  /** Monotonic time since which the store has kept a pass from finishing. */
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

  /** `afterMs`: until it is first taken. */
  start(afterMs = 0): void {
    this.#stopped = false;
    if (afterMs > 0) this.#workAt = this.#renewAt = this.#now() + afterMs;
    if (this.duty.restMs !== undefined) this.#workAt = this.#restUntil = this.#now() + this.duty.restMs;
    this.#plan();
  }

  /** Waits for the pass under way and gives the duty back, so that another process need not wait. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#inTurn(() => this.#giveBack());
  }

  /**
   * Work will be due then: do not sleep longer. Only for the holder. A process that takes the duty later begins with a pass and finds the
   * work. Until then, a nudge would cost a write for each push.
   */
  nudge(inMs: number): void {
    if (this.#stopped || this.#term === undefined || this.#now() + inMs >= this.#workAt) return;
    this.#workAt = this.#now() + inMs;
    this.#plan();
  }

  /**
   * One pass: takes or renews the duty, then does its work. Answers how much was done. It runs after a pass that is under way and does not
   * join it, because that one may have looked before the caller wrote what is to be found.
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

  async #pass(): Promise<PassResult> {
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
      const sentAt = this.#now();
      this.#term = await store.dutyTake({ name: this.duty.name, holder, ttlMs });
      this.#renewAt = this.#renewalAfter(sentAt);
      if (this.#term !== undefined) this.duty.begin?.(this.#term);
    }
    return this.#term;
  }

  async #renew(term: DutyTenure): Promise<void> {
    const { store, ttlMs } = this.#options;
    const sentAt = this.#now();
    const held = await store.dutyRenew({ duty: term, ttlMs });
    this.#renewAt = this.#renewalAfter(sentAt);
    if (!held) this.#term = undefined;
  }

  /** After a third of the term at most, and together with the other duties of this process: one commit serves them all. */
  #renewalAfter(sentAt: number): number {
    // Whole milliseconds, so that a time on the grid is not taken for one just before it.
    const third = Math.max(1, Math.floor(this.#options.ttlMs / 3));
    return Math.floor((sentAt + third) / third) * third;
  }

  /**
   * A pass may outlast its term: the recount of a large store does. Without renewals, two processes could depose each other for ever, each
   * with a recount that comes to nothing. The number of renewals is bounded: a pass that hangs in a call without an answer must not keep
   * the duty from others. Returns a function that ends the renewals.
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

  /** Sleeps until there is work, or until the term must be renewed or the duty may have become free. */
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
      // A new term begins with work, a renewed one does not. After an outage it does too, because the duty must know of it.
      const slow = before !== undefined && this.#now() - since > SLOW_MS;
      if (term !== undefined && (slow || term !== before)) this.#workAt = Math.max(this.#now(), this.#restUntil);
      else this.#since = undefined;
      return;
    }
    this.#workAt = Number.POSITIVE_INFINITY;
    const { more, nextInMs = this.duty.intervalMs } = await this.#pass();
    const wait = more ? 0 : Math.min(this.duty.intervalMs, Math.max(1, nextInMs));
    // A nudge that came meanwhile may have set an earlier time.
    this.#workAt = Math.min(this.#workAt, this.#now() + wait);
  }

  #after(at: number, fn: () => void): () => void {
    return this.#options.world.timers.after(Math.max(0, at - this.#now()), fn, { unref: true });
  }

  /** Well before the end of the term, however short it is. */
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
