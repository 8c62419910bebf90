import { fault } from '../../core/errors.ts';
import type { Lease } from '../../core/task/lease.ts';
import type { NewTask, Store, TaskRecord } from '../../store/store.ts';
import type { Interner } from '../push/interner.ts';
import type { PushRequest } from '../push/push.ts';
import type { TaskInterner } from '../push/pushes.ts';
import { readSpec, type SpecBody } from '../push/spec.ts';

/** A task that spawns itself again and again comes to an end here. */
export const MAX_DEPTH = 32;
export const MAX_CHILDREN = 10_000;
/** Children are counted in memory for this many parents, of which most have ended or wait: 300 bytes each. The counts of others are read again. */
const MAX_PARENTS = 2_000;
/** The task that spawns: its lease, and its spec where that is known without a read. */
export type Parent = Lease & Partial<Pick<TaskRecord, 'spec'>>;

export interface SpawnsDeps {
  readonly store: Pick<Store, 'taskGet' | 'journalList'>;
  readonly interner: Interner;
  readonly tasks: TaskInterner;
}

/**
 * Children of running tasks, and their bounds. The depth of a task is part of its spec, so every process knows it. The number of children
 * is counted here, beginning with those of earlier attempts.
 */
export class Spawns {
  readonly #deps: SpawnsDeps;
  readonly #counts = new Map<number, Promise<{ children: number }>>();

  constructor(deps: SpawnsDeps) {
    this.#deps = deps;
  }

  /**
   * Counts `added` more children, or refuses them when that would be too many. Returns a function that takes back
   * those that were not made.
   */
  async admit(parent: Parent, added: number): Promise<(unused: number) => void> {
    const count = await this.#countOf(parent);
    if (count.children + added > MAX_CHILDREN) throw refuse(`a task has at most ${MAX_CHILDREN} children`);
    count.children += added;
    return (unused) => void (count.children -= unused);
  }

  /** Checks the depth, and turns the request into the form that the store takes. */
  async place(parent: Parent, request: PushRequest): Promise<NewTask> {
    const { depth: above = 0, permissions } = await this.#specOf(parent);
    const depth = above + 1;
    if (depth > MAX_DEPTH) throw refuse(`it would be ${depth} spawns deep, and the maximum is ${MAX_DEPTH}`);
    // Whoever pushed the root says what all of its tree may do.
    const inherits = permissions !== undefined && request.permissions === undefined;
    return this.#deps.tasks.place(inherits ? { ...request, permissions } : request, depth);
  }

  async #specOf({ task, attempt, spec }: Parent): Promise<SpecBody> {
    const known = spec ?? (await this.#deps.store.taskGet({ tasks: [task] }))[0]?.spec;
    if (known === undefined) throw fault('LEASE_LOST', { task, attempt });
    return readSpec(await this.#deps.interner.specBody(known));
  }

  #countOf({ task, attempt }: Parent): Promise<{ children: number }> {
    const known = this.#counts.get(task);
    if (known !== undefined) return known;
    if (this.#counts.size >= MAX_PARENTS) this.#counts.clear();
    const count = this.#countEarlier(task, attempt);
    this.#counts.set(task, count);
    count.catch(() => this.#counts.delete(task));
    return count;
  }

  async #countEarlier(task: number, attempt: number): Promise<{ children: number }> {
    // There was no attempt before.
    if (attempt === 1) return { children: 0 };
    const entries = await this.#deps.store.journalList({ task });
    return { children: entries.filter(({ kind }) => kind === 'child').length };
  }
}

function refuse(problem: string): Error {
  return fault('INVALID_INPUT', { field: 'spawn', problem }, { hint: 'Let fewer tasks do more each.' });
}
