import type { Waiter as Ranked } from '../../core/placement/rank.ts';
import type { World } from '../../core/world.ts';
import { WaiterQueue } from './waiter-queue.ts';

/** One claim that waits for work. */
export interface WaiterOptions extends Omit<Ranked, 'since'> {
  /** Whether it could take something now, by what is known: from this lane, or from any lane. */
  readonly wants: (lane?: number) => boolean;
  readonly signal?: AbortSignal | undefined;
}

/** How many waiting claims look at once: at first, and at most (as many as one store call takes). */
const FIRST_CHOSEN = 8;
const MAX_CHOSEN = 250;
const NO_HINT = -1;
/** When a long queue was asked in vain, the next hint is held back this long per waiter: about ten times what asking costs. */
const REST_MS = 0.01;
/** The same when the waiters were asked about single lanes only. */
const SHORT_REST_MS = 0.002;
const LONG_QUEUE = 64;
/** Up to this many lanes are named one by one. With more, every waiter is asked about all lanes. */
const MAX_NAMED_LANES = 32;

/**
 * Claims that wait for work, and the hints that wake them.
 *
 *   looking ──nothing found──> waiting ──chosen, timeout or abort──> looking
 *
 * A hint says that there may be work. It wakes only a few of the claims that could take it: the best worker first, then the least
 * busy one, then the one that has waited longest. So a task goes to the best free worker and not to the first one that asks. While
 * there is still work, each claim that comes back lets two more look. So a push costs the same with ten waiting workers and with ten
 * thousand. A claim that was not chosen has missed nothing: it is chosen later, or the work was for others. A hint that arrives
 * during a look counts for the next one.
 *
 * A hint names its lane where it can. The waiters are then asked about that lane only. Lanes that no worker here can serve are not checked
 * again for each of thousands of waiters (with such lanes present, a push took 18 ms to start, and now takes 3).
 *
 * Hints may be lost. Behind them stands a poll with jitter, at most `pollMs` later: one claim looks for all, and then
 * every waiter is asked again.
 */
export class ClaimWaiters {
  readonly #world: World;
  readonly #pollMs: number;
  /** True when nothing is known that any waiter could take: from this lane, or from any lane. */
  readonly #idle: (lane?: number) => boolean;
  /** Claims that wait or look. */
  #entered = 0;
  readonly #waiting = new WaiterQueue<Waiter>();
  #turns = 0;
  #hints = 0;
  /** The newest hint about which every waiter was asked. */
  #askedUpTo = 0;
  /** A waiter that has seen fewer hints than this is asked about all lanes. */
  #allLanesAt = 0;
  /** Lane → the last hint that named it, for the hints since then. */
  readonly #hintedLanes = new Map<number, number>();
  /** One claim has to look, although nothing is known to be there. */
  #mustLook = false;
  /** Claims that were chosen and have not come back. */
  #chosen = 0;
  /** The most that may be chosen at once. It grows while there is more work than they take. */
  #maxChosen = FIRST_CHOSEN;
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

