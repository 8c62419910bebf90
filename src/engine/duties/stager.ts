import type { DutyTenure } from '../../store/store.ts';
import type { Engine } from '../engine.ts';
import type { Duty, PassResult } from './duty.ts';

const BATCH = 500;
/** After work that another process has left for it, the stager wants to hear of the next at once, for this long. */
const EXPECTING_MS = 60_000;

/**
 * Makes due tasks ready, ends tasks that waited too long for their first start, and continues where an ended task had more dependents than
 * one transaction handles. It wakes at the earliest due time and when dependents are left for it; the interval is for hints that were lost.
 */
export class Stager implements Duty {
  readonly name = 'stager';
  readonly intervalMs = 1000;
  readonly #engine: Engine;
  #expectsUntil = Number.NEGATIVE_INFINITY;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /**
   * Whether hints of other processes are worth listening to, also while nothing in this one waits. Dense graphs run in bursts, so the first
   * work that the interval finds tells of the next.
   */
  get expects(): boolean {
    return this.#engine.world.clock.monotonic() < this.#expectsUntil;
  }

  async tick(term: DutyTenure): Promise<PassResult> {
    const { store, readyLanes } = this.#engine;
    // In one turn of the loop, so that a store that can will commit them together.
    const [late, due, carried] = await Promise.all([
      store.taskExpire({ duty: term, limit: BATCH }),
      store.taskStage({ duty: term, limit: BATCH }),
      store.depCarry({ duty: term, limit: BATCH }),
    ]);
    for (const lane of [...due.lanes, ...carried.lanes]) readyLanes.mark(lane);
    if (carried.carried > 0) this.#expectsUntil = this.#engine.world.clock.monotonic() + EXPECTING_MS;
    const did = due.staged + late.expired + carried.carried;
    if (did > 0) this.#engine.changed();
    return {
      did,
      more: due.staged === BATCH || late.expired === BATCH || carried.more,
      nextInMs: earlier(due.nextInMs, late.nextInMs),
    };
  }
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}
