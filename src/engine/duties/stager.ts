import type { Tenure } from '../../store/store.ts';
import type { Engine } from '../engine.ts';
import type { Duty, Pass } from './duty.ts';

const BATCH = 500;

/** Makes due tasks ready. Wakes at the earliest one; the interval is the net for tasks that other processes pushed. */
export class Stager implements Duty {
  readonly name = 'stager';
  readonly intervalMs = 1000;
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async tick(term: Tenure): Promise<Pass> {
    const { staged, lanes, nextInMs } = await this.#engine.store.taskStage({ duty: term, limit: BATCH });
    for (const lane of lanes) this.#engine.ring.mark(lane);
    return { did: staged, more: staged === BATCH, nextInMs };
  }
}
