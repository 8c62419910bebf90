import type { Clock } from '../../core/world.ts';
import { hashOf, newSecret, sameHash } from '../../operate/secrets.ts';
import type { Principal } from '../auth/access.ts';

export const CODE_MS = 600_000;
/** Codes that wait for their browser; beyond it the oldest are dropped. */
const MOST_CODES = 1000;

interface IssuedCode {
  readonly hash: string;
  readonly principal: Principal;
  readonly until: number;
}

/**
 * The codes of login links. Each works once, within ten minutes, on this node alone. Only hashes are kept, and only in
 * memory.
 */
export class LoginCodes {
  readonly #clock: Clock;
  #kept: IssuedCode[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A code that logs a browser in as this caller. */
  make(principal: Principal): { readonly code: string; readonly expiresAt: number } {
    const code = newSecret('login');
    const now = this.#clock.monotonic();
    this.#kept = this.#kept.filter(({ until }) => until > now).slice(1 - MOST_CODES);
    this.#kept.push({ hash: hashOf(code), principal, until: now + CODE_MS });
    return { code, expiresAt: Math.floor(this.#clock.wall() + CODE_MS) };
  }

  /** The caller of this code, once. */
  take(code: string): Principal | undefined {
    const hash = hashOf(code);
    const now = this.#clock.monotonic();
    // All of them are compared, so that the time reveals nothing.
    const found = this.#kept.filter((one) => sameHash(one.hash, hash) && one.until > now);
    this.#kept = this.#kept.filter((one) => !found.includes(one));
    return found[0]?.principal;
  }
}
