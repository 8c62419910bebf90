import type { Rng } from './rng.ts';

/** Something that happens at a moment of virtual time, to somebody. */
interface Happening {
  readonly at: number;
  readonly owner: Owner;
  readonly fn: () => void;
}

/** Who a happening belongs to: it waits while its owner is frozen, and is dropped when its owner is dead. */
export interface Owner {
  readonly name: string;
  alive: boolean;
  frozenUntil: number;
}

export const NATURE: Owner = { name: 'nature', alive: true, frozenUntil: 0 };

/**
 * Virtual time. One step takes one happening: among those that are due, any one, chosen by the seed; when none is due, time
 * moves on to the earliest. Nothing in a run depends on anything else.
 */
export class Scheduler {
  /** Monotonic milliseconds since the boot of the simulated host. */
  now = 1_000;
  /** What the wall clock shows beyond that; it jumps. */
  wallOffset = 1_700_000_000_000;
  /** By how much the wall clock was ever set back. The store follows that, so that durations stay what they are. */
  setBack = 0;
  steps = 0;
  readonly #rng: Rng;
  #happenings: Happening[] = [];

  constructor(rng: Rng) {
    this.#rng = rng;
  }

  get wall(): number {
    return this.now + this.wallOffset;
  }

  in(ms: number, owner: Owner, fn: () => void): () => void {
    const happening: Happening = { at: this.now + Math.max(0, Math.ceil(ms)), owner, fn };
    this.#happenings.push(happening);
    return () => {
      const at = this.#happenings.indexOf(happening);
      if (at >= 0) this.#happenings.splice(at, 1);
    };
  }

  /** Returns false when nothing will ever happen again. */
  async step(): Promise<boolean> {
    let due = this.#due();
    if (due.length === 0) {
      this.#happenings = this.#happenings.filter(({ owner }) => owner.alive);
      let earliest = Number.POSITIVE_INFINITY;
      for (const h of this.#happenings) earliest = Math.min(earliest, startOf(h));
      if (earliest === Number.POSITIVE_INFINITY) return false;
      this.now = earliest;
      due = this.#due();
    }
    const chosen = this.#rng.pick(due);
    this.#happenings.splice(this.#happenings.indexOf(chosen), 1);
    this.steps++;
    chosen.fn();
    await quiet();
    return true;
  }

  #due(): readonly Happening[] {
    return this.#happenings.filter((h) => h.owner.alive && startOf(h) <= this.now);
  }
}

const startOf = (h: Happening): number => Math.max(h.at, h.owner.frozenUntil);

/** Until every promise that needs no further happening has run: a turn of the real loop comes after all microtasks. */
function quiet(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
