import { fault } from '../../core/errors.ts';
import type { NodeEvent } from '../../core/node.ts';
import type { World } from '../../core/world.ts';
import type { DutyTenure, Store } from '../../store/store.ts';
import type { Log } from '../log.ts';
import { unfailing } from '../unfailing-log.ts';
import { LEADER, leaderOf } from './leader.ts';

export interface ElectionOptions {
  readonly store: Pick<Store, 'dutyTake' | 'dutyRenew' | 'dutyRelease' | 'dutyList'>;
  readonly world: World;
  readonly log: Log;
  /** Names this start of this process. */
  readonly holder: string;
  /** The term of the leader; three renewals fit into it. */
  readonly leaseMs: number;
  readonly renewMs: number;
  /** The duties: they run while this process leads. */
  readonly roster: { start(): void; stop(): Promise<void> };
  /** Called for every event of the election, in order. */
  readonly onEvent?: (event: Exclude<NodeEvent, 'asked'>) => void;
}

/** How often a follower looks for a leader: one that has resigned is replaced within this time. */
const LOOK_MS = 1000;
/** Followers that saw the same term end do not all try in the same millisecond. */
const SPREAD_MS = 100;
/** A roster that takes longer to stop does not keep the next leader waiting. */
const ROSTER_MS = 1000;
/** The part of its term that a leader does not count on: clocks run at different speeds. */
const MARGIN = 0.1;
const MOST_MARGIN_MS = 1000;

/**
 * Leadership: a duty whose holder runs all the others.
 *
 *   following ──the term is free: dutyTake──> leading ──renewed after `renewMs`──> leading
 *       ^                                       │
 *       └──refused, or not renewed in time──────┘
 *
 * `leads` goes by this process's own monotonic clock. It ends a margin before the store lets another process in, counted from before the
 * renewal was sent, whatever becomes of its answer. Safety does not depend on it: every duty has an epoch of its own in each of its writes.
 * It only keeps two rosters from running at once for longer than necessary.
 *
 * A crash leaves the term to expire. A leader that resigns gives back the duties first, so that the next leader finds them free.
 */
export class Election {
  readonly #options: ElectionOptions;
  readonly #log: Log;
  #term: DutyTenure | undefined;
  #trustUntil = 0;
  #renewAt = 0;
  /** It is a candidate, and tries again after a defeat. */
  #isCandidate = false;
  #cancelTimer = (): void => {};
  #cancelTrust = (): void => {};
  /** Settles when the last queued turn is over. Never rejects. */
  #lastTurn: Promise<unknown> = Promise.resolve();
  /** The same for starts and stops of the roster. */
  #rosterTurn: Promise<unknown> = Promise.resolve();
  #warned = false;

  constructor(options: ElectionOptions) {
    checkTerms(options.leaseMs, options.renewMs);
    this.#options = options;
    this.#log = unfailing(options.log);
  }

  /** Whether this process leads, by its own clock alone. */
  get leads(): boolean {
    return this.#term !== undefined && this.#now() < this.#trustUntil;
  }

  /** The epoch of its term, while it leads. */
  get epoch(): number | undefined {
    return this.leads ? this.#term?.epoch : undefined;
  }

  /** Becomes a candidate, and answers whether it won the first election. An error of the store counts as a defeat, and is tried again. */
  async stand(): Promise<boolean> {
    this.#isCandidate = true;
    await this.#run();
    return this.leads;
  }

  /** Is no longer a candidate: gives back the duties, then leadership. */
  async resign(): Promise<void> {
    this.#isCandidate = false;
    this.#cancelTimer();
    await this.#inTurn(() => this.#giveBack());
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(work);
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }

