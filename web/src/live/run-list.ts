/** A live list of runs: pages, and single runs that events name. Its rules are in model/run/list.ts. */

import { client, type FeedEvent, isRefusal, type Run } from '../api.ts';
import { newRuns, type RunFilter, withFirstPage, withNextPage, withRun } from '../model/run/list.ts';
import { isFinal, type TaskState } from '../model/task-states.ts';
import { listen, unauthenticated } from './feed.ts';
import { Signal } from './signal.ts';

const REFRESH_EVERY_MS = 500;
/** A task that was created may be a run: the first page is read again, at most so often. */
const FIRST_PAGE_EVERY_MS = 2_000;
const PAGE = 100;
/** Runs that are read one by one at a time; more wait for the next time. */
const MAX_READ = 8;
/** How many unfinished machines of a page are asked for their state. */
const MAX_ASKED = 24;

export interface RunListState {
  readonly rows: readonly Run[];
  readonly cursor: string | undefined;
  readonly loaded: boolean;
  readonly loadingMore: boolean;
  /** Runs that have come while the list stands still. */
  readonly fresh: number;
  readonly error: unknown;
}

export class RunList {
  readonly state = new Signal<RunListState>({
    rows: [],
    cursor: undefined,
    loaded: false,
    loadingMore: false,
    fresh: 0,
    error: undefined,
  });
  readonly #filter: RunFilter;
  readonly #end = new AbortController();
  readonly #stale = new Set<string>();
  readonly #unlisten: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #firstPageAt = 0;
  #firstPageDue = false;
  #frozen = false;
  #busy = false;

  constructor(filter: RunFilter) {
    this.#filter = filter;
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
    if (this.#frozen === frozen) return;
    this.#frozen = frozen;
    if (!frozen && this.state.value.fresh > 0) void this.reload();
  }

  /** Reads the first page again. */
  async reload(): Promise<void> {
    this.#firstPageAt = Date.now();
    this.#firstPageDue = false;
    try {
      const { runs, cursor } = await this.#page();
      const { rows, loaded } = this.state.value;
      if (this.#frozen && loaded) return this.#set({ fresh: newRuns(rows, runs), error: undefined });
      const next = withFirstPage<Run>(rows, runs, cursor === undefined);
      // The rest of the list goes on where it did, if it goes on beyond this page.
      const kept = next.length > runs.length ? this.state.value.cursor : cursor;
      this.#set({ rows: next, cursor: kept, loaded: true, fresh: 0, error: undefined });
      this.#askForStates(runs);
    } catch (error) {
      this.#failed(error);
    }
  }

  async more(): Promise<void> {
    const { cursor, loadingMore } = this.state.value;
    if (cursor === undefined || loadingMore) return;
    this.#set({ loadingMore: true });
    try {
      const { runs, cursor: next } = await this.#page(cursor);
      this.#set({ rows: withNextPage<Run>(this.state.value.rows, runs), cursor: next });
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#set({ loadingMore: false });
    }
  }

  #page(cursor?: string) {
    const { state, kind, name } = this.#filter;
    return client.call('listRuns', {
      query: {
        limit: PAGE,
        ...(state === '' ? {} : { state: [state as TaskState] }),
        ...(kind === '' ? {} : { kind }),
        ...(name === '' ? {} : { name }),
        ...(cursor === undefined ? {} : { cursor }),
      },
      signal: this.#end.signal,
    });
  }

  /** A page does not say in which state a machine is. */
  #askForStates(runs: readonly Run[]): void {
    const asked = runs.filter(
      ({ kind, state, current }) => (kind === 'machine' || kind === 'loop') && !isFinal(state) && current === undefined,
    );
    for (const { id } of asked.slice(0, MAX_ASKED)) this.#stale.add(id);
    this.#schedule();
  }

  #onEvents(events: readonly FeedEvent[]): void {
    const { rows, loaded } = this.state.value;
    if (!loaded) return;
    const shown = new Set(rows.map(({ id }) => id));
    for (const { task, kind } of events) {
      if (task === undefined) continue;
      if (shown.has(task)) this.#stale.add(task);
      else if (kind === 'created' || this.#filter.state !== '') this.#firstPageDue = true;
    }
    this.#schedule();
  }

  #schedule(): void {
    if (this.#end.signal.aborted) return;
    const firstPageIn = this.#firstPageDue
      ? Math.max(REFRESH_EVERY_MS, this.#firstPageAt + FIRST_PAGE_EVERY_MS - Date.now())
      : Number.POSITIVE_INFINITY;
    const inMs = this.#stale.size > 0 ? REFRESH_EVERY_MS : firstPageIn;
    if (Number.isFinite(inMs)) this.#timer ??= setTimeout(() => void this.#refresh(), inMs);
  }

  async #refresh(): Promise<void> {
    this.#timer = undefined;
    if (this.#busy || this.#end.signal.aborted) return;
    this.#busy = true;
    const ids = [...this.#stale].slice(0, MAX_READ);
    for (const id of ids) this.#stale.delete(id);
    await Promise.all(ids.map((id) => this.#readRun(id)));
    if (this.#firstPageDue && Date.now() - this.#firstPageAt >= FIRST_PAGE_EVERY_MS) await this.reload();
    this.#busy = false;
    this.#schedule();
  }

  async #readRun(id: string): Promise<void> {
    try {
      const { signal } = this.#end;
      const detail = await client.call('getRun', { params: { id }, signal });
      this.#set({ rows: withRun<Run>(this.state.value.rows, listed(detail), this.#filter, this.#frozen) });
    } catch (error) {
      // A run that is gone stays until the page is read again.
      if (!isRefusal(error, 'NOT_FOUND')) this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    if (this.#end.signal.aborted) return;
    if (isRefusal(error, 'UNAUTHENTICATED', 'UNAUTHORIZED')) unauthenticated.set(true);
    this.#set({ error });
  }

  #set(part: Partial<RunListState>): void {
    this.state.update((state) => ({ ...state, ...part }));
  }
}

/** Only what the list shows: context and output of a run may be large. */
function listed(detail: Run): Run {
  const { id, name, kind, title, state, reason, queue, handler, attempt, labels, forkedFrom, createdAt } = detail;
  const { startedAt, finishedAt, cancelRequestedAt, cancelReason, current, definition, cancelledBy } = detail;
  const row = { id, name, kind, title, state, reason, queue, handler, attempt, labels, forkedFrom, createdAt };
  const rest = { startedAt, finishedAt, cancelRequestedAt, cancelReason, current, definition, cancelledBy };
  const known = Object.entries({ ...row, ...rest }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known) as unknown as Run;
}
