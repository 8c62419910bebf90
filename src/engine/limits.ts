import { fault } from '../core/errors.ts';
import { type LimitInput, normalizeLimit } from '../core/limits/limit.ts';
import { checkKey, checkName } from '../core/names.ts';
import type { CounterRecord, LimitChange, LimitEdited, LimitEditing, LimitRecord, Store } from '../store/store.ts';
import { checkLimit } from './check.ts';

export interface LimitsDeps {
  readonly store: Pick<
    Store,
    'limitPut' | 'limitEdit' | 'limitRemove' | 'limitList' | 'limitHistory' | 'limitCounters' | 'counterPause'
  >;
  /** A limit changed: lanes that it held back may have room. */
  readonly onChange: () => void;
}

/** The limits of a cluster: made, edited, paused, removed and read. Claims apply them inside the store. */
export class Limits {
  readonly #deps: LimitsDeps;

  constructor(deps: LimitsDeps) {
    this.#deps = deps;
  }

  /** Makes a limit or replaces it, for the whole cluster at once; what runs goes on. */
  async set(name: string, limit: LimitInput, by = ''): Promise<number> {
    const revision = await this.#deps.store.limitPut({
      name: checkName('limit', name),
      limit: normalizeLimit(limit),
      by: checkAuthor(by),
    });
    this.#deps.onChange();
    return revision;
  }

  /** Changes the given fields of a limit, or makes it. */
  async edit({ name, by, ...editing }: LimitEditing): Promise<LimitEdited> {
    const edited = await this.#deps.store.limitEdit({
      name: checkName('limit', name),
      by: checkAuthor(by),
      ...editing,
    });
    this.#deps.onChange();
    return edited;
  }

  /** Removes its bounds. New tasks may not name it; existing tasks that name it run as if it were not there. */
  async remove(name: string, by = ''): Promise<void> {
    const removed = await this.#deps.store.limitRemove({ name: checkName('limit', name), by });
    if (!removed) throw fault('NOT_FOUND', { kind: 'limit', id: name });
    this.#deps.onChange();
  }

  /** Pauses the limit, or one key of it, for this long; 0 resumes it. False: there is no such limit. */
  async pause(name: string, key: string, forMs: number): Promise<boolean> {
    const paused = await this.#deps.store.counterPause({ name: checkName('limit', name), key, forMs });
    // Tasks that it held back may start now, and nothing else shows that they are ready.
    if (paused) this.#deps.onChange();
    return paused;
  }

  list(): Promise<readonly LimitRecord[]> {
    return this.#deps.store.limitList();
  }

  /** The changes of a limit and their authors, newest first. */
  async history(name: string, limit = 100): Promise<readonly LimitChange[]> {
    return this.#deps.store.limitHistory({ name: checkName('limit', name), limit: checkLimit(limit) });
  }

  /** What is taken from a limit: in total, then by key. */
  async use(name: string, limit = 100): Promise<readonly CounterRecord[]> {
    return this.#deps.store.limitCounters({ name: checkName('limit', name), limit: checkLimit(limit) });
  }
}

function checkAuthor(by: string): string {
  return by === '' ? '' : checkKey('by', by);
}
