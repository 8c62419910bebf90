import type { DutyTenure } from '../../store/store.ts';
import type { Engine } from '../engine.ts';
import type { Duty, PassResult } from './duty.ts';

const BATCH = 500;
/** Of refused strangers, the newest: a flood of them cannot fill the store. */
const MOST_STRANGERS = 10_000;

/**
 * Removes finished tasks, events, operation ids, unique keys and workers that are older than the retention, a little at a time. Entries of
 * the audit have a retention of their own.
 */
export class Pruner implements Duty {
  readonly name = 'pruner';
  readonly intervalMs = 60_000;
  readonly restMs = 5000;
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async tick(term: DutyTenure): Promise<PassResult> {
    const { retentionMs, auditRetentionMs, store } = this.#engine;
    const { tasks, events, workers, done } = await store.taskPrune({ duty: term, retentionMs, limit: BATCH });
    const audit = await this.#pruneAudit(term, done ? auditRetentionMs : undefined);
    // Not at once: a walk over a million rows should leave time between its steps.
    return { did: tasks + events + workers + audit, nextInMs: done && audit < BATCH ? this.intervalMs : 50 };
  }

  /** With the last step of a round only: there is seldom anything to do. */
  async #pruneAudit(duty: DutyTenure, retentionMs: number | undefined): Promise<number> {
    if (retentionMs === undefined) return 0;
    return this.#engine.store.auditPrune({ duty, retentionMs, strangers: MOST_STRANGERS, limit: BATCH });
  }
}
