import type { Connection } from './connection.ts';
import type { Writer } from './writer.ts';

/**
 * Caches the answers of polled reads until something was committed, so that an idle process asks its file only whether
 * somebody wrote to it. Commits of others move `data_version`; commits of this process are counted by its writer. The
 * version is read before the answer: an answer that is newer than its version is read again, and none is stale.
 *
 * Only answers that follow from the rows alone may be cached. A read of what is due caches the next due time, and
 * compares it with the clock.
 */
export class AnswerCache {
  readonly #writer: Pick<Writer, 'changes'>;
  /** The versions that the answers belong to. */
  #connection: Connection | undefined;
  #version = 0;
  #changes = 0;
  /** The last question of each kind, and its answer. */
  readonly #kept = new Map<string, Kept>();

  constructor(writer: Pick<Writer, 'changes'>) {
    this.#writer = writer;
  }

  /** `asked` is what the answer depends on besides the rows. */
  answer<T>(connection: Connection, kind: string, asked: string | number, read: () => T): T {
    if (this.#isPast(connection)) this.#kept.clear();
    const before = this.#kept.get(kind);
    if (before?.asked === asked) return before.answer as T;
    const answer = read();
    this.#kept.set(kind, { asked, answer });
    return answer;
  }

  #isPast(connection: Connection): boolean {
    const { data_version: version } = connection.sql.get('dataVersion').get() as { data_version: number };
    const { changes } = this.#writer;
    if (connection === this.#connection && version === this.#version && changes === this.#changes) return false;
    this.#connection = connection;
    this.#version = version;
    this.#changes = changes;
    return true;
  }
}

interface Kept {
  readonly asked: string | number;
  readonly answer: unknown;
}
