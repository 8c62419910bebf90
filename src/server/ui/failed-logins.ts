import { fault } from '../../core/errors.ts';
import type { Clock } from '../../core/world.ts';

const MOST_FAILURES = 10;
const WINDOW_MS = 60_000;
const MOST_ADDRESSES = 10_000;

interface Tries {
  readonly since: number;
  failed: number;
}

/**
 * Tells who guesses to stop: after ten failures within a minute an address is told to wait. It is asked about wrong guesses
 * only. Codes and tokens have 256 bits, so a lock protects nothing, and it would shut out everybody behind the same proxy.
 */
export class FailedLogins {
  readonly #clock: Clock;
  readonly #tries = new Map<string, Tries>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Refuses a wrong guess of an address that has failed too often. */
  check(address: string): void {
    const tries = this.#of(address);
    if (tries === undefined || tries.failed < MOST_FAILURES) return;
    const retryAfterMs = Math.max(1, tries.since + WINDOW_MS - this.#clock.monotonic());
    throw fault('TOO_MANY', { problem: `${tries.failed} logins from this address have failed`, retryAfterMs });
  }

  failed(address: string): void {
    const tries = this.#of(address);
    if (tries !== undefined) {
      tries.failed++;
      return;
    }
    // The oldest go first; a map keeps the order of insertion.
    if (this.#tries.size >= MOST_ADDRESSES) this.#tries.delete(this.#tries.keys().next().value as string);
    this.#tries.set(address, { since: this.#clock.monotonic(), failed: 1 });
  }

  #of(address: string): Tries | undefined {
    const tries = this.#tries.get(address);
    if (tries === undefined || this.#clock.monotonic() - tries.since < WINDOW_MS) return tries;
    this.#tries.delete(address);
    return undefined;
  }
}
