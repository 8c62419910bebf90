import type { DutyTenure } from '../../store/store.ts';
import type { Engine } from '../engine.ts';
import type { Log } from '../log.ts';
import { unfailing } from '../unfailing-log.ts';
import type { Duty, PassResult } from './duty.ts';

/** Recounts the counters that claims and settles keep up to date. A difference is a bug of ours: it is repaired, and reported as one. */
export class Auditor implements Duty {
  readonly name = 'auditor';
  readonly intervalMs = 10 * 60_000;
  readonly restMs = 5000;
  readonly #engine: Engine;
  readonly #log: Log;

  constructor(engine: Engine, log: Log) {
    this.#engine = engine;
    this.#log = unfailing(log);
  }

  async tick(term: DutyTenure): Promise<PassResult> {
    const { store, readyLanes } = this.#engine;
    const drifts = await store.statsAudit({ duty: term });
    for (const drift of drifts) {
      this.#log.error('a counter had drifted and was repaired: please report this as a bug', { ...drift });
    }
    const counters = await store.counterAudit({ duty: term });
    for (const { name: limit, ...drift } of counters) {
      this.#log.error('a limit had drifted and was repaired: please report this as a bug', { limit, ...drift });
    }
    // Lanes may have been blocked for nothing.
    if (counters.length > 0) readyLanes.hint();
    return { did: drifts.length + counters.length };
  }
}
