import type { Clock } from '../../../../core/world.ts';
import type { DutySnapshot } from '../../../store.ts';

/** A term that somebody else has. */
export interface SeenTerm {
  readonly epoch: number;
  readonly until: number;
}

/** A holder renews after a third of its term. No term is as long as three times this. */
const SILENT_MS = 60_000;

/**
 * Finds terms that nobody renews and that go on for long, because their holder vanished and the server's clock was set back after that.
 * Nobody could take such a duty until that clock has made up for it. The term of a holder that lives changes with each renewal.
 */
export class SilentTerms {
  readonly #clock: Clock;
  readonly #seen = new Map<string, SeenTerm & { readonly since: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The term of this duty that may be taken though its time has not come. */
  of(name: string): SeenTerm | undefined {
    const seen = this.#seen.get(name);
    return seen !== undefined && this.#clock.monotonic() - seen.since >= SILENT_MS ? seen : undefined;
  }

  /** This is the term of the duty now, and has `leftMs` to go. */
  note(name: string, { epoch, until }: SeenTerm, leftMs: number): void {
    const last = this.#seen.get(name);
    if (leftMs <= SILENT_MS) this.#seen.delete(name);
    else if (last?.epoch !== epoch || last.until !== until)
      this.#seen.set(name, { epoch, until, since: this.#clock.monotonic() });
  }

  /** The same duties. A silent term is told as one that was given back. */
  told({ now, duties }: DutySnapshot): DutySnapshot {
    for (const { name, epoch, until } of duties) this.note(name, { epoch, until }, until - now);
    return { now, duties: duties.map((duty) => (this.of(duty.name) === undefined ? duty : { ...duty, until: 0 })) };
  }
}
