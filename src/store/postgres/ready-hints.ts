import type { NewTask, PushAnswer, WatchParams } from '../store.ts';
import type { AttachedNotice, Notice, PostgresWakeups } from './connect/wakeups.ts';
import type { LaneCursors } from './lane-cursors.ts';
import type { Lanes } from './lanes.ts';
import { prioOf } from './prio.ts';
import { isReady } from './verbs/queue/push.ts';
import type { Woken } from './verbs/trees/countdown.ts';

/** Tells other processes, and listeners in this one, which lanes have ready tasks and which counters have room again. */
export class ReadyHints {
  readonly #lanes: Lanes;
  readonly #cursors: LaneCursors;
  readonly #wakeups: PostgresWakeups;
  /** Called for tasks that this process wakes. */
  readonly #listeners = new Set<Pick<WatchParams, 'onChange' | 'onCarried'>>();

  constructor({ lanes, cursors }: { readonly lanes: Lanes; readonly cursors: LaneCursors }, wakeups: PostgresWakeups) {
    this.#lanes = lanes;
    this.#cursors = cursors;
    this.#wakeups = wakeups;
  }

  /** What the push of a single task into this lane may send with its own commit. */
  attach(lane: number): AttachedNotice | undefined {
    return this.#wakeups.attach(lane);
  }

  /** These tasks were pushed. `told`: a notice went with the commit. */
  pushed(items: readonly NewTask[], answers: readonly PushAnswer[], told = false): void {
    const lanes = new Set<number>();
    for (const [i, answer] of answers.entries()) {
      if (!answer.ok || !isReady(answer)) continue;
      const { lane, priority } = items[i] as NewTask;
      lanes.add(lane);
      this.#cursors.lower(lane, { prio: prioOf(priority), id: answer.task });
    }
    if (lanes.size > 0 && !told) this.#wakeups.notify(lanes);
  }

  /**
   * Tasks became ready in these lanes, at unknown places. Tasks left the lanes in `left` and gave back what they took
   * of limits.
   */
  ready(lanes: Iterable<number>, left: Iterable<number> = []): void {
    const all = [...lanes];
    const counters = this.#countersOf(left);
    if (all.length + counters.size === 0) return;
    this.#cursors.drop(all);
    this.#wakeups.notify(all, counters);
  }

  /** Tasks of these lanes have ended. */
  ended(lanes: Iterable<number | undefined>): void {
    this.#wakeups.notify([], this.#countersOf(lanes));
  }

  /** Tasks that no answer names were woken in these lanes. The holder of the stager hears of what is left to carry. */
  woken({ lanes, carried }: Woken): void {
    if (carried) this.#wakeups.notifyCarried();
    for (const { onChange, onCarried } of this.#listeners) {
      if (lanes.size > 0) onChange([...lanes]);
      if (carried) onCarried?.();
    }
  }

  /** There are new events. */
  news(): void {
    this.#wakeups.notify([]);
  }

  /** Anything may have changed. */
  everything(): void {
    this.#wakeups.notifyAll();
  }

  watch({ wanted, onChange, onCarried }: WatchParams): () => void {
    const onNotice = ({ lanes, counters, carried }: Notice): void => {
      this.#cursors.drop(lanes);
      if (wanted()) onChange(lanes, counters);
      if (carried) onCarried?.();
    };
    const listener = { onChange: (lanes?: readonly number[]) => onChange(lanes), onCarried };
    this.#listeners.add(listener);
    const stop = this.#wakeups.listen({ wanted, onNotice });
    return () => {
      this.#listeners.delete(listener);
      stop();
    };
  }

  #countersOf(lanes: Iterable<number | undefined>): ReadonlySet<number> {
    const counters = new Set<number>();
    for (const lane of lanes) {
      const rules = lane === undefined ? undefined : this.#lanes.known(lane)?.rules;
      for (const { counter } of rules?.uses ?? []) counters.add(counter);
    }
    return counters;
  }
}
