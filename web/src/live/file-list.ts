/** A live list of artifacts: pages, the first of which is read again and again. Its rules are in model/files/list.ts. */

import { type Artifact, client, isRefusal } from '../api.ts';
import { type FileFilter, newOnes, requestOfFiles, withNewest, withOlder } from '../model/files/list.ts';
import { unauthenticated } from './feed.ts';
import { Signal } from './signal.ts';

const PAGE = 100;
/** No event tells of an artifact. */
const EVERY_MS = 4_000;

export interface FileListState {
  readonly rows: readonly Artifact[];
  readonly cursor: string | undefined;
  readonly loaded: boolean;
  readonly loadingMore: boolean;
  /** Artifacts that have come while the list stands still. */
  readonly fresh: number;
  readonly error: unknown;
}

export class FileList {
  readonly state = new Signal<FileListState>({
    rows: [],
    cursor: undefined,
    loaded: false,
    loadingMore: false,
    fresh: 0,
    error: undefined,
  });
  readonly #filter: FileFilter;
  readonly #end = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #frozen = false;
  #reading = false;

  constructor(filter: FileFilter) {
    this.#filter = filter;
    document.addEventListener('visibilitychange', this.#onVisible);
    void this.reload();
  }

  close(): void {
    document.removeEventListener('visibilitychange', this.#onVisible);
    this.#end.abort();
    clearTimeout(this.#timer);
  }

  freeze(frozen: boolean): void {
    if (this.#frozen === frozen) return;
    this.#frozen = frozen;
    if (!frozen && this.state.value.fresh > 0) void this.reload();
  }

  /** Reads the first page again. */
  readonly reload = async (): Promise<void> => {
    clearTimeout(this.#timer);
    if (this.#reading) return;
    this.#reading = true;
    try {
      const { artifacts, cursor } = await this.#page();
      const { rows, loaded, cursor: before } = this.state.value;
      if (this.#frozen && loaded) this.#set({ fresh: newOnes(rows, artifacts), error: undefined });
      else {
        const next = withNewest<Artifact>(rows, artifacts, cursor === undefined);
        this.#set({
          rows: next.rows,
          cursor: next.goesOn ? before : cursor,
          loaded: true,
          fresh: 0,
          error: undefined,
        });
      }
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#reading = false;
    }
    if (!this.#end.signal.aborted) this.#timer = setTimeout(this.#onTime, EVERY_MS);
  };

  readonly more = async (): Promise<void> => {
    const { cursor, loadingMore } = this.state.value;
    if (cursor === undefined || loadingMore) return;
    this.#set({ loadingMore: true });
    try {
      const { artifacts, cursor: next } = await this.#page(cursor);
      // If the list has begun anew meanwhile, it continues from its own end.
      if (this.state.value.cursor === cursor)
        this.#set({ rows: withOlder(this.state.value.rows, artifacts), cursor: next });
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#set({ loadingMore: false });
    }
  };

  /** One that was removed leaves at once, also while the list stands still. */
  drop(id: string): void {
    this.#set({ rows: this.state.value.rows.filter((row) => row.id !== id) });
  }

  readonly #onTime = (): void => {
    if (!document.hidden) void this.reload();
  };

  readonly #onVisible = (): void => {
    if (!document.hidden) void this.reload();
  };

  #page(cursor?: string) {
    return client.call('listArtifacts', {
      query: { ...requestOfFiles(this.#filter), limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
      signal: this.#end.signal,
    });
  }

  #failed(error: unknown): void {
    if (this.#end.signal.aborted) return;
    if (isRefusal(error, 'UNAUTHENTICATED', 'UNAUTHORIZED')) unauthenticated.set(true);
    this.#set({ error });
  }

  #set(part: Partial<FileListState>): void {
    this.state.update((state) => ({ ...state, ...part }));
  }
}
