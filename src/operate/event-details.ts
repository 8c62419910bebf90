import { type FeedEvent, isTaskEvent, type TaskEvent } from '../core/task/event.ts';
import type { Engine } from '../engine/engine.ts';
import type { AttemptWorker } from '../engine/records.ts';

/** What is known of the attempt of an event. */
export type EventFacts = Partial<AttemptWorker>;

/** Attempts whose worker is remembered. Who reads at the end of the feed asks the store once for each attempt, however many readers there are. */
const MOST = 10_000;
const AT_ONCE = 500;
/** An attempt has an error or a reason from its end on, so that these are read again. */
const ENDS: ReadonlySet<TaskEvent['change']> = new Set(['failed', 'retried', 'expired', 'cancelled']);

/** The workers of attempts, and how they ended. Events do not carry them: each claim and each settle would pay for it. */
export class EventDetails {
  readonly #engine: Engine;
  #known = new Map<string, AttemptWorker>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** By the numbers of the events. */
  async of(events: readonly FeedEvent[]): Promise<ReadonlyMap<number, EventFacts>> {
    const own = events.filter((event) => isTaskEvent(event)).filter(({ attempt }) => attempt > 0);
    const unknown = own.filter((event) => ENDS.has(event.change) || !this.#known.has(keyOf(event)));
    for (let from = 0; from < unknown.length; from += AT_ONCE) await this.#read(unknown.slice(from, from + AT_ONCE));
    return new Map(own.map((event) => [event.seq, this.#known.get(keyOf(event)) ?? {}]));
  }

  async #read(events: readonly TaskEvent[]): Promise<void> {
    const items = events.map(({ task, attempt }) => ({ task, attempt }));
    const found = await this.#engine.store.attemptWorkers({ items });
    if (this.#known.size > MOST) this.#known = new Map();
    for (const [i, event] of events.entries()) {
      const one = found[i];
      if (one !== undefined) this.#known.set(keyOf(event), one);
    }
  }
}

function keyOf({ task, attempt }: TaskEvent): string {
  return `${task}/${attempt}`;
}
