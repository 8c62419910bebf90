import type { LimitView, TaskView, WorkerView } from '../../operate/views.ts';
import type { EventView, QueueRow, TopViewModel } from './view-model.ts';

export const PANELS = ['queues', 'workers', 'tasks', 'limits', 'events'] as const;
export type Panel = (typeof PANELS)[number];

/** One row: its key from one poll to the next, and its item. */
export interface Entry<T> {
  readonly key: string;
  readonly item: T;
}

/** The rows of the panels, filtered. */
export interface Lists {
  readonly queues: readonly Entry<QueueRow>[];
  readonly workers: readonly Entry<WorkerView>[];
  readonly tasks: readonly Entry<TaskView>[];
  readonly limits: readonly Entry<LimitView>[];
  readonly events: readonly Entry<EventView>[];
}

export function listsOf(model: TopViewModel, filter: string): Lists {
  const text = filter.trim().toLowerCase();
  const matching = <T>(
    items: readonly T[],
    keyOf: (item: T) => string,
    wordsOf: (item: T) => readonly (string | undefined)[],
  ): readonly Entry<T>[] =>
    items
      .filter((item) => text === '' || wordsOf(item).some((word) => word?.toLowerCase().includes(text)))
      .map((item) => ({ key: keyOf(item), item }));
  return {
    queues: matching(
      model.queues,
      ({ name }) => name,
      ({ name, paused }) => [name, paused ? 'paused' : undefined],
    ),
    workers: matching(
      newestWorkers(model.workers),
      ({ id }) => id,
      ({ name, state, host, tags, currentTasks }) => [name, state, host, ...tags, ...currentTasks],
    ),
    tasks: matching(
      model.tasks.toSorted((a, b) => (a.startedAt ?? 0) - (b.startedAt ?? 0)),
      ({ id }) => id,
      ({ id, queue, handler, worker }) => [id, queue, handler, worker],
    ),
    limits: matching(
      model.limits,
      ({ name }) => name,
      ({ name }) => [name],
    ),
    events: matching(
      model.events,
      ({ seq }) => String(seq),
      ({ kind, task, queue, state, worker }) => [kind, task, queue, state, worker],
    ),
  };
}

const ALIVE: Readonly<Record<string, number>> = { online: 0, starting: 0, draining: 0, lost: 1 };

/** For each name all living processes, or the one that was seen last. Living ones come first; processes of former starts are left out. */
function newestWorkers(workers: readonly WorkerView[]): readonly WorkerView[] {
  const rank = ({ state }: WorkerView): number => ALIVE[state] ?? 2;
  const living = new Set(workers.filter((worker) => rank(worker) === 0).map(({ name }) => name));
  const newest = new Map<string, WorkerView>();
  for (const worker of workers) {
    const known = newest.get(worker.name);
    if (known === undefined || known.lastSeenAt <= worker.lastSeenAt) newest.set(worker.name, worker);
  }
  return workers
    .filter((worker) => rank(worker) === 0 || (!living.has(worker.name) && newest.get(worker.name) === worker))
    .toSorted((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : Number(a.name > b.name)));
}
