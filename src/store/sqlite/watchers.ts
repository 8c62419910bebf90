import type { WatchParams } from '../store.ts';
import type { Connection } from './file/connection.ts';
import { watchCommits } from './file/watch.ts';
import type { SqliteParts } from './parts.ts';
import { ReadyNews } from './ready-news.ts';
import { hasToCarry } from './verbs/trees/countdown.ts';

/**
 * The watchers of one store. They are called for commits of other processes, and for tasks that this process wakes and
 * no answer names.
 */
export class Watchers {
  readonly #parts: SqliteParts;
  readonly #watches = new Set<() => void>();
  /** Called for tasks that this process wakes. */
  readonly #listeners = new Set<Pick<WatchParams, 'onChange' | 'onCarried'>>();

  constructor(parts: SqliteParts) {
    this.#parts = parts;
  }

  watch({ wanted, onChange, onCarried }: WatchParams): () => void {
    const listener = { onChange: (lanes?: readonly number[]) => onChange(lanes), onCarried };
    this.#listeners.add(listener);
    const { file, world, bell, writer } = this.#parts;
    const news = new ReadyNews();
    const connection = (): Connection => writer.connection;
    const commits = (): number => writer.commits;
    const onCommit = (): void => {
      onChange(lanesOf(connection(), news));
      // One read of a table that is mostly empty.
      if (onCarried !== undefined && carriesSome(connection())) onCarried();
    };
    const watching = { file, connection, timers: world.timers, wanted, onChange: onCommit, commits };
    const stop = bell === undefined ? () => {} : watchCommits({ ...watching, bell });
    this.#watches.add(stop);
    return () => {
      this.#listeners.delete(listener);
      this.#watches.delete(stop);
      stop();
    };
  }

  /** Tasks that no answer names were woken in these lanes. `carried`: some dependents are left for `depCarry`. */
  woken(lanes: readonly number[], carried: boolean): void {
    for (const { onChange, onCarried } of this.#listeners) {
      if (lanes.length > 0) onChange(lanes);
      if (carried) onCarried?.();
    }
  }

  close(): void {
    for (const stop of this.#watches) stop();
  }
}

function lanesOf({ sql }: Connection, news: ReadyNews): readonly number[] | undefined {
  try {
    return news.lanes(sql);
  } catch {
    // As below: the scan of the lanes reports it.
    return undefined;
  }
}

function carriesSome({ sql }: Connection): boolean {
  try {
    return hasToCarry(sql);
  } catch {
    // Busy or a disk error: a hint is not worth an error, and the poll of the stager finds it.
    return false;
  }
}
