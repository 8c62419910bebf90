import { isFinal, type TaskState } from '../core/task/task.ts';
import { FAILS_AFTER, RUNS_AFTER, WATCHED } from './codes.ts';
import type { Edge, GraphTask, Planned } from './port/dependency-store.ts';
import type { LimitRefusal } from './port/push-store.ts';
import type { NewChild } from './port/turn-store.ts';

/** What the stores share of graphs: which items are the same task, and what each new task begins with. */

/** For each item the place of the first item with the same key or operation id, mostly its own. */
export type StandIns = readonly number[];

/** Or the item whose key another item has with another input. */
export function standIns(
  items: readonly GraphTask[],
  queueOf: (item: GraphTask) => number,
): StandIns | { readonly item: number } {
  const firsts = new Map<string, number>();
  const places: number[] = [];
  for (const [i, item] of items.entries()) {
    const key = item.unique && `key:${queueOf(item)}:${item.unique.key}`;
    const holder = key === undefined ? undefined : firsts.get(key);
    if (holder !== undefined && items[holder]?.unique?.hash !== item.unique?.hash) return { item: i };
    const names = [key, item.op && `op:${item.op}`].filter((name) => name !== undefined);
    const first = names.map((name) => firsts.get(name)).find((place) => place !== undefined) ?? i;
    for (const name of names) if (!firsts.has(name)) firsts.set(name, first);
    places.push(first);
  }
  return places;
}

/** The parent of new tasks, and the root of its tree. */
export interface Lineage {
  readonly parent: number;
  readonly root: number;
}

/** A limit takes no more tasks; the item would be the one too many. */
export interface Overfull extends LimitRefusal {
  readonly ok: false;
  readonly item: number;
}

export interface Birth {
  readonly item: GraphTask;
  readonly task: number;
  readonly flags: number;
  /** How many ends it waits for. Above 0 it begins as waiting. */
  readonly open: number;
  readonly edges: readonly BirthEdge[];
  /** Something that it needs has failed already: it ends as soon as it is stored. */
  readonly doomed: boolean;
}

export interface BirthEdge {
  readonly up: number;
  readonly optional: boolean;
  readonly open: boolean;
}

/** `tasks` are the tasks of the items, `fresh` the places of the new ones, and `stands` the states of the others. */
export function birthsOf(
  items: readonly GraphTask[],
  tasks: readonly number[],
  fresh: readonly number[],
  stands: ReadonlyMap<number, TaskState>,
): readonly Birth[] {
  const edges = new Map(fresh.map((i) => [i, edgesOf((items[i] as GraphTask).after, tasks)]));
  const ups = new Set([...edges.values()].flatMap((some) => [...some.keys()]));
  return fresh.map((i) => {
    const item = items[i] as GraphTask;
    const task = tasks[i] as number;
    const born = [...(edges.get(i) as ReadonlyMap<number, boolean>)].map(([up, optional]): BirthEdge => {
      return { up, optional, open: !isFinal(stands.get(up) ?? 'waiting') };
    });
    const failed = born.some(({ up, optional, open }) => !open && !optional && stands.get(up) !== 'completed');
    const doomed = failed && item.afterFailure !== 'run';
    const open = born.filter((edge) => edge.open).length + (doomed ? 1 : 0);
    const after = { cancel: 0, fail: FAILS_AFTER, run: RUNS_AFTER }[item.afterFailure];
    return { item, task, flags: after | (ups.has(task) ? WATCHED : 0), open, edges: born, doomed };
  });
}

/** For each task whether it is optional. A task that is named twice is needed if it is needed once. */
function edgesOf(after: readonly Edge[], tasks: readonly number[]): ReadonlyMap<number, boolean> {
  const edges = new Map<number, boolean>();
  for (const { task, item, optional } of after) {
    const up = task ?? (tasks[item as number] as number);
    edges.set(up, optional && (edges.get(up) ?? true));
  }
  return edges;
}

/** Existing tasks that a new one waits for. */
export function upsOf(births: readonly Birth[], stands: ReadonlyMap<number, TaskState>): readonly number[] {
  const ups = new Set(births.flatMap(({ edges }) => edges.filter(({ open }) => open).map(({ up }) => up)));
  return [...ups].filter((up) => stands.has(up)).sort((a, b) => a - b);
}

export function inOrderOfEdges(planned: readonly Planned[]): readonly Planned[] {
  return planned.toSorted((a, b) => a.up - b.up || a.down - b.down);
}

/** The children of a turn as a graph. `there` finds the child of an earlier turn by its key. */
export function turnGraph(
  children: readonly NewChild[],
  there: (key: string) => number | undefined,
): readonly GraphTask[] {
  const places = new Map(children.map(({ key }, i) => [key, i]));
  return children.map(({ task, after = [], afterFailure = 'cancel' }) => ({
    ...task,
    afterFailure,
    after: after.map(({ task: up, child = '', optional }) => {
      if (up !== undefined) return { task: up, optional };
      const item = places.get(child);
      return item === undefined ? { task: there(child) ?? 0, optional } : { item, optional };
    }),
  }));
}
