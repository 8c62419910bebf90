import { createHash } from 'node:crypto';
import type { ClientConfig } from 'pg';
import { fault } from '../../../core/errors.ts';
import { pause } from '../../../core/pause.ts';
import type { World } from '../../../core/world.ts';
import type { StatementName, Statements } from '../statements.ts';
import { IN_TRANSACTION } from './address.ts';
import { Connection } from './connection.ts';
import { judge, translate } from './errors.ts';

export interface DatabaseOptions {
  readonly config: ClientConfig;
  /** Server and database, without the password, for messages. */
  readonly name: string;
  /** Those that its calls use. */
  readonly texts: Partial<Statements>;
  readonly world: World;
  /** Connections at most, the listener aside. */
  readonly size: number;
  /** How long a call may take in all, waits and repeats included. */
  readonly deadlineMs: number;
}

type Row = readonly unknown[];

/** One connection for the time of a call. */
export interface Session {
  /** Rows as arrays, in the order of the statement's columns. */
  rows(name: StatementName, values: readonly unknown[]): Promise<readonly Row[]>;
  /** Rows as objects. */
  all<T>(name: StatementName, values: readonly unknown[]): Promise<readonly T[]>;
  /** A statement that is not one of the named. */
  raw<T>(text: string, values?: readonly unknown[]): Promise<readonly T[]>;
}

/** How a call is going. */
export interface Try {
  /** An earlier try of the same call lost its connection, and may have taken effect. */
  readonly again: boolean;
}

export type Body<T> = (session: Session, tried: Try) => Promise<T>;

interface Waiter {
  readonly take: (connection: Connection | undefined) => void;
  readonly fail: (error: unknown) => void;
}

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;
const MAX_AGAIN = 5;
/** How long a call waits for a busy connection before one more is opened. */
const GROW_MS = 8;

/**
 * A pool of a few connections. A deadlock or a lost connection is tried again until the deadline of the call, and fails
 * no call before that. A body must therefore be safe to run twice; `Try.again` says that it may have run before.
 */
export class Database {
  readonly #options: DatabaseOptions;
  readonly #idle: Connection[] = [];
  readonly #busy = new Set<Connection>();
  readonly #waiters: Waiter[] = [];
  #opening = false;
  #closed = false;
  readonly #names = new Map<StatementName, string>();
  #pooled: boolean;

  constructor(options: DatabaseOptions & { readonly pooled: boolean }) {
    this.#options = options;
    this.#pooled = options.pooled;
  }

  /** Named statements cannot be used: another session may answer. */
  get pooled(): boolean {
    return this.#pooled;
  }

  /** Takes over a session that was opened with the same settings. */
  adopt(connection: Connection): void {
    this.#idle.push(connection.rest());
  }

  /** One statement or several that need no common transaction. */
  run<T>(body: Body<T>): Promise<T> {
    return this.#patiently((connection, tried) => body(this.#session(connection), tried));
  }

