import { fault } from '../core/errors.ts';
import type { Store } from '../store/store.ts';

/** Under these a handler remembers what it has spawned; see worker/memory. */
const SPAWNED = 'spawn:';
/** Tasks of which it is known here what they have spawned. A session that is used for long forgets, and reads. */
const MOST = 1000;

/**
 * What a task may see of others: those that it has started, and those that it waits for or was made to wait for. What was
 * started here is known without a look; the rest is read from what the task remembers, and from its dependencies.
 */
export class Family {
  readonly #store: Pick<Store, 'checkpointScan' | 'depList'>;
  readonly #children = new Map<number, Set<number>>();

  constructor(store: Pick<Store, 'checkpointScan' | 'depList'>) {
    this.#store = store;
  }

  add(task: number, child: number): void {
    if (this.#children.size >= MOST && !this.#children.has(task)) this.#children.clear();
    const own = this.#children.get(task) ?? new Set();
    this.#children.set(task, own.add(child));
  }

  /** Refuses when one of them is none of its business. */
  async require(task: number, others: readonly number[]): Promise<void> {
    const own = this.#children.get(task);
    let strangers = others.filter((one) => own?.has(one) !== true);
    if (strangers.length === 0) return;
    const spawned = await this.#store.checkpointScan({ tasks: [task], prefix: SPAWNED });
    const known = new Set(spawned.map(({ value }) => childOf(value)));
    strangers = strangers.filter((one) => !known.has(one));
    if (strangers.length === 0) return;
    const needs = new Set((await this.#store.depList({ task })).map((need) => need.task));
    if (strangers.every((one) => needs.has(one))) return;
    throw fault(
      'FORBIDDEN',
      { problem: 'a task sees only those that it has started, and those that it waits for' },
      { hint: 'Start it with ctx.spawn, or push it as a dependency.' },
    );
  }
}

function childOf(value: string): unknown {
  return (JSON.parse(value) as { readonly task?: unknown } | null)?.task;
}
