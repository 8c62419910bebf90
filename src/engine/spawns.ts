import { fault } from '../core/errors.ts';
import type { Lease } from '../core/lease.ts';
import type { Store, TaskRecord } from '../store/store.ts';
import type { Interner } from './interner.ts';
import type { PushRequest } from './push.ts';
import type { Pushed, Pushes } from './pushes.ts';
import { readSpec } from './spec.ts';

/** A task that spawns itself, and that one again, comes to its end here. */
export const MAX_DEPTH = 32;
export const MAX_CHILDREN = 10_000;
/** Parents whose children are counted here; of others the count is read again. */
const MAX_PARENTS = 10_000;
/** Under this a handler remembers each of its children; see worker/memory. */
const SPAWNED = 'spawn:';

/** Who spawns: its lease, and its spec where that is known without a look. */
export type Parent = Lease & Partial<Pick<TaskRecord, 'spec'>>;

export interface SpawnsDeps {
  readonly store: Pick<Store, 'taskGet' | 'checkpointScan'>;
  readonly interner: Interner;
  readonly pushes: Pushes;
}

/**
 * Children of running tasks. How deep a task lies is part of its spec, so that every process knows it; how many children it has
 * is counted here, beginning with those that it has written down.
 */
export class Spawns {
  readonly #deps: SpawnsDeps;
  readonly #counts = new Map<number, Promise<{ children: number }>>();

  constructor(deps: SpawnsDeps) {
    this.#deps = deps;
  }

  async spawn(parent: Parent, request: PushRequest): Promise<Pushed> {
    const depth = (await this.#depthOf(parent)) + 1;
    if (depth > MAX_DEPTH) throw refuse(`it would lie ${depth} spawns deep, and the most is ${MAX_DEPTH}`);
    const count = await this.#countOf(parent.task);
    // Before it is stored: of several at once none goes over the bound.
    if (count.children >= MAX_CHILDREN) throw refuse(`a task has at most ${MAX_CHILDREN} children`);
    count.children++;
    try {
      const pushed = await this.#deps.pushes.push(request, depth);
      if (!pushed.fresh) count.children--;
      return pushed;
    } catch (error) {
      count.children--;
      throw error;
    }
  }

  async #depthOf({ task, attempt, spec }: Parent): Promise<number> {
    const known = spec ?? (await this.#deps.store.taskGet({ tasks: [task] }))[0]?.spec;
    if (known === undefined) throw fault('LEASE_LOST', { task, attempt });
    return readSpec(await this.#deps.interner.specBody(known)).depth ?? 0;
  }

  #countOf(task: number): Promise<{ children: number }> {
    const known = this.#counts.get(task);
    if (known !== undefined) return known;
    if (this.#counts.size >= MAX_PARENTS) this.#counts.clear();
    const count = this.#deps.store
      .checkpointScan({ tasks: [task], prefix: SPAWNED })
      .then((found) => ({ children: found.length }));
    this.#counts.set(task, count);
    count.catch(() => this.#counts.delete(task));
    return count;
  }
}

function refuse(problem: string): Error {
  return fault('INVALID_INPUT', { field: 'spawn', problem }, { hint: 'Let fewer tasks do more each.' });
}
