import { byTurn, type Waiter } from '../core/rank.ts';
import type { World } from '../core/world.ts';

/** Who asks for work, and whether there is any for it. */
export interface Asker extends Waiter {
  /** Whether some lane is believed to have work for it. Looks at no more lanes than the budget says. */
  readonly seeks: (budget: number) => { readonly found: boolean; readonly looked: number };
}

/** A place in the line. A sign that comes during a look is not missed. */
export interface Turn {
  /** It looks for itself now. */
  look(): void;
  /** The look is over and found nothing. Comes with its turn, the poll, the abort, or when its time is over. */
  sign(): Promise<void>;
  leave(): void;
}

export interface TurnsDeps {
  readonly world: World;
  readonly pollMs: number;
  /** What is known of lanes is too old to go by: somebody has to look. */
  readonly stale: () => boolean;
  /** No lane is believed to have work for anybody. */
  readonly idle: () => boolean;
}

interface Place {
  readonly asker: Asker;
  /** Ends the wait; undefined while it looks for itself. */
  end: (() => void) | undefined;
  /** A sign came during its look. */
  missed: boolean;
  /** Those that were woken with it, until its look is over. */
  batch: Batch | undefined;
}

interface Batch {
  readonly round: Round;
  open: number;
}

/** One going through a long line after a sign, best first. Each place is tried once. */
interface Round {
  /** The best ones; then all that are left. */
  line: readonly Place[];
  whole: boolean;
  at: number;
  readonly tried: Set<Place>;
  woken: number;
  /** Whoever is first looks, whether it is believed to find something or not. */
  scout: boolean;
}

/** So many are woken together: they ask in one flush, in their order. In a line that is no longer than this all of them are. */
const TOGETHER = 64;
/** Lanes that are looked at in one go to find who could be served. */
const BUDGET = 5000;
/** After a look in vain the next one waits so long for each place of the line, which is a hundred times what the look cost. */
const REST_MS = 0.01;

/**
 * Those of one engine that wait for work. A sign that there may be some wakes the best of them first, and the others in their order
 * while there may be more: a task goes to the best worker that is free, not to whoever happens to ask first. Signs are hints:
 * behind them stands one poll for all, with jitter, at most `pollMs` later.
 *
 * In a short line everybody is woken, in order. In a long one only those for whom some lane is believed to have work, `TOGETHER` at a
 * time, the next ones when these have looked. A backlog that nobody can serve is gone through now and then, not at every sign.
 */
export class Turns {
  readonly #deps: TurnsDeps;
  readonly #line = new Set<Place>();
  /** Of these, those that look for themselves. */
  readonly #looking = new Set<Place>();
  #poll: (() => void) | undefined;
  #round: Round | undefined;
  #rest: (() => void) | undefined;
  /** Another sign came while a round went on, or rested. */
  #again = false;

  constructor(deps: TurnsDeps) {
    this.#deps = deps;
  }

  get awaited(): boolean {
    return this.#line.size > 0;
  }

