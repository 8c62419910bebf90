import type { DutyTenure } from '../../store/store.ts';
import type { Engine } from '../engine.ts';
import type { Duty, PassResult } from './duty.ts';

const BATCH = 500;

/** Removes finished tasks, events, operation ids, unique keys and workers that are older than the retention, a little at a time. */
export class Pruner implements Duty {
  readonly name = 'pruner';
  readonly intervalMs = 60_000;
  readonly restMs = 5000;
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async tick(term: DutyTenure): Promise<PassResult> {
    const { retentionMs, store } = this.#engine;
    const { tasks, events, workers, done } = await store.taskPrune({ duty: term, retentionMs, limit: BATCH });
    // Not at once: a walk over a million rows should leave time between its steps.
    return { did: tasks + events + workers, nextInMs: done ? this.intervalMs : 50 };
  }
}
