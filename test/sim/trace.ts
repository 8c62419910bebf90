import { createHash, type Hash } from 'node:crypto';
import type { Scheduler } from './scheduler.ts';

const KEPT = 60;

/** What happened, for a person: the last lines are printed when a run fails, and the digest of all proves a replay exact. */
export class Trace {
  readonly #scheduler: Scheduler;
  readonly #digest: Hash = createHash('sha256');
  readonly #lines: string[] = [];

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  say(who: string, what: string): void {
    const line = `${(this.#scheduler.now / 1000).toFixed(3).padStart(9)}  ${who.padEnd(8)} ${what}`;
    this.#digest.update(line);
    this.#lines.push(line);
    if (this.#lines.length > KEPT) this.#lines.shift();
  }

  get last(): readonly string[] {
    return this.#lines;
  }

  digest(): string {
    return this.#digest.copy().digest('hex').slice(0, 16);
  }
}

/** An invariant does not hold. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

export function must(condition: unknown, invariant: string, what: () => string): asserts condition {
  if (!condition) throw new Violation(`${invariant}: ${what()}`);
}
