import { fault } from '../../core/errors.ts';
import type { Clock } from '../../core/world.ts';
import type { Engine } from '../../engine/engine.ts';

export interface PushBounds {
  /** Tasks a second that one caller may push, after a burst of ten times as many; 0: no bound. */
  readonly rate: number;
  /** Unfinished tasks of a queue beyond which pushes to it are refused; 0: no bound. */
  readonly queued: number;
  /** The same for all queues together. */
  readonly queuedInAll: number;
}

export const DEFAULT_BOUNDS: PushBounds = { rate: 10_000, queued: 1_000_000, queuedInAll: 10_000_000 };

export interface PushGuardOptions {
  readonly bounds: PushBounds;
  readonly queues: () => ReturnType<Engine['queues']>;
  readonly clock: Clock;
}

/** The burst, in seconds of the rate. */
const BURST_S = 10;
/** How long the sizes of the queues are reused. Tasks that were admitted since are added to them. */
const FRESH_MS = 500;
/** Callers that are counted. A forgotten caller has a full burst again, but nobody has so many tokens. */
const MAX_CALLERS = 10_000;
/** The retry hint for a full queue. Nobody can foresee when it empties. */
const FULL_MS = 5000;

/** What a caller may still push; at zero and below it has to wait. */
interface Allowance {
  left: number;
  at: number;
}

interface QueueSizes {
  readonly at: number;
  readonly queued: Map<string, number>;
  inAll: number;
}

/** Bounds what callers push over the network, so that nobody fills the store. */
export class PushGuard {
  readonly #options: PushGuardOptions;
  readonly #callers = new Map<string, Allowance>();
  #sizes: QueueSizes | undefined;
  #reading: Promise<QueueSizes> | undefined;

  constructor(options: PushGuardOptions) {
    this.#options = options;
  }

  /** Tasks by queue. Rejects with `TOO_MANY` and the time to come back. */
  async admit(caller: string, tasks: ReadonlyMap<string, number>): Promise<void> {
    const count = [...tasks.values()].reduce((sum, n) => sum + n, 0);
    const allowance = this.#allowance(caller);
    if (allowance !== undefined && allowance.left <= 0) throw this.#tooFast(allowance);
    await this.#requireRoom(tasks, count);
    if (allowance !== undefined) allowance.left -= count;
  }

  /** The allowance at this moment. A batch may take it below zero, so that no batch is too large for ever; the next one waits. */
  #allowance(caller: string): Allowance | undefined {
    const { rate } = this.#options.bounds;
    if (rate === 0) return undefined;
    const now = this.#options.clock.monotonic();
    const full = rate * BURST_S;
    let known = this.#callers.get(caller);
    if (known === undefined) {
      if (this.#callers.size >= MAX_CALLERS) this.#callers.clear();
      this.#callers.set(caller, (known = { left: full, at: now }));
    }
    known.left = Math.min(full, known.left + ((now - known.at) / 1000) * rate);
    known.at = now;
    return known;
  }

  #tooFast({ left }: Allowance): Error {
    const { rate } = this.#options.bounds;
    const retryAfterMs = Math.ceil(((1 - left) / rate) * 1000);
    return fault('TOO_MANY', { problem: `this caller pushes more than ${rate} tasks a second`, retryAfterMs });
  }

  async #requireRoom(tasks: ReadonlyMap<string, number>, count: number): Promise<void> {
    const { queued, queuedInAll } = this.#options.bounds;
    if (queued === 0 && queuedInAll === 0) return;
    const sizes = await this.#recent();
    for (const [queue, n] of tasks) {
      if (queued > 0 && (sizes.queued.get(queue) ?? 0) + n > queued) {
        throw full(`the queue ${queue} takes no more than ${queued} unfinished tasks`);
      }
    }
    if (queuedInAll > 0 && sizes.inAll + count > queuedInAll) {
      throw full(`all queues together take no more than ${queuedInAll} unfinished tasks`);
    }
    for (const [queue, n] of tasks) sizes.queued.set(queue, (sizes.queued.get(queue) ?? 0) + n);
    sizes.inAll += count;
  }

  async #recent(): Promise<QueueSizes> {
    const now = this.#options.clock.monotonic();
    if (this.#sizes !== undefined && now - this.#sizes.at < FRESH_MS) return this.#sizes;
    this.#reading ??= this.#read(now).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(at: number): Promise<QueueSizes> {
    const queued = new Map<string, number>();
    let inAll = 0;
    for (const { name, stats } of await this.#options.queues()) {
      const n = stats.ready + stats.running + stats.scheduled + stats.waiting;
      queued.set(name, n);
      inAll += n;
    }
    this.#sizes = { at, queued, inAll };
    return this.#sizes;
  }
}

function full(problem: string): Error {
  return fault('TOO_MANY', { problem, retryAfterMs: FULL_MS });
}
