import { isEngineError } from '../../core/errors.ts';
import { dueFireTimes, fireKey, NEVER } from '../../core/schedule/due.ts';
import { fireTimesOf } from '../../core/schedule/expression.ts';
import type { DutyTenure, NewTask, TriggerRecord } from '../../store/store.ts';
import type { Engine } from '../engine.ts';
import { DEFAULT_UNIQUE_MS } from '../push/push.ts';
import { type Firing, firingOf } from '../trigger-runs.ts';
import type { Duty, PassResult } from './duty.ts';

const BATCH = 100;
/** The most missed fire times of one trigger that `all` makes up for. */
const MOST_MISSED = 100;

/** Fires each fire time of the triggers once: the trigger moves by compare-and-set, and the fire time is part of the task's unique key. */
export class Cron implements Duty {
  readonly name = 'cron';
  readonly intervalMs = 1000;
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async tick(term: DutyTenure): Promise<PassResult> {
    const { now, triggers, nextInMs } = await this.#engine.store.triggerDue({ limit: BATCH });
    let fired = 0;
    let broken: unknown;
    for (const trigger of triggers) {
      try {
        fired += await this.#fire(term, trigger, now);
      } catch (error) {
        // One trigger that cannot be fired must not stop the others; its error is thrown after them.
        if (isEngineError(error, 'DUTY_LOST')) throw error;
        broken ??= error;
      }
    }
    if (broken !== undefined) throw broken;
    return { did: fired, more: triggers.length === BATCH, nextInMs };
  }

  async #fire(term: DutyTenure, trigger: TriggerRecord, now: number): Promise<number> {
    const next = fireTimesOf(trigger.cron, trigger.timezone);
    const due = dueFireTimes({ nextAt: trigger.nextAt, now, policy: trigger.missed, next, limit: MOST_MISSED });
    const firings = due.fire.map((fireTime) => firingOf(trigger, fireTime));
    const { pushed } = await this.#engine.store.triggerFire({
      duty: term,
      name: trigger.name,
      from: trigger.nextAt,
      nextAt: due.nextAt ?? NEVER,
      skipped: due.skipped,
      slots: due.fire,
      items: due.fire.map((fireTime, i) => taskOf(trigger, fireTime, (firings[i] as Firing).payload)),
      // A run is one of the version that its workflow has when it is made.
      ...(trigger.run === undefined ? {} : { payload: trigger.payload, runs: firings.flatMap(({ run }) => run ?? []) }),
    });
    if (pushed.length > 0) this.#engine.readyLanes.mark(trigger.lane);
    return pushed.filter((answer) => answer.ok && answer.fresh).length;
  }
}

function taskOf(trigger: TriggerRecord, fireTime: number, payload: string): NewTask {
  return {
    lane: trigger.lane,
    spec: trigger.spec,
    priority: trigger.priority,
    maxTries: trigger.maxTries,
    payload,
    unique: { key: fireKey(trigger.name, fireTime), hash: 0, windowMs: DEFAULT_UNIQUE_MS },
  };
}
