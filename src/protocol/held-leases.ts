import type { Lease } from '../core/task/lease.ts';

interface Entry<T> {
  readonly lease: T;
  /** When it was last known to hold. */
  at: number;
}

/**
 * Leases that somebody believes to be held, in the order of their last confirmation, oldest first. A lost lease often ends
 * without notice, so a lease that was not confirmed for long is dropped. Otherwise it would be kept for ever.
 */
export class HeldLeases<T extends Lease> {
  readonly #held = new Map<string, Entry<T>>();
  readonly #now: () => number;

  /** `now` is a monotonic clock. */
  constructor(now: () => number) {
    this.#now = now;
  }

  get size(): number {
    return this.#held.size;
  }

  get(lease: Lease): T | undefined {
    return this.#held.get(keyOf(lease))?.lease;
  }

  put(lease: T): void {
    // Deleted first: a map keeps the order in which its keys were added.
    this.#held.delete(keyOf(lease));
    this.#held.set(keyOf(lease), { lease, at: this.#now() });
  }

  /** The store has just confirmed this lease. */
  renewed(lease: Lease): void {
    const held = this.get(lease);
    if (held !== undefined) this.put(held);
  }

  drop(lease: Lease): void {
    this.#held.delete(keyOf(lease));
  }

  dropOlderThan(ms: number): void {
    const since = this.#now() - ms;
    for (const { lease, at } of this.#held.values()) {
      if (at >= since) return;
      this.drop(lease);
    }
  }

  /** Whether any attempt of this task is held. */
  has(task: number): boolean {
    return this.all().some((lease) => lease.task === task);
  }

  all(): readonly T[] {
    return [...this.#held.values()].map(({ lease }) => lease);
  }
}

export function keyOf({ task, attempt }: Lease): string {
  return `${task}/${attempt}`;
}
