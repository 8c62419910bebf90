/** The journals of a run's tasks: the root's, and those of children that are open. Their rules are in model/run/journal.ts. */

import { client, isRefusal } from '../api.ts';
import { EMPTY_JOURNAL, type Journal, staleCursors, withPage } from '../model/run/journal.ts';
import type { Step } from '../model/run/rows.ts';
import { unauthenticated } from './feed.ts';
import { Signal } from './signal.ts';

const PAGE = 500;
/** What is read without being asked for; the rest comes by scrolling. */
const MAX_PAGES = 20;

export interface RunStepsState {
  readonly journals: ReadonlyMap<string, Journal>;
  readonly error: unknown;
}

export class RunSteps {
  readonly state = new Signal<RunStepsState>({ journals: new Map(), error: undefined });
  readonly #run: string;
  readonly #end = new AbortController();
  #tasks: readonly string[];
  #busy = false;
  #again = false;
  #turn = 0;

  constructor(run: string) {
    this.#run = run;
    this.#tasks = [run];
    void this.refresh();
  }

  close(): void {
    this.#end.abort();
  }

  /** Journals of these tasks are kept fresh beside that of the run itself. */
  watch(tasks: readonly string[]): void {
    const all = [...new Set([this.#run, ...tasks])];
    const isNew = all.some((task) => !this.#tasks.includes(task));
    this.#tasks = all;
    if (isNew) void this.refresh();
  }

  /** Reads what may have changed. A call while one is under way makes one more after it. */
  async refresh(): Promise<void> {
    if (this.#busy) {
      this.#again = true;
      return;
    }
    this.#busy = true;
    try {
      do {
        this.#again = false;
        this.#turn++;
        for (const task of this.#tasks) await this.#read(task);
      } while (this.#again && !this.#end.signal.aborted);
      if (this.state.value.error !== undefined) this.state.update((state) => ({ ...state, error: undefined }));
    } catch (error) {
      if (this.#end.signal.aborted) return;
      if (isRefusal(error, 'UNAUTHENTICATED', 'UNAUTHORIZED')) unauthenticated.set(true);
      this.state.update((state) => ({ ...state, error }));
    } finally {
      this.#busy = false;
    }
  }

  /** Reads beyond what is read without being asked for. */
  async more(): Promise<void> {
    const next = this.#journal(this.#run).next;
    if (next === undefined || this.#busy) return;
    this.#busy = true;
    await this.#page(this.#run, next).catch(() => {});
    this.#busy = false;
  }

  async #read(task: string): Promise<void> {
    for (const cursor of staleCursors(this.#journal(task), this.#turn)) await this.#page(task, cursor);
    for (
      let { next, pages } = this.#journal(task);
      next !== undefined && pages.length < MAX_PAGES;
      { next, pages } = this.#journal(task)
    )
      await this.#page(task, next);
  }

  async #page(task: string, cursor: string | undefined): Promise<void> {
    const { steps, cursor: next } = await client.call('listRunSteps', {
      params: { id: this.#run },
      query: { task, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
      signal: this.#end.signal,
    });
    const before = this.state.value.journals.get(task);
    const after = withPage(before ?? EMPTY_JOURNAL, cursor, steps as readonly Step[], next);
    if (after !== before)
      this.state.update((state) => ({ ...state, journals: new Map(state.journals).set(task, after) }));
  }

  #journal(task: string): Journal {
    return this.state.value.journals.get(task) ?? EMPTY_JOURNAL;
  }
}
