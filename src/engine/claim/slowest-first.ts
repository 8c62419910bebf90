import type { KnownLane } from './blocked-lanes.ts';

/** A fairness key. Its clock is undefined until it has shared with others. */
export interface FairKey {
  readonly name: string;
  clock: number | undefined;
  /** How many turns it has. */
  turns: number;
}

/** The lanes of one key and one priority. */
export interface Turn {
  readonly key: FairKey;
  readonly priority: number;
  /** By how much a task advances the clock. */
  readonly step: number;
  /** Least recently served first. */
  readonly lanes: Map<number, KnownLane>;
  /** Grows when a lane of it is served: of equal clocks, the one that was served longest ago comes first. */
  served: number;
}

/** Where a turn was when it was queued. Clocks only grow, so it can only have moved back since. */
interface Queued {
  readonly turn: Turn;
  readonly clock: number;
  readonly served: number;
}

/** Entries of turns that are gone, which the heap may hold besides. */
const SPARE = 64;

/** The turns of one priority, the slowest clock first: a heap whose entries are put right when they come to the front. */
export class SlowestFirst {
  readonly priority: number;
  readonly #turns = new Map<FairKey, Turn>();
  /** Turns that have not shared with the others yet, or were away. */
  readonly #fresh = new Set<Turn>();
  readonly #heap: Queued[] = [];

  constructor(priority: number) {
    this.priority = priority;
  }

  get size(): number {
    return this.#turns.size;
  }

  turn(key: FairKey): Turn | undefined {
    return this.#turns.get(key);
  }

  add(turn: Turn): void {
    this.#turns.set(turn.key, turn);
    this.#fresh.add(turn);
  }

  /** Its entry in the heap is dropped when it comes to the front. */
  remove(turn: Turn): void {
    this.#turns.delete(turn.key);
    this.#fresh.delete(turn);
  }

  /** In no order. */
  some(test: (turn: Turn) => boolean): boolean {
    for (const turn of this.#turns.values()) if (test(turn)) return true;
    return false;
  }

  /** At most `limit` turns that pass, the slowest first. Those that are fresh start at the slowest clock of the others. */
  slowest(test: (turn: Turn) => boolean, limit: number): readonly Turn[] {
    const passed: Turn[] = [];
    const chosen: Turn[] = [];
    for (let turn = this.#pop(); turn !== undefined; turn = this.#pop()) {
      passed.push(turn);
      if (test(turn)) chosen.push(turn);
      if (chosen.length >= limit) break;
    }
    const start = chosen[0]?.key.clock ?? 0;
    // All of them, though few are asked now: who came first must not start later.
    const fresh = [...this.#fresh].filter(test);
    // One that is alone keeps its time to itself.
    const shares = chosen.length + fresh.length > 1;
    for (const turn of fresh) {
      if (!shares) break;
      turn.key.clock = Math.max(turn.key.clock ?? start, start);
      this.#fresh.delete(turn);
      passed.push(turn);
    }
    for (const turn of passed) this.#push(turn);
    return fresh.length === 0 ? chosen : [...chosen, ...fresh].sort(order).slice(0, limit);
  }

  #push(turn: Turn): void {
    const heap = this.#heap;
    if (heap.length > SPARE + 2 * this.#turns.size) this.#compact();
    const entry = { turn, clock: turn.key.clock ?? 0, served: turn.served };
    let i = heap.length;
    while (i > 0) {
      const up = (i - 1) >> 1;
      const parent = heap[up] as Queued;
      if (!before(entry, parent)) break;
      heap[i] = parent;
      i = up;
    }
    heap[i] = entry;
  }

  #pop(): Turn | undefined {
    for (let first = this.#take(); first !== undefined; first = this.#take()) {
      const { turn, clock, served } = first;
      if (!this.#holds(turn)) continue;
      if (clock === turn.key.clock && served === turn.served) return turn;
      this.#push(turn);
    }
    return undefined;
  }

  /** Drops the entries of turns that are gone: those of a fast clock may never come to the front. A sorted list is a heap. */
  #compact(): void {
    const kept = this.#heap.filter((entry) => this.#holds(entry.turn)).sort((a, b) => (before(a, b) ? -1 : 1));
    this.#heap.splice(0, this.#heap.length, ...kept);
  }

  /** Whether the turn is still here, and queued. */
  #holds(turn: Turn): boolean {
    return this.#turns.get(turn.key) === turn && !this.#fresh.has(turn);
  }

  #take(): Queued | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || last === first) return first;
    let i = 0;
    for (;;) {
      const left = 2 * i + 1;
      if (left >= heap.length) break;
      const right = left + 1;
      const child = right < heap.length && before(heap[right] as Queued, heap[left] as Queued) ? right : left;
      if (!before(heap[child] as Queued, last)) break;
      heap[i] = heap[child] as Queued;
      i = child;
    }
    heap[i] = last;
    return first;
  }
}

const before = (a: Queued, b: Queued): boolean => (a.clock === b.clock ? a.served < b.served : a.clock < b.clock);

const order = (a: Turn, b: Turn): number => (a.key.clock ?? 0) - (b.key.clock ?? 0) || a.served - b.served;
