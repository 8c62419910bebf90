import type { Connection } from './connection.ts';
import type { Writer } from './writer.ts';

/**
 * Answers that are asked for again and again, kept while nothing was committed that they are made of: an idle process asks its file
 * for nothing but whether somebody wrote to it. Commits of others move `data_version`, those of this process are counted by its
 * writer. The version is read before the answer: one that is newer than its version is read once more, and none is too old.
 *
 * Only what follows from the rows alone may be kept. Whoever wants to know what is due keeps when the next thing is, and compares.
 */
export class AnswerCache {
  readonly #writer: Pick<Writer, 'changes'>;
  /** As of these. */
  #connection: Connection | undefined;
  #version = 0;
  #changes = 0;
  /** The last question of each kind, and its answer. */
  readonly #kept = new Map<string, Kept>();

  constructor(writer: Pick<Writer, 'changes'>) {
    this.#writer = writer;
  }

  /** `asked`: what the answer depends on besides the rows. */
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
