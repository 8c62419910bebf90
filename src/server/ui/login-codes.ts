import type { Clock } from '../../core/world.ts';
import { hashOf, newSecret, sameHash } from '../../operate/secrets.ts';
import type { Principal } from '../auth/access.ts';

export const CODE_MS = 600_000;
/** Codes that wait for their browser; of more the oldest go. */
const MOST_CODES = 1000;

interface IssuedCode {
  readonly hash: string;
  readonly principal: Principal;
  readonly until: number;
}

/** Codes of login links: good once, for ten minutes, at this node alone. Only their hashes are kept, and nothing of them on a disk. */
export class LoginCodes {
  readonly #clock: Clock;
  #kept: IssuedCode[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Lets a browser in as this one. */
  make(principal: Principal): { readonly code: string; readonly expiresAt: number } {
    const code = newSecret('login');
    const now = this.#clock.monotonic();
    this.#kept = this.#kept.filter(({ until }) => until > now).slice(1 - MOST_CODES);
    this.#kept.push({ hash: hashOf(code), principal, until: now + CODE_MS });
    return { code, expiresAt: Math.floor(this.#clock.wall() + CODE_MS) };
  }

  /** Whom it lets in; from then on nobody. */
  take(code: string): Principal | undefined {
    const hash = hashOf(code);
    const now = this.#clock.monotonic();
    // All of them are compared, so that the time tells nothing.
    const found = this.#kept.filter((one) => sameHash(one.hash, hash) && one.until > now);
    this.#kept = this.#kept.filter((one) => !found.includes(one));
    return found[0]?.principal;
  }
}
