import type { Waiter as Ranked } from '../../core/placement/rank.ts';
import type { World } from '../../core/world.ts';
import { WaiterQueue } from './waiter-queue.ts';

/** One claim that waits for work. */
export interface WaiterOptions extends Omit<Ranked, 'since'> {
  /** Whether there is something for it, by what is known now: in this lane, or in any. */
  readonly wants: (lane?: number) => boolean;
  readonly signal?: AbortSignal | undefined;
}

/** How many look at once at first, and at most: as many as one call of the store takes. */
const FEW = 8;
const MANY = 250;
const NOBODY = -1;
/** After all of a long line were asked in vain the next sign waits so long for each of them: some ten times what it cost. */
const REST_MS = 0.01;
/** The same where they were asked of single lanes. */
const SHORT_REST_MS = 0.002;
const LONG_LINE = 64;
/** Lanes that are told one by one; with more of them everybody is asked of everything. */
const MANY_LANES = 32;

/**
 * Signs that there may be work, for claims that wait for it.
 *
 *   looking ──in vain──> waiting ──chosen, its time is over, or an abort──> looking
 *
 * A sign lets a few look of those who want what there is: the best worker first, then the least busy one, then the one that has
 * waited longest. A task goes to the best that is free, not to whoever happens to ask first. While there is still something, two more look
 * for each that is back. So a push costs the same whether ten workers wait or ten thousand. Who was not chosen has looked at nothing
 * since: it is chosen later, or the sign was for others. A sign that comes during a look counts for the next one.
 *
 * A sign tells of one lane where it can, and then they are asked of that one only: what lies elsewhere, and nobody here can serve, is
 * not gone through again with each of thousands (a push beside it took 18 ms to start, and takes 3).
 *
 * Signs are hints. Behind them stands a poll with jitter, at most `pollMs` later: one looks for all, and everybody is asked anew.
 */
export class ClaimWaiters {
  readonly #world: World;
  readonly #pollMs: number;
  /** Nothing is known that anybody could want. */
  readonly #idle: (lane?: number) => boolean;
  /** Waiting or looking. */
  #entered = 0;
  readonly #waiting = new WaiterQueue<Waiter>();
  #turns = 0;
  #signs = 0;
  /** The signs of which everybody who waits was asked. */
  #asked = 0;
  /** Who has seen less than so many signs is asked of everything. */
  #allAt = 0;
  /** Of the signs since then: which lane they told of, and the last that did. */
  readonly #news = new Map<number, number>();
  /** Somebody has to look, whether it is known to find something or not. */
  #blind = false;
  /** Chosen, and not back. */
  #chosen = 0;
  /** Who may be; grows while there is more than they take. */
  #most = FEW;
  #cancelPoll: (() => void) | undefined;
  #cancelRest: (() => void) | undefined;

  constructor(world: World, pollMs: number, idle: (lane?: number) => boolean = () => false) {
    this.#world = world;
    this.#pollMs = pollMs;
    this.#idle = idle;
  }

  get awaited(): boolean {
    return this.#entered > 0;
  }

  /** There is something that may be for one of them: in this lane, or anywhere. */
  wake(lane?: number): void {
    this.#signs++;
    if (lane === undefined || (this.#news.size >= MANY_LANES && !this.#news.has(lane))) this.#forgetNews();
    else this.#news.set(lane, this.#signs);
    this.#choose();
  }

  /** There may be something, and nobody knows what: one looks. What it finds it tells. */
  call(): void {
    this.#signs++;
    this.#blind = true;
    this.#choose();
  }

  /** Before its first look. Who has entered has to leave. */
  enter({ wants, signal, priority, freeShare }: WaiterOptions): WaitingClaim {
    this.#entered++;
    const seen = this.#signs;
    const waiter: Waiter = { priority, freeShare, since: 0, wants, seen, chosen: false, resolve: () => {} };
    return {
      looking: () => {
        waiter.seen = this.#signs;
      },
      sign: (maxMs) => this.#wait(waiter, signal, maxMs),
      leave: () => {
        this.#entered--;
        this.#back(waiter);
        this.#choose();
      },
    };
  }

  #wait(waiter: Waiter, signal: AbortSignal | undefined, maxMs: number): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) {
        resolve();
        return;
      }
      const over = (): void => waiter.resolve();
      const cancel = this.#world.timers.after(Math.max(1, maxMs), over);
      signal?.addEventListener('abort', over, { once: true });
      waiter.resolve = () => {
        cancel();
        signal?.removeEventListener('abort', over);
        this.#waiting.delete(waiter);
        if (this.#waiting.size === 0) this.#stop();
        resolve();
      };
      waiter.since = ++this.#turns;
      this.#waiting.add(waiter);
      if (waiter.seen !== this.#signs) this.#asked = NOBODY;
      this.#cancelPoll ??= this.#poll();
      this.#back(waiter);
      this.#choose();
    });
  }

