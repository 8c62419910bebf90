import type { DutyTenure } from '../../store/store.ts';
import type { Engine } from '../engine.ts';
import type { Duty, PassResult } from './duty.ts';

const BATCH = 500;
/** The interval while there are events to number, and while there are none: an idle cluster should put little load on its database. */
const BUSY_MS = 100;
const IDLE_MS = 500;
/** After a commit of this process: so that many commits share one pass. */
export const AFTER_COMMIT_MS = 20;

/**
 * Numbers the events, where the store cannot do that in the write itself: of many writes that commit at the same time, one must come first.
 * The order in which they become visible keeps cause before effect.
 */
export class Sequencer implements Duty {
  readonly name = 'feed';
  readonly intervalMs = IDLE_MS;
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async tick(term: DutyTenure): Promise<PassResult> {
    const { events, more } = await this.#engine.store.eventNumber({ duty: term, limit: BATCH });
    if (events > 0) this.#engine.changed();
    return { did: events, more, nextInMs: events > 0 ? BUSY_MS : IDLE_MS };
  }
}
