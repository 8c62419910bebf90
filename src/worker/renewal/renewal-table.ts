import type { Lease } from '../../core/task/lease.ts';

/** A lease as the renewal sees it. */
export interface HeldEntry extends Lease {
  /** When it was granted, on the monotonic clock. */
  readonly since: number;
  /** When its run must have ended; 0 for no bound. */
  readonly deadline: number;
}

const FIELDS = 4;

/**
 * The leases that a worker holds, in memory that it shares with its renewal thread. A message for each lease would cost more
 * than a short task itself, and would not arrive when the handler blocks the loop at once.
 *
 * Only the worker writes. Each entry is a seqlock: its version is odd while it is being written, so that a reader never mixes
 * two leases. Attempt 0 marks an empty entry.
 */
export class RenewalTable {
  readonly capacity: number;
  readonly buffer: ArrayBufferLike;
  readonly #versions: Int32Array;
  readonly #values: Float64Array;
  /** Its value says nothing. Plain reads and writes may pass one atomic operation on ARM; none passes a store and a load together. */
  readonly #fence = new Int32Array(1);

  constructor(capacity: number, buffer: ArrayBufferLike = new SharedArrayBuffer(RenewalTable.#bytes(capacity))) {
    this.capacity = capacity;
    this.buffer = buffer;
    this.#values = new Float64Array(buffer, 0, 1 + capacity * FIELDS);
    this.#versions = new Int32Array(buffer, (1 + capacity * FIELDS) * 8, capacity);
  }

  static #bytes(capacity: number): number {
    return (1 + capacity * FIELDS) * 8 + capacity * 4;
  }

  put(index: number, { task, attempt, since, deadline }: HeldEntry): void {
    const version = this.#versions[index] as number;
    Atomics.store(this.#versions, index, version | 1);
    Atomics.load(this.#fence, 0);
    const at = 1 + index * FIELDS;
    this.#values[at] = task;
    this.#values[at + 1] = attempt;
    this.#values[at + 2] = since;
    this.#values[at + 3] = deadline;
    Atomics.store(this.#versions, index, ((version | 1) + 1) & 0x3fff_ffff || 2);
  }

  clear(index: number): void {
    this.put(index, EMPTY);
  }

  /** Undefined for an empty entry, and for one that is being written: the next round sees it. */
  read(index: number): HeldEntry | undefined {
    const version = Atomics.load(this.#versions, index);
    if (version % 2 === 1) return undefined;
    const at = 1 + index * FIELDS;
    const entry = {
      task: this.#values[at] as number,
      attempt: this.#values[at + 1] as number,
      since: this.#values[at + 2] as number,
      deadline: this.#values[at + 3] as number,
    };
    Atomics.store(this.#fence, 0, 0);
    return entry.attempt > 0 && Atomics.load(this.#versions, index) === version ? entry : undefined;
  }

  /** Called by the worker's loop as long as nothing blocks it. */
  beat(now: number): void {
    this.#values[0] = now;
  }

  get beatAt(): number {
    return this.#values[0] as number;
  }
}

const EMPTY: HeldEntry = { task: 0, attempt: 0, since: 0, deadline: 0 };
