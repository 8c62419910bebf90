import type { NewTask, PushAnswer, WatchParams } from '../store.ts';
import type { PostgresWakeups } from './connect/wakeups.ts';
import type { Lanes } from './lanes.ts';
import type { Marks } from './marks.ts';
import { prioOf } from './prio.ts';
import { isReady } from './verbs/queue/push.ts';

/** Says where something became ready or has room again, to other processes and to listeners in this one. */
export class ReadyHints {
  readonly #lanes: Lanes;
  readonly #marks: Marks;
  readonly #wakeups: PostgresWakeups;
  /** Told of what this process itself wakes. */
  readonly #listeners = new Set<WatchParams['onChange']>();

  constructor({ lanes, marks }: { readonly lanes: Lanes; readonly marks: Marks }, wakeups: PostgresWakeups) {
    this.#lanes = lanes;
    this.#marks = marks;
    this.#wakeups = wakeups;
  }

  /** These tasks were pushed. */
  pushed(items: readonly NewTask[], answers: readonly PushAnswer[]): void {
    const lanes = new Set<number>();
    for (const [i, answer] of answers.entries()) {
      if (!answer.ok || !isReady(answer)) continue;
      const { lane, priority } = items[i] as NewTask;
      lanes.add(lane);
      this.#marks.lower(lane, { prio: prioOf(priority), id: answer.task });
    }
    if (lanes.size > 0) this.#wakeups.tell(lanes);
  }

  /** Tasks of unknown place became ready there; and from these lanes tasks went, which had taken from their limits. */
  ready(lanes: Iterable<number>, left: Iterable<number> = []): void {
    const all = [...lanes];
    const slots = this.#slotsOf(left);
    if (all.length + slots.size === 0) return;
    this.#marks.drop(all);
    this.#wakeups.tell(all, slots);
  }

  /** Tasks of these lanes have ended. */
  ended(lanes: Iterable<number | undefined>): void {
    this.#wakeups.tell([], this.#slotsOf(lanes));
  }

  /** Tasks that no answer names were woken in these lanes. */
  woken(lanes: readonly number[]): void {
    if (lanes.length > 0) for (const hear of this.#listeners) hear(lanes);
  }

  /** There are new events. */
  news(): void {
    this.#wakeups.tell([]);
  }

  /** Anything may be otherwise from now on. */
  everything(): void {
    this.#wakeups.tellAll();
  }

  watch({ wanted, onChange }: WatchParams): () => void {
    const hear = (lanes: readonly number[] | undefined, slots: readonly number[]): void => {
      this.#marks.drop(lanes);
      if (wanted()) onChange(lanes, slots);
    };
    const listener: WatchParams['onChange'] = (lanes) => onChange(lanes);
    this.#listeners.add(listener);
    const stop = this.#wakeups.listen({ wanted, hear });
    return () => {
      this.#listeners.delete(listener);
      stop();
    };
  }

  #slotsOf(lanes: Iterable<number | undefined>): ReadonlySet<number> {
    const slots = new Set<number>();
    for (const lane of lanes) {
      const rules = lane === undefined ? undefined : this.#lanes.known(lane)?.rules;
      for (const { slot } of rules?.uses ?? []) slots.add(slot);
    }
    return slots;
  }
}
