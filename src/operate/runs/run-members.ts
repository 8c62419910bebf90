import { type FeedEvent, isTaskEvent } from '../../core/task/event.ts';
import type { Engine } from '../../engine/engine.ts';

/** Tasks that are remembered, whether they belong to the run or not. Beyond that they are looked up again. */
const MOST = 20_000;
const AT_ONCE = 500;

/** Tells the events of one run from those of others. Events do not carry their run: each change of each task would pay for it. */
export class RunMembers {
  readonly #engine: Engine;
  readonly #root: number;
  #known = new Map<number, boolean>();

  constructor(engine: Engine, root: number) {
    this.#engine = engine;
    this.#root = root;
  }

  /** The events of tasks of the run, in their order. */
  async only<E extends FeedEvent>(events: readonly E[]): Promise<readonly E[]> {
    const tasks = new Set(events.flatMap((event) => (isTaskEvent(event) ? [event.task] : [])));
    await this.#look([...tasks].filter((task) => !this.#known.has(task)));
    return events.filter((event) => isTaskEvent(event) && this.#known.get(event.task) === true);
  }

  async #look(tasks: readonly number[]): Promise<void> {
    // Numbers grow from parents to children: nothing before the root belongs to it.
    const young = tasks.filter((task) => task >= this.#root);
    if (this.#known.size > MOST) this.#known = new Map();
    for (let from = 0; from < young.length; from += AT_ONCE) {
      const some = young.slice(from, from + AT_ONCE);
      const found = await this.#engine.store.runGet({ tasks: some });
      for (const [i, task] of some.entries()) this.#known.set(task, (found[i]?.root ?? found[i]?.task) === this.#root);
    }
  }
}
