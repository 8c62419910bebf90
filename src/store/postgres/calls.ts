import type { Body, Database, Session, Try } from './connect/database.ts';
import type { PostgresWakeups } from './connect/wakeups.ts';
import { pick } from './places.ts';
import type { PushDedup } from './push-dedup.ts';
import type { ReadyHints } from './ready-hints.ts';
import { once } from './verbs/queue/once.ts';
import { noneWoken, type Woken } from './verbs/trees/countdown.ts';

export interface CallsOptions {
  readonly database: Database;
  readonly reserved: Database;
  readonly wakeups: PostgresWakeups;
  readonly dedup: PushDedup;
  readonly hints: ReadyHints;
}

/** How the verbs of one store reach the database: alone, urgently, or in a transaction. */
export class Calls {
  readonly #database: Database;
  readonly #reserved: Database;
  readonly #wakeups: PostgresWakeups;
  readonly #dedup: PushDedup;
  readonly #hints: ReadyHints;

  constructor({ database, reserved, wakeups, dedup, hints }: CallsOptions) {
    this.#database = database;
    this.#reserved = reserved;
    this.#wakeups = wakeups;
    this.#dedup = dedup;
    this.#hints = hints;
  }

  /** Statements that need no common transaction. */
  run<T>(body: Body<T>): Promise<T> {
    this.#wakeups.look();
    return this.#database.run(body);
  }

  /** On the reserved connection: renewals and beats must not wait for other work. */
  urgently<T>(body: Body<T>): Promise<T> {
    return this.#reserved.run(body);
  }

  transaction<T>(body: Body<T>): Promise<T> {
    return this.#database.transaction(body);
  }

  /** An operator's edit. It is made once, even if its answer is lost, and all waiting claims look again afterwards. */
  edit<T>(verb: string, body: (session: Session) => Promise<T>): Promise<T> {
    const flushId = this.#dedup.next();
    const edited = this.transaction((session) => once(session, verb, flushId, () => body(session)));
    return edited.finally(() => this.#hints.everything());
  }

  /** A transaction that may wake tasks which its answer does not name. */
  async waking<T>(body: (session: Session, woken: Woken, tried: Try) => Promise<T>): Promise<T> {
    const { answer, woken } = await this.transaction(async (session, tried) => {
      const woken = noneWoken();
      return { answer: await body(session, woken, tried), woken };
    });
    this.#hints.ready(woken.lanes);
    this.#hints.woken(woken);
    return answer;
  }

  /**
   * Answers what the quick statement left open: tasks that others wait for. They end in a transaction that also wakes
   * their dependents.
   */
  async whole<I, A>(
    items: readonly I[],
    quick: readonly (A | undefined)[],
    body: (session: Session, some: readonly I[], woken: Woken, tried: Try) => Promise<readonly (A | undefined)[]>,
  ): Promise<readonly A[]> {
    if (!quick.includes(undefined)) return quick as readonly A[];
    const open = quick.flatMap((answer, i) => (answer === undefined ? [i] : []));
    const given = await this.waking((session, woken, tried) => body(session, pick(items, open), woken, tried));
    const byPlace = new Map(open.map((i, at) => [i, given[at] as A]));
    return quick.map((answer, i) => answer ?? (byPlace.get(i) as A));
  }
}
