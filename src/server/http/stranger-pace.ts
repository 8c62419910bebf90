export interface StrangerTerms {
  /** Answers a second that do not wait, for all callers without a token together; 0: none waits. */
  readonly perSecond: number;
  /** As many at once, after a quiet time. */
  readonly burst: number;
  /** How long each further one waits: a refusal, and what a route answers that needs no token. */
  readonly refusedMs: number;
  readonly answeredMs: number;
}

/** A page of the web UI is some dozens of files, and probes of health ask once in some seconds. */
export const STRANGER_TERMS: StrangerTerms = { perSecond: 100, burst: 500, refusedMs: 1000, answeredMs: 200 };

/**
 * The pace of answers to callers without a good token. A caller asks again when it was answered, so an answer that comes later
 * is what makes wrong requests cheap: 200 connections that guess tokens as fast as they can took the whole event loop.
 *
 * Nobody is locked out by it. It counts no addresses, and whoever has a good token never waits, whatever others send from the
 * same address: the token is looked at first.
 */
export class StrangerPace {
  readonly #terms: StrangerTerms;
  readonly #now: () => number;
  #left: number;
  #at: number;

  constructor(terms: StrangerTerms = STRANGER_TERMS, now: () => number = () => performance.now()) {
    this.#terms = terms;
    this.#now = now;
    this.#left = terms.burst;
    this.#at = now();
  }

  /** How long an answer with this status waits, in milliseconds. */
  waitMs(status: number): number {
    const { perSecond, burst, refusedMs, answeredMs } = this.#terms;
    if (perSecond === 0) return 0;
    const now = this.#now();
    this.#left = Math.min(burst, this.#left + ((now - this.#at) / 1000) * perSecond);
    this.#at = now;
    if (this.#left < 1) return status >= 400 && status < 500 ? refusedMs : answeredMs;
    this.#left--;
    return 0;
  }
}
