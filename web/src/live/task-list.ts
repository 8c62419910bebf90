/** A live list of tasks: one page at first, then only tasks that events name. Its rules are in model/task-rows.ts. */

import { client, type FeedEvent, isRefusal, type Task } from '../api.ts';
import { requestOf, type TaskFilter } from '../model/filter.ts';
import { changeRows, emptyRows, idsOf, rowOf, type TaskRows } from '../model/task-rows.ts';
import { listen, unauthenticated } from './feed.ts';
import { Signal } from './signal.ts';

const REFRESH_EVERY_MS = 250;
const FLOOD_REFRESH_MS = 1000;
/** Ids in one request. */
const MAX_IDS = 50;
const PAGE = 100;
const NEXT_PAGE = 500;

export interface TaskListState extends TaskRows {
  readonly error: unknown;
  readonly loadingMore: boolean;
}

export class TaskList {
  readonly state: Signal<TaskListState>;
  readonly #end = new AbortController();
  readonly #stale = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #busy = false;
  readonly #unlisten: () => void;

  constructor(filter: TaskFilter) {
    this.state = new Signal<TaskListState>({ ...emptyRows(filter), error: undefined, loadingMore: false });
    this.#unlisten = listen(
      (events) => this.#onEvents(events),
      () => void this.reload(),
    );
    void this.reload();
  }

  close(): void {
    this.#unlisten();
    this.#end.abort();
    clearTimeout(this.#timer);
  }

  freeze(frozen: boolean): void {
    this.#change({ type: 'freeze', frozen });
    if (!frozen) this.#schedule();
  }

  /** Reads the first page again; the rest comes again by scrolling. */
  async reload(): Promise<void> {
    try {
      const { filter } = this.state.value;
      // As many tasks as are shown, so that the scroll position stays.
      const limit = Math.min(NEXT_PAGE, Math.max(PAGE, this.state.value.rows.length));
      const { tasks, cursor } = await client.call('listTasks', {
        query: { ...requestOf(filter, Date.now()), limit },
        signal: this.#end.signal,
      });
      this.#change({ type: 'page', rows: tasks.map(rowOf), cursor, first: true });
      this.#set({ error: undefined });
    } catch (error) {
      this.#failed(error);
    }
  }

  async more(): Promise<void> {
    const { cursor, filter, loadingMore } = this.state.value;
    if (cursor === undefined || loadingMore) return;
    this.#set({ loadingMore: true });
    try {
      const { tasks, cursor: next } = await client.call('listTasks', {
        query: { ...requestOf(filter, Date.now()), limit: NEXT_PAGE, cursor },
        signal: this.#end.signal,
      });
      // If the list was read again meanwhile, it continues from its own end.
      if (this.state.value.cursor === cursor)
        this.#change({ type: 'page', rows: tasks.map(rowOf), cursor: next, first: false });
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#set({ loadingMore: false });
    }
  }

  #onEvents(events: readonly FeedEvent[]): void {
    const { rows, loaded } = this.state.value;
    if (!loaded) return;
    const shown = idsOf(rows);
    for (const { task } of events) if (task !== undefined && shown.has(task)) this.#stale.add(task);
    this.#change({ type: 'events', events });
    this.#schedule();
  }

  #schedule(): void {
    const { frozen, arrivals, flooded } = this.state.value;
    if (this.#stale.size === 0 && (frozen || arrivals.size === 0)) return;
    this.#timer ??= setTimeout(() => void this.#refresh(), flooded && !frozen ? FLOOD_REFRESH_MS : REFRESH_EVERY_MS);
  }

  async #refresh(): Promise<void> {
    this.#timer = undefined;
    if (this.#busy || this.#end.signal.aborted) return;
    this.#busy = true;
    try {
      const { frozen, flooded, arrivals } = this.state.value;
      if (flooded && !frozen) {
        this.#stale.clear();
        await this.reload();
      } else {
        const ids = [...this.#stale, ...(frozen ? [] : [...arrivals].reverse())].slice(0, MAX_IDS);
        if (ids.length > 0) await this.#readTasks(ids);
      }
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#busy = false;
    }
    this.#schedule();
  }

  async #readTasks(ids: readonly string[]): Promise<void> {
    const { tasks, cursor } = await client.call('listTasks', { query: { id: [...ids] }, signal: this.#end.signal });
    // Large tasks come in several answers: the rest is read next time.
    const read = cursor === undefined ? ids : ids.slice(0, ids.indexOf(cursor) + 1);
    for (const id of read) this.#stale.delete(id);
    this.#change({ type: 'read', ids: read, rows: (tasks as readonly Task[]).map(rowOf) });
  }

  #failed(error: unknown): void {
    if (this.#end.signal.aborted) return;
    if (isRefusal(error, 'UNAUTHENTICATED', 'UNAUTHORIZED')) unauthenticated.set(true);
    this.#set({ error });
  }

  #set(part: Partial<TaskListState>): void {
    this.state.update((state) => ({ ...state, ...part }));
  }

  #change(action: Parameters<typeof changeRows>[1]): void {
    this.state.update((state) => {
      const { error, loadingMore } = state;
      const next = changeRows(state, action);
      return next === state ? state : { ...next, error, loadingMore };
    });
  }
}
