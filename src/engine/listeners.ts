import type { Lease } from '../core/task/lease.ts';
import type { TaskState } from '../core/task/task.ts';

/** What an engine reports to other parts of its process. Each call is a hint or a measurement: nothing depends on it. */
export interface EngineListener {
  /** A task will be due in this many milliseconds. */
  readonly due?: (inMs: number) => void;
  /** A lease was granted. It expires in this many milliseconds, unless it is renewed. */
  readonly leased?: (inMs: number) => void;
  /** This process committed something, so there may be events to number. */
  readonly committed?: () => void;
  /** A duty of this process has changed tasks or numbered events. */
  readonly changed?: () => void;
  /** How long the store took to answer. */
  readonly timed?: (verb: 'claim' | 'renew', ms: number) => void;
  /** Somebody asked a running task to stop. */
  readonly cancelRequested?: (task: number) => void;
  /** A queue was paused, here or by another process. */
  readonly queuePaused?: (queue: string) => void;
  /** Tasks were leased to a worker of this process or of another one that it speaks for. */
  readonly granted?: (leases: readonly Lease[], leaseMs: number) => void;
  /** An attempt has ended or parked, and its task is in this state. */
  readonly settled?: (lease: Lease, state: TaskState) => void;
  /** A renewal or a report of an attempt was refused: its lease is lost, or it has ended. */
  readonly refused?: (lease: Lease, what: 'renewal' | 'report') => void;
  /** A trigger was made, changed or removed, by this process. */
  readonly triggersChanged?: () => void;
  /** The reaper of this process has taken back leases: so many of these, the others were renewed or ended meanwhile. */
  readonly expired?: (leases: readonly Lease[], reaped: number) => void;
}

/** The listeners of an engine: the duties of its process, its workers, its metrics. */
export class Listeners {
  #all: readonly EngineListener[] = [];

  /** Returns a function that ends the subscription. The same listener may be added twice and removed once. */
  add(listener: EngineListener): () => void {
    const own = { ...listener };
    this.#all = [...this.#all, own];
    return () => {
      this.#all = this.#all.filter((one) => one !== own);
    };
  }

  due(inMs: number): void {
    for (const { due } of this.#all) due?.(inMs);
  }

  leased(inMs: number): void {
    for (const { leased } of this.#all) leased?.(inMs);
  }

  committed(): void {
    for (const { committed } of this.#all) committed?.();
  }

  changed(): void {
    for (const { changed } of this.#all) changed?.();
  }

  timed(verb: 'claim' | 'renew', ms: number): void {
    for (const { timed } of this.#all) timed?.(verb, ms);
  }

  granted(leases: readonly Lease[], leaseMs: number): void {
    for (const { granted } of this.#all) granted?.(leases, leaseMs);
  }

  settled(lease: Lease, state: TaskState): void {
    for (const { settled } of this.#all) settled?.(lease, state);
  }

  refused(lease: Lease, what: 'renewal' | 'report'): void {
    for (const { refused } of this.#all) refused?.(lease, what);
  }

  expired(leases: readonly Lease[], reaped: number): void {
    for (const { expired } of this.#all) expired?.(leases, reaped);
  }

  triggersChanged(): void {
    for (const { triggersChanged } of this.#all) triggersChanged?.();
  }

  cancelRequested(task: number): void {
    for (const { cancelRequested } of this.#all) {
      try {
        cancelRequested?.(task);
      } catch {
        // A failed hint is a lost one; the request itself is stored.
      }
    }
  }

  queuePaused(queue: string): void {
    for (const { queuePaused } of this.#all) {
      try {
        queuePaused?.(queue);
      } catch {
        // A failed hint is a lost one; the pause itself is stored.
      }
    }
  }
}