  /** There may be work. */
  wake(): void {
    if (this.#line.size > TOGETHER) this.#begin();
    else if (this.#line.size > 0) this.#wakeAll();
  }

  join(asker: Asker, signal?: AbortSignal, maxMs = Number.POSITIVE_INFINITY): Turn {
    const place: Place = { asker, end: undefined, missed: false, batch: undefined };
    const over = (): void => tell(place);
    const { timers } = this.#deps.world;
    const cancel = maxMs === Number.POSITIVE_INFINITY ? () => {} : timers.after(Math.max(1, maxMs), over);
    signal?.addEventListener('abort', over, { once: true });
    this.#line.add(place);
    this.#looking.add(place);
    this.#poll ??= this.#planPoll();
    return {
      look: () => {
        place.missed = false;
        this.#looking.add(place);
      },
      sign: () => {
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#looking.delete(place);
        place.end = () => {
          place.end = undefined;
          resolve();
        };
        if (place.missed) place.end();
        this.#lookedFrom(place);
        return promise;
      },
      leave: () => {
        cancel();
        signal?.removeEventListener('abort', over);
        this.#leave(place);
      },
    };
  }

  #leave(place: Place): void {
    this.#line.delete(place);
    this.#looking.delete(place);
    if (this.#line.size > 0) return this.#lookedFrom(place);
    this.#poll?.();
    this.#poll = undefined;
    this.#rest?.();
    this.#rest = undefined;
    this.#round = undefined;
    this.#again = false;
  }

  #planPoll(): () => void {
    const { world, pollMs } = this.#deps;
    return world.timers.after(pollMs * (0.5 + world.random() / 2), () => {
      this.#poll = this.#planPoll();
      // Whoever was woken and has not come back by now holds up nobody.
      this.#round = undefined;
      this.wake();
    });
  }

  #wakeAll(): void {
    const line = [...this.#line];
    if (line.length > 1) line.sort((a, b) => byTurn(a.asker, b.asker));
    for (const place of line) tell(place);
  }

  // A long line

  #begin(): void {
    for (const place of this.#looking) place.missed = true;
    if (this.#round !== undefined || this.#rest !== undefined) {
      this.#again = true;
      return;
    }
    const { idle, stale } = this.#deps;
    const scout = stale();
    if (!scout && idle()) return;
    this.#round = { line: best(this.#line), whole: false, at: 0, tried: new Set(), woken: 0, scout };
    this.#go(this.#round);
  }

  /** Wakes the next ones. */
  #go(round: Round): void {
    if (round !== this.#round) return;
    let budget = BUDGET;
    const batch: Batch = { round, open: 0 };
    const woken: Place[] = [];
    while (woken.length < TOGETHER && budget > 0) {
      const place = this.#next(round);
      if (place === undefined) break;
      round.tried.add(place);
      const { found, looked } = place.asker.seeks(budget);
      budget -= Math.max(1, looked);
      if (found || round.scout) woken.push(place);
      round.scout = false;
    }
    batch.open = woken.length;
    round.woken += woken.length;
    for (const place of woken) {
      place.batch = batch;
      tell(place);
    }
    if (woken.length > 0) return;
    // Some of the line was not looked at yet, or all of it in vain.
    if (budget > 0) this.#end(round);
    else this.#restThen(() => this.#go(round));
  }

  /** The best one that waits and was not tried. */
  #next(round: Round): Place | undefined {
    for (;;) {
      while (round.at < round.line.length) {
        const place = round.line[round.at++] as Place;
        if (place.end !== undefined && this.#line.has(place) && !round.tried.has(place)) return place;
      }
      if (round.whole) return undefined;
      round.line = [...this.#line].toSorted((a, b) => byTurn(a.asker, b.asker));
      round.whole = true;
      round.at = 0;
    }
  }

  /** The look of one that was woken is over. When all of them have looked, there may be something left for the next ones. */
  #lookedFrom(place: Place): void {
    const { batch } = place;
    place.batch = undefined;
    if (batch === undefined) return;
    batch.open--;
    if (batch.open > 0 || batch.round !== this.#round) return;
    if (this.#deps.idle()) this.#end(batch.round);
    else this.#go(batch.round);
  }

  #end({ woken }: Round): void {
    this.#round = undefined;
    if (woken === 0) this.#restThen(() => {});
    else if (this.#again) {
      this.#again = false;
      this.#begin();
    }
  }

  #restThen(then: () => void): void {
    this.#rest = this.#deps.world.timers.after(Math.max(1, this.#line.size * REST_MS), () => {
      this.#rest = undefined;
      then();
      if (this.#round !== undefined || !this.#again) return;
      this.#again = false;
      this.wake();
    });
  }
}

function tell(place: Place): void {
  place.missed = true;
  place.end?.();
}

/** The first of those that wait, in order. One pass: signs come often, and mostly the first of all takes what there is. */
function best(line: Iterable<Place>): readonly Place[] {
  const first: Place[] = [];
  for (const place of line) {
    if (place.end === undefined) continue;
    const last = first.at(-1);
    if (first.length === TOGETHER && byTurn(place.asker, (last as Place).asker) >= 0) continue;
    let at = first.length;
    while (at > 0 && byTurn(place.asker, (first[at - 1] as Place).asker) < 0) at--;
    first.splice(at, 0, place);
    if (first.length > TOGETHER) first.pop();
  }
  return first;
}