  #back(waiter: Waiter): void {
    if (!waiter.chosen) return;
    waiter.chosen = false;
    this.#chosen--;
    this.#most = Math.min(MANY, this.#most + 1);
  }

  #choose(): void {
    if (this.#cancelRest !== undefined) return;
    if (this.#asked !== this.#signs && !this.#askAll()) return;
    this.#most = FEW;
  }

  /** False: as many look as may, and not everybody was asked. */
  #askAll(): boolean {
    for (const lane of this.#news.keys()) if (this.#idle(lane)) this.#news.delete(lane);
    if (!this.#blind && this.#idle()) return true;
    const chosen: Waiter[] = [];
    const asked = { ofAll: 0, ofLanes: 0 };
    let all = true;
    for (const waiter of this.#waiting) {
      all = this.#chosen < this.#most;
      if (!all) break;
      if (waiter.seen === this.#signs) continue;
      if (this.#blind || this.#wants(waiter, asked)) {
        this.#blind = false;
        waiter.chosen = true;
        this.#chosen++;
        chosen.push(waiter);
      } else waiter.seen = this.#signs;
    }
    if (all) {
      this.#asked = this.#signs;
      this.#forgetNews();
    }
    if (chosen.length === 0 && asked.ofAll + asked.ofLanes > LONG_LINE) this.#rest(asked.ofAll > LONG_LINE);
    for (const waiter of chosen) waiter.resolve();
    return all;
  }

  #wants(waiter: Waiter, asked: { ofAll: number; ofLanes: number }): boolean {
    if (waiter.seen < this.#allAt) {
      asked.ofAll++;
      return waiter.wants();
    }
    if (this.#news.size > 0) asked.ofLanes++;
    for (const [lane, sign] of this.#news) if (waiter.seen < sign && waiter.wants(lane)) return true;
    return false;
  }

  /** Who looks at this moment, and has not seen them, is asked of everything when it is back. */
  #forgetNews(): void {
    this.#news.clear();
    this.#allAt = this.#signs;
  }

  /** What there is nobody here can serve: they are not all asked again at every sign. */
  #rest(ofAll: boolean): void {
    const ms = this.#waiting.size * (ofAll ? REST_MS : SHORT_REST_MS);
    this.#cancelRest = this.#world.timers.after(Math.max(1, ms), () => {
      this.#cancelRest = undefined;
      this.#most = FEW;
      this.#choose();
    });
  }

  #poll(): () => void {
    // Not to the very end: what it finds is to be claimed within the time.
    const after = this.#pollMs * (0.5 + 0.4 * this.#world.random());
    return this.#world.timers.after(Math.max(1, after), () => {
      this.#cancelPoll = this.#poll();
      this.#forgetNews();
      this.call();
    });
  }

  #stop(): void {
    this.#cancelPoll?.();
    this.#cancelPoll = undefined;
    this.#cancelRest?.();
    this.#cancelRest = undefined;
  }
}

/** What a claim does in turn: it looks, and waits for a sign. */
export interface WaitingClaim {
  /** A look begins. */
  looking(): void;
  /** It was in vain; comes when another one is due, after `maxMs` at the latest. */
  sign(maxMs: number): Promise<void>;
  leave(): void;
}

interface Waiter extends Ranked {
  /** The turn in which it began to wait. */
  since: number;
  readonly wants: (lane?: number) => boolean;
  /** Signs that had come when it looked last, or was asked. */
  seen: number;
  chosen: boolean;
  resolve: () => void;
}