  async #run(): Promise<void> {
    let wait = LOOK_MS;
    try {
      wait = await this.#inTurn(() => this.#turn());
      this.#warned = false;
    } catch (error) {
      wait = this.#retryMs();
      if (!this.#warned) this.#log.warn('the leader could not be read', { error: String(error) });
      this.#warned = true;
    }
    this.#cancelTimer();
    if (this.#isCandidate) this.#cancelTimer = this.#after(wait, () => void this.#run());
  }

  /** Answers how long to wait before the next turn. */
  async #turn(): Promise<number> {
    if (!this.#isCandidate) return LOOK_MS;
    if (this.#term !== undefined) await this.#renew(this.#term);
    if (this.#term !== undefined) return this.#renewAt - this.#now();
    const { now, duties } = await this.#options.store.dutyList();
    const leader = leaderOf(duties, now);
    this.#emit('retry');
    if (leader === undefined && (await this.#take())) return this.#renewAt - this.#now();
    this.#emit('refused');
    const left = leader === undefined ? LOOK_MS : leader.until - now + 1;
    return Math.min(LOOK_MS, left) + this.#options.world.random() * SPREAD_MS;
  }

  async #take(): Promise<boolean> {
    const { store, holder, leaseMs } = this.#options;
    const sentAt = this.#now();
    const term = await store.dutyTake({ name: LEADER, holder, ttlMs: leaseMs });
    if (term === undefined) return false;
    this.#term = term;
    this.#extendTrust(sentAt);
    // The answer may have come too late to count on, or when this process is no longer a candidate.
    if (!this.leads || !this.#isCandidate) {
      await this.#release(term);
      return false;
    }
    this.#log.info('this node leads', { epoch: term.epoch });
    this.#emit('won');
    this.#rosterTurn = this.#rosterTurn.then(() => {
      if (this.#term === term) this.#options.roster.start();
    });
    return true;
  }

  async #renew(term: DutyTenure): Promise<void> {
    if (this.#now() < this.#renewAt) return;
    const { store, leaseMs } = this.#options;
    const sentAt = this.#now();
    const held = await store.dutyRenew({ duty: term, ttlMs: leaseMs });
    // By our own clock the term may have ended meanwhile.
    if (this.#term !== term) return;
    if (held) this.#extendTrust(sentAt);
    else this.#lose(term, 'another node has taken over, or its term had expired');
  }

  /** `sentAt`: the time before the request was sent. */
  #extendTrust(sentAt: number): void {
    const { leaseMs, renewMs } = this.#options;
    const term = this.#term as DutyTenure;
    this.#trustUntil = sentAt + leaseMs - Math.min(MOST_MARGIN_MS, leaseMs * MARGIN);
    this.#renewAt = sentAt + renewMs;
    this.#cancelTrust();
    const late = (): void => this.#lose(term, 'its term could not be renewed in time');
    this.#cancelTrust = this.#after(this.#trustUntil - this.#now(), late);
  }

  #lose(term: DutyTenure, why: string): void {
    if (this.#term !== term) return;
    this.#term = undefined;
    this.#cancelTrust();
    this.#log.warn('this node leads no longer', { epoch: term.epoch, why });
    this.#emit('lost');
    void this.#stopRoster();
  }

  async #giveBack(): Promise<void> {
    const term = this.#term;
    this.#cancelTrust();
    if (term === undefined) return;
    this.#term = undefined;
    await this.#rosterEnds();
    await this.#release(term);
    this.#log.info('this node has given leadership back', { epoch: term.epoch });
    this.#emit('lost');
  }

  async #rosterEnds(): Promise<void> {
    let cancel = (): void => {};
    const late = new Promise<void>((resolve) => {
      cancel = this.#after(ROSTER_MS, resolve);
    });
    await Promise.race([this.#stopRoster(), late]);
    cancel();
  }

  async #release(term: DutyTenure): Promise<void> {
    this.#term = undefined;
    this.#cancelTrust();
    await this.#options.store.dutyRelease({ duty: term }).catch((error: unknown) => {
      this.#log.warn('leadership could not be given back; it will expire', { error: String(error) });
    });
  }

  #stopRoster(): Promise<unknown> {
    this.#rosterTurn = this.#rosterTurn.then(() => this.#options.roster.stop()).catch(() => undefined);
    return this.#rosterTurn;
  }

  #emit(event: Exclude<NodeEvent, 'asked'>): void {
    this.#options.onEvent?.(event);
  }

  #after(ms: number, fn: () => void): () => void {
    return this.#options.world.timers.after(Math.max(0, ms), fn, { unref: true });
  }

  /** Several times within what is left of a term after a renewal was due. */
  #retryMs(): number {
    return Math.min(LOOK_MS, this.#options.renewMs / 3);
  }

  #now(): number {
    return this.#options.world.clock.monotonic();
  }
}

/** A leader must survive one late renewal: its term is at least three renewals long. */
export function checkTerms(leaseMs: number, renewMs: number): void {
  if (renewMs > 0 && leaseMs >= 3 * renewMs) return;
  throw fault(
    'INVALID_INPUT',
    {
      field: 'leader lease',
      problem: `it is ${leaseMs} ms, and must be at least three times the ${renewMs} ms after which it is renewed`,
    },
    { hint: 'Set --leader-lease to three times --leader-renew or more.' },
  );
}
