import type { Timers } from '../../core/world.ts';
import type { Outcome } from '../../flow/workflow/workflow-journal.ts';

/** A call of the workflow that waits for its result. */
export interface Asked {
  readonly key: string;
  /** An earlier attempt had its result. */
  recorded(outcome: Outcome): void;
  /** No earlier attempt had. Called when all that is recorded has been given out. */
  begin(): void;
}

export interface DeliveriesDeps {
  readonly timers: Timers;
  /** The workflow has done all that it can do with what it was given. */
  readonly onRest: () => void;
  /** What is recorded next is not what the workflow asks for. `came`: what it asks for instead, if anything. */
  readonly onDiverged: (expected: string, came: string | undefined) => void;
}

/** The code of a workflow may await something of its own before it asks for the next result. */
const GRACE_MS = 1000;

/**
 * Gives results to the workflow one at a time, first those that are recorded, in the order in which they came. After each it waits for a turn of the
 * loop, so that everything that follows from a result is asked for before the next one comes. So calls that are under way together come out alike
 * in every attempt, and the n-th call with a name is the n-th again.
 */
export class Deliveries {
  readonly #deps: DeliveriesDeps;
  readonly #outcomes: readonly Outcome[];
  readonly #asked = new Map<string, Asked>();
  #queue: (() => void)[] = [];
  #cursor = 0;
  #turning = false;
  #closed = false;
  #cancelGrace: (() => void) | undefined;

  constructor(outcomes: readonly Outcome[], deps: DeliveriesDeps) {
    this.#outcomes = outcomes;
    this.#deps = deps;
  }

  get replaying(): boolean {
    return this.#cursor < this.#outcomes.length;
  }

  ask(one: Asked): void {
    this.#asked.set(one.key, one);
    if (!this.replaying) this.#beginAll();
    this.stir();
  }

  /** A result that came now. */
  add(deliver: () => void): void {
    this.#queue.push(deliver);
    if (!this.#turning) this.#go();
  }

  /** Looks whether there is something to do, once the workflow has had its turn. */
  stir(): void {
    if (this.#turning || this.#closed) return;
    this.#turning = true;
    this.#deps.timers.soon(() => {
      this.#turning = false;
      this.#go();
    });
  }

  /** The first recorded result that nobody has asked for. */
  get unread(): string | undefined {
    return this.#outcomes.slice(this.#cursor).find(({ place }) => !this.#asked.has(place))?.place;
  }

  close(): void {
    this.#closed = true;
    this.#cancelGrace?.();
  }

  #go(): void {
    if (this.#closed) return;
    const next = this.#outcomes[this.#cursor];
    if (next !== undefined) {
      const one = this.#asked.get(next.place);
      if (one === undefined) {
        this.#watch(next.place);
        return;
      }
      this.#cancelGrace?.();
      this.#cancelGrace = undefined;
      this.#asked.delete(next.place);
      this.#cursor++;
      one.recorded(next);
      this.stir();
      return;
    }
    if (this.#asked.size > 0) {
      this.#beginAll();
      this.stir();
      return;
    }
    const deliver = this.#queue.shift();
    if (deliver === undefined) {
      this.#deps.onRest();
      return;
    }
    deliver();
    this.stir();
  }

  #beginAll(): void {
    const fresh = [...this.#asked.values()];
    this.#asked.clear();
    for (const one of fresh) one.begin();
  }

  #watch(expected: string): void {
    const at = this.#cursor;
    this.#cancelGrace ??= this.#deps.timers.after(GRACE_MS, () => {
      this.#cancelGrace = undefined;
      if (this.#closed || this.#cursor !== at || this.#asked.has(expected)) return;
      // It has asked for nothing so far: it awaits something of its own, and may take its time.
      if (this.#asked.size === 0) {
        this.#watch(expected);
        return;
      }
      const recorded = new Set(this.#outcomes.map(({ place }) => place));
      const asked = [...this.#asked.keys()];
      this.#deps.onDiverged(expected, asked.find((key) => !recorded.has(key)) ?? asked[0]);
    });
  }
}
