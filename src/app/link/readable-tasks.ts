import type { Store, TaskRecord } from '../../store/store.ts';

/** Per worker. What is forgotten is looked up again. */
const MOST = 100_000;

/** A task by its number, and by its public id where the worker gave that. */
export interface NamedTask {
  readonly task: number;
  readonly id?: string;
}

/**
 * The tasks that a joined worker may read: those that it has run or spawned, all of the run that it works for, and those whose public ids are
 * in the input of the task that it runs. Numbers can be guessed by counting, and ids get around, so neither gives access to the results of
 * others. The node itself writes which tasks are children. The input of a child is written by a worker, so an id in it counts only where
 * whoever pushed the run named it too: otherwise a worker would spawn itself a child for each id that it has heard of.
 */
export class ReadableTasks {
  readonly #store: Pick<Store, 'taskGet' | 'journalList'>;
  #met = new Set<number>();

  constructor(store: Pick<Store, 'taskGet' | 'journalList'>) {
    this.#store = store;
  }

  meet(task: number): void {
    if (this.#met.size >= MOST) this.#met = new Set();
    this.#met.add(task);
  }

  /** Whether that is known without a read. */
  knows(task: number): boolean {
    return this.#met.has(task);
  }

  /** Which of these it may read while it runs `held`. */
  async among(held: number, named: readonly NamedTask[]): Promise<ReadonlySet<number>> {
    const isOpen = ({ task }: NamedTask): boolean => !this.#met.has(task);
    // A child that a unique key led to may be of another run.
    if (named.some(isOpen))
      for (const { ref } of await this.#store.journalList({ task: held })) if (ref !== undefined) this.meet(ref);
    const open = named.filter(isOpen);
    if (open.length > 0) {
      const [own, ...records] = await this.#store.taskGet({ tasks: [held, ...open.map(({ task }) => task)] });
      const pushed = own && (await this.#pushed(own));
      for (const [i, one] of open.entries())
        if (own !== undefined && isReadable({ own, pushed }, one, records[i])) this.meet(one.task);
    }
    return new Set(named.map(({ task }) => task).filter((task) => this.#met.has(task)));
  }

  /** The task that somebody outside pushed, which the run began with. */
  async #pushed(own: TaskRecord): Promise<TaskRecord | undefined> {
    return own.root === undefined ? own : (await this.#store.taskGet({ tasks: [own.root] }))[0];
  }
}

interface Run {
  readonly own: TaskRecord;
  readonly pushed: TaskRecord | undefined;
}

function isReadable({ own, pushed }: Run, { id }: NamedTask, record: TaskRecord | undefined): boolean {
  if (record === undefined) return false;
  if (rootOf(record) === rootOf(own)) return true;
  return id !== undefined && own.payload.includes(id) && pushed?.payload.includes(id) === true;
}

function rootOf({ task, root }: TaskRecord): number {
  return root ?? task;
}