  /** All or nothing. */
  transaction<T>(body: Body<T>, options: { readonly deadlineMs?: number } = {}): Promise<T> {
    const work = async (connection: Connection, tried: Try): Promise<T> => {
      await connection.raw(this.#pooled ? `BEGIN; ${IN_TRANSACTION}` : 'BEGIN');
      try {
        const answer = await body(this.#session(connection), tried);
        await connection.raw('COMMIT');
        return answer;
      } catch (error) {
        if (judge(error) !== 'lost') await connection.raw('ROLLBACK').catch(() => connection.spoil());
        throw error;
      }
    };
    return this.#patiently(work, options.deadlineMs);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { take } of this.#waiters.splice(0)) take(undefined);
    await Promise.all([...this.#idle.splice(0), ...this.#busy].map((connection) => connection.close()));
  }

  #session(connection: Connection): Session {
    return {
      rows: (name, values) => connection.rows(this.#nameOf(name), this.#textOf(name), values),
      all: (name, values) => connection.all(this.#nameOf(name), this.#textOf(name), values),
      raw: (text, values) => connection.all(undefined, text, values ?? []),
    };
  }

  #textOf(name: StatementName): string {
    const text = this.#options.texts[name];
    if (text === undefined) throw fault('INTERNAL', { problem: `this database has no statement ${name}` });
    return text;
  }

  /**
   * Each name contains a hash of its text. Behind a pooler that was not configured, a name may lead to what another
   * client prepared, and that must be the same statement on the same schema.
   */
  #nameOf(name: StatementName): string | undefined {
    if (this.#pooled) return undefined;
    let known = this.#names.get(name);
    if (known === undefined) {
      known = `${name}_${createHash('sha256').update(this.#textOf(name)).digest('hex').slice(0, 16)}`;
      this.#names.set(name, known);
    }
    return known;
  }

  async #patiently<T>(
    body: (connection: Connection, tried: Try) => Promise<T>,
    deadlineMs = this.#options.deadlineMs,
  ): Promise<T> {
    const { world, name } = this.#options;
    const deadline = world.clock.monotonic() + deadlineMs;
    let again = false;
    let conflicts = 0;
    let conflict: unknown;
    for (let i = 0; ; i++) {
      let connection: Connection | undefined;
      try {
        connection = await this.#acquire(deadline);
        connection.deadline = deadline;
        const answer = await body(connection, { again });
        this.#release(connection);
        return answer;
      } catch (error) {
        const verdict = judge(error);
        if (verdict === 'again') conflict = error;
        if (connection !== undefined) {
          if (verdict === 'lost' || verdict === 'stale') connection.spoil();
          this.#release(connection);
        }
        if (this.#closed) throw fault('STORE_CLOSED');
        if (verdict === 'pooled') this.#pooled = true;
        else if (verdict === 'lost') again = connection !== undefined || again;
        else if (verdict === 'again' || verdict === 'stale') conflicts++;
        else if (verdict !== 'crowded') throw translate(error, name);
        const pauseMs = (0.5 + world.random()) * Math.min(FIRST_PAUSE_MS * 2 ** Math.min(i, 6), LONGEST_PAUSE_MS);
        if (conflicts > MAX_AGAIN || world.clock.monotonic() + pauseMs >= deadline)
          throw translate(conflict ?? error, name);
        await this.#pause(pauseMs);
      }
    }
  }

  #pause(ms: number): Promise<void> {
    return pause(this.#options.world.timers, ms);
  }

  async #acquire(deadline: number): Promise<Connection> {
    if (this.#closed) throw fault('STORE_CLOSED');
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (!idle.usable) continue;
      this.#busy.add(idle.hold());
      return idle;
    }
    const connection = this.#wait(deadline);
    this.#grow(deadline);
    return connection;
  }

  /**
   * Opens one more connection for those who wait, one at a time: a new session takes 15 ms and plans every statement anew, and a busy one is
   * mostly free again before. So nobody opens one who has not waited for a few milliseconds. Six duties that a process takes when it starts do
   * with two sessions.
   */
  #grow(deadline: number): void {
    const { world, size } = this.#options;
    if (this.#opening || this.#busy.size >= size || this.#waiters.length === 0) return;
    this.#opening = true;
    if (this.#busy.size === 0) return this.#open(deadline);
    world.timers.after(GROW_MS, () => {
      this.#opening = this.#waiters.length > 0 && !this.#closed;
      if (this.#opening) this.#open(deadline);
    });
  }

  #open(deadline: number): void {
    const { config, world } = this.#options;
    Connection.open(config, world, deadline).then(
      (connection) => {
        this.#opening = false;
        this.#busy.add(connection);
        this.#release(connection);
        this.#grow(deadline);
      },
      (error: unknown) => {
        this.#opening = false;
        // With no session at all, the others would hear the same, one after the other.
        const failed = this.#waiters.splice(0, this.#busy.size === 0 ? this.#waiters.length : 1);
        for (const { fail } of failed) fail(error);
        this.#grow(deadline);
      },
    );
  }

  async #wait(deadline: number): Promise<Connection> {
    const { world, size } = this.#options;
    const connection = await new Promise<Connection | undefined>((resolve, reject) => {
      const waiter: Waiter = {
        take: (given) => {
          cancel();
          resolve(given);
        },
        fail: (error) => {
          cancel();
          reject(error);
        },
      };
      const cancel = world.timers.after(Math.max(0, deadline - world.clock.monotonic()), () => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        reject(fault('STORE_BUSY', { problem: `all ${size} connections were in use until the deadline` }));
      });
      this.#waiters.push(waiter);
    });
    return connection ?? this.#acquire(deadline);
  }

  #release(connection: Connection): void {
    this.#busy.delete(connection);
    if (!connection.usable || this.#closed) {
      void connection.close();
      this.#waiters.shift()?.take(undefined);
      return;
    }
    const waiter = this.#waiters.shift();
    if (waiter === undefined) {
      this.#idle.push(connection.rest());
      return;
    }
    this.#busy.add(connection);
    waiter.take(connection);
  }
}
