import type { DutyTerm } from '../store.ts';
import { AnswerCache } from './file/answer-cache.ts';
import type { Connection, Prepared } from './file/connection.ts';
import type { Transaction } from './file/transaction.ts';
import type { Rank, Writer } from './file/writer.ts';
import { requireDuty } from './verbs/admin/duty.ts';
import { wokenLanes } from './verbs/trees/countdown.ts';
import type { Watchers } from './watchers.ts';

/** Calls that are more than a plain read or write. */
export class Calls {
  readonly #writer: Writer;
  readonly #cache: AnswerCache;
  readonly #watchers: Watchers;

  constructor(writer: Writer, watchers: Watchers) {
    this.#writer = writer;
    this.#cache = new AnswerCache(writer);
    this.#watchers = watchers;
  }

  /** A polled read, whose answer is cached until something was committed. */
  again<T>(kind: string, asked: string | number, read: (connection: Connection) => T): Promise<T> {
    return this.#writer.read((connection) => this.#cache.answer(connection, kind, asked, () => read(connection)));
  }

  /**
   * Reads what a duty would find. Mostly there is nothing, and no transaction is begun. A deposed holder is refused all
   * the same.
   */
  async dutyLook<T>(duty: DutyTerm, kind: string, read: (sql: Prepared) => T): Promise<T> {
    await this.again(`term of ${duty.name}`, duty.epoch, (connection) => requireDuty(connection, duty));
    return this.again(kind, '', ({ sql }) => read(sql));
  }

  /** A write that may wake tasks which its answer does not name. */
  async waking<T>(rank: Rank, body: (tx: Transaction) => T): Promise<T> {
    let woken: readonly number[] = [];
    let carried = false;
    const answer = await this.#writer.write(rank, (tx) => {
      const given = body(tx);
      woken = wokenLanes(tx);
      carried = tx.dependents?.carried ?? false;
      return given;
    });
    this.#watchers.woken(woken, carried);
    return answer;
  }
}