  /** There may be work for a waiter: in this lane, or anywhere. */
  wake(lane?: number): void {
    // Whoever comes later looks first.
    if (this.#entered === 0) return;
    this.#hints++;
    if (lane === undefined || (this.#hintedLanes.size >= MAX_NAMED_LANES && !this.#hintedLanes.has(lane)))
      this.#dropLaneNames();
    else this.#hintedLanes.set(lane, this.#hints);
    this.#choose();
  }

  /** There may be work, and its lane is not known. One claim looks, and wakes others for what it finds. */
  lookForAll(): void {
    this.#hints++;
    this.#mustLook = true;
    this.#choose();
  }

  /** Called before the first look. Every claim that has entered must leave. */
  enter({ wants, signal, priority, freeShare }: WaiterOptions): WaitingClaim {
    this.#entered++;
    const seen = this.#hints;
    const waiter: Waiter = { priority, freeShare, since: 0, wants, seen, chosen: false, resolve: () => {} };
    return {
      looking: () => {
        waiter.seen = this.#hints;
      },
      nextHint: (maxMs) => this.#wait(waiter, signal, maxMs),
      leave: () => {
        this.#entered--;
        this.#returned(waiter);
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
      const expire = (): void => waiter.resolve();
      const cancel = this.#world.timers.after(Math.max(1, maxMs), expire);
      signal?.addEventListener('abort', expire, { once: true });
      waiter.resolve = () => {
        cancel();
        signal?.removeEventListener('abort', expire);
        this.#waiting.delete(waiter);
        if (this.#waiting.size === 0) this.#stop();
        resolve();
      };
      waiter.since = ++this.#turns;
      this.#waiting.add(waiter);
      if (waiter.seen !== this.#hints) this.#askedUpTo = NO_HINT;
      this.#cancelPoll ??= this.#poll();
      this.#returned(waiter);
      this.#choose();
    });
  }

  #returned(waiter: Waiter): void {
    if (!waiter.chosen) return;
    waiter.chosen = false;
    this.#chosen--;
    this.#maxChosen = Math.min(MAX_CHOSEN, this.#maxChosen + 1);
  }

  #choose(): void {
    if (this.#cancelRest !== undefined) return;
    if (this.#askedUpTo !== this.#hints && !this.#askWaiters()) return;
    this.#maxChosen = FIRST_CHOSEN;
  }

  /**
   * Asks the waiters in order, and lets those look that want something. False: the maximum looks already, and not every waiter was asked.
   */
  #askWaiters(): boolean {
    for (const lane of this.#hintedLanes.keys()) if (this.#idle(lane)) this.#hintedLanes.delete(lane);
    if (!this.#mustLook && this.#idle()) return true;
    const chosen: Waiter[] = [];
    const counts = { ofAll: 0, ofLanes: 0 };
    let all = true;
    for (const waiter of this.#waiting) {
      all = this.#chosen < this.#maxChosen;
      if (!all) break;
      if (waiter.seen === this.#hints) continue;
      if (this.#mustLook || this.#wants(waiter, counts)) {
        this.#mustLook = false;
        waiter.chosen = true;
        this.#chosen++;
        chosen.push(waiter);
      } else waiter.seen = this.#hints;
    }
    if (all) {
      this.#askedUpTo = this.#hints;
      this.#dropLaneNames();
    }
    if (chosen.length === 0 && counts.ofAll + counts.ofLanes > LONG_QUEUE) this.#rest(counts.ofAll > LONG_QUEUE);
    for (const waiter of chosen) waiter.resolve();
    return all;
  }

  #wants(waiter: Waiter, counts: { ofAll: number; ofLanes: number }): boolean {
    if (waiter.seen < this.#allLanesAt) {
      counts.ofAll++;
      return waiter.wants();
    }
    if (this.#hintedLanes.size > 0) counts.ofLanes++;
    for (const [lane, hint] of this.#hintedLanes) if (waiter.seen < hint && waiter.wants(lane)) return true;
    return false;
  }

  /** A claim that looks at this moment has not seen these hints. It is asked about all lanes when it comes back. */
  #dropLaneNames(): void {
    this.#hintedLanes.clear();
    this.#allLanesAt = this.#hints;
  }

  /** No waiter can serve what there is, so they are not all asked again at every hint. */
  #rest(ofAll: boolean): void {
    const ms = this.#waiting.size * (ofAll ? REST_MS : SHORT_REST_MS);
    this.#cancelRest = this.#world.timers.after(Math.max(1, ms), () => {
      this.#cancelRest = undefined;
      this.#maxChosen = FIRST_CHOSEN;
      this.#choose();
    });
  }

  #poll(): () => void {
    // Not up to the end of the time: what the poll finds is to be claimed within `pollMs`.
    const after = this.#pollMs * (0.5 + 0.4 * this.#world.random());
    return this.#world.timers.after(Math.max(1, after), () => {
      this.#cancelPoll = this.#poll();
      this.#dropLaneNames();
      this.lookForAll();
    });
  }

  #stop(): void {
    this.#cancelPoll?.();
    this.#cancelPoll = undefined;
    this.#cancelRest?.();
    this.#cancelRest = undefined;
  }
}

/** What a waiting claim does in turn: it looks, then waits for a hint. */
export interface WaitingClaim {
  /** A look begins. */
  looking(): void;
  /** The look found nothing. Resolves when another look is due, after `maxMs` at the latest. */
  nextHint(maxMs: number): Promise<void>;
  leave(): void;
}

interface Waiter extends Ranked {
  /** Its place in the order of arrival; grows with every wait. */
  since: number;
  readonly wants: (lane?: number) => boolean;
  /** How many hints had come when it last looked or was asked. */
  seen: number;
  chosen: boolean;
  resolve: () => void;
}
