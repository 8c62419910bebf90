import type { WorkerChange } from '../../core/task/event.ts';
import { CHANGES, type Change, STATES, type TaskState } from '../../core/task/task.ts';
import { workerKind } from '../rows/records.ts';
import type { Prepared } from './file/connection.ts';

/** Tasks of one queue with the same change. */
interface Group {
  readonly queue: number;
  readonly change: Change;
  readonly from: TaskState | undefined;
  readonly to: TaskState;
  readonly ids: number[];
  readonly attempts: number[];
  readonly born: number[];
}

interface WorkerEntry {
  readonly worker: number;
  readonly born: number;
}

/** Keeps an event row under 8 KB. */
const MAX_PACKED = 250;

/**
 * The changes of one transaction to its tasks: events and counters, written once at its end. Events are packed into one
 * row per queue, change and states (a row per task costs 38 % of a drain).
 *
 * Groups keep the order of their first entry. A verb touches a task once per change, and `seal()` between verbs that
 * may touch the same tasks keeps cause before effect.
 */
export class Ledger {
  #open: Group[] = [];
  readonly #sealed: Group[] = [];
  #last: Group | undefined;
  /** Made when it is needed, as everything here: most commits have one group. */
  #workers: Map<WorkerChange, WorkerEntry[]> | undefined;

  /** There are no events. */
  get isEmpty(): boolean {
    return this.#open.length + this.#sealed.length === 0 && this.#workers === undefined;
  }

  /** Adds an event of a worker. */
  noteWorker(change: WorkerChange, worker: number, born: number): void {
    this.#workers ??= new Map();
    const events = this.#workers.get(change);
    if (events === undefined) this.#workers.set(change, [{ worker, born }]);
    else events.push({ worker, born });
  }

  note(
    queue: number,
    change: Change,
    from: TaskState | undefined,
    to: TaskState,
    task: number,
    attempt: number,
    born: number,
  ): void {
    let group = this.#last;
    if (group === undefined || !matches(group, queue, change, from, to)) {
      group = this.#open.findLast((g) => matches(g, queue, change, from, to)) ?? this.#begin(queue, change, from, to);
      this.#last = group;
    }
    group.ids.push(task);
    group.attempts.push(attempt);
    group.born.push(born);
  }

  seal(): void {
    if (this.#open.length === 0) return;
    this.#sealed.push(...this.#open);
    this.#open = [];
    this.#last = undefined;
  }

  write(sql: Prepared, at: number): void {
    this.seal();
    if (this.#workers !== undefined) writeWorkers(sql, this.#workers, at);
    const [group] = this.#sealed;
    if (group === undefined) return;
    if (this.#sealed.length === 1) {
      writeEvent(sql, group, at);
      if (group.from !== group.to) writeCounter(sql, group.queue, counted(group, noCounter()));
      return;
    }
    const counters = new Map<number, number[]>();
    for (const one of this.#sealed) {
      writeEvent(sql, one, at);
      if (one.from !== one.to) counters.set(one.queue, counted(one, counters.get(one.queue) ?? noCounter()));
    }
    for (const [queue, counter] of counters) writeCounter(sql, queue, counter);
  }

  #begin(queue: number, change: Change, from: TaskState | undefined, to: TaskState): Group {
    const group: Group = { queue, change, from, to, ids: [], attempts: [], born: [] };
    this.#open.push(group);
    return group;
  }
}

function writeWorkers(sql: Prepared, workers: ReadonlyMap<WorkerChange, readonly WorkerEntry[]>, at: number): void {
  const eventAdd = sql.get('eventAdd');
  for (const [change, events] of workers) {
    for (let from = 0; from < events.length; from += MAX_PACKED) {
      const some = events.slice(from, from + MAX_PACKED);
      const ids = some.map(({ worker }) => worker);
      eventAdd.run(ids.length, at, 0, workerKind(change), 0, `[${ids}]`, '[0]', pack(some.map(({ born }) => born)));
    }
  }
}

function writeEvent(sql: Prepared, { queue, change, to, ids, attempts, born }: Group, at: number): void {
  const kind = CHANGES.indexOf(change);
  const state = STATES.indexOf(to);
  sql.get('eventAdd').run(ids.length, at, queue, kind, state, `[${ids}]`, pack(attempts), pack(born));
}

/** How many tasks more are in each state. */
function noCounter(): number[] {
  return [0, 0, 0, 0, 0, 0, 0];
}

function counted({ from, to, ids }: Group, counter: number[]): number[] {
  const state = STATES.indexOf(to);
  counter[state] = (counter[state] as number) + ids.length;
  if (from !== undefined) {
    const before = STATES.indexOf(from);
    counter[before] = (counter[before] as number) - ids.length;
  }
  return counter;
}

function writeCounter(sql: Prepared, queue: number, counter: readonly number[]): void {
  if (counter.some((n) => n !== 0)) sql.get('statAdd').run(queue, ...counter);
}

/** Tasks that were pushed together have the same time, and first attempts the same number: equal values are stored once. */
function pack(values: readonly number[]): string {
  const first = values[0];
  if (values.length === 1) return `[${first}]`;
  return values.every((value) => value === first) ? `[${first}]` : `[${values}]`;
}

function matches(g: Group, queue: number, change: Change, from: TaskState | undefined, to: TaskState): boolean {
  return g.queue === queue && g.change === change && g.from === from && g.to === to && g.ids.length < MAX_PACKED;
}
