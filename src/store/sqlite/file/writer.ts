import { fault } from '../../../core/errors.ts';
import { pause } from '../../../core/pause.ts';
import type { World } from '../../../core/world.ts';
import { Ledger } from '../ledger.ts';
import { LimitCounters } from '../limit-counters.ts';
import type { StoreClock } from './clock.ts';
import type { Connection } from './connection.ts';
import { isBusy, isFull, isReadonly, translate, wantsReopen } from './errors.ts';
import type { LogRunway } from './log-runway.ts';
import type { NamedFile } from './named-file.ts';
import { laneReader, type Transaction } from './transaction.ts';

/** The order inside one commit. What frees comes before what takes, so that a settle and the next claim share a commit. */
export type Rank = 'settle' | 'rest' | 'push' | 'stage' | 'claim';
const ORDER: Readonly<Record<Rank, number>> = { settle: 0, rest: 1, push: 2, stage: 3, claim: 4 };

interface Job {
  readonly rank: Rank;
  readonly body: (tx: Transaction) => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly since: number;
  readonly options: WriteOptions;
}

export interface WriteOptions {
  /** Its rows are beats and renewals, which change no cached answer (`AnswerCache`) except that of the feed. */
  readonly quiet?: boolean;
  /** Nobody in another process waits for it. */
  readonly unheard?: boolean;
}

export interface WriterOptions {
  readonly file: string;
  readonly world: World;
  readonly connect: () => Connection;
  /** A new handle on the same data, or an error; default: as `connect`. */
  readonly reconnect?: () => Connection;
  /** The name of the file. A database in memory has none. */
  readonly named?: ((bytes: () => number) => NamedFile) | undefined;
  /** Makes the log of the file longer ahead of time. */
  readonly runway?: LogRunway | undefined;
  readonly busyDeadlineMs: number;
  /** Called after each commit, with its monotonic time. `heard`: other processes may wait for it. */
  readonly onCommit?: (now: number, heard: boolean) => void;
}

/** A commit should not block the loop for longer than this. Waiting jobs go into the next one, a turn later. */
const TURN_MS = 8;

/** A microtask by way of a promise: `queueMicrotask` makes a resource for async hooks with each. */
const SETTLED = Promise.resolve();

/**
 * The only writer of the file in a process. Jobs that arrive in one turn share one transaction and one fsync, and each
 * is answered after that commit.
 *
 * Another process may be writing: BEGIN IMMEDIATE then fails at once and is tried again from the event loop after `1 +
 * random · min(8, 1 + i)` ms. (Trying faster the longer one waits made 2.5 × the failed tries and a third less work.) A
 * job that throws rolls back the whole transaction, and its neighbours run again, each alone: one bad job fails no
 * other.
 */
export class Writer {
  readonly #options: WriterOptions;
  #connection: Connection;
  #clock: StoreClock | undefined;
  #jobs: Job[] = [];
  #late: readonly Job[] = [];
  #scheduled = false;
  #later = false;
  #busyTries = 0;
  #relieved = false;
  #full = false;
  #closed = false;
  #cancelRetry: (() => void) | undefined;
  #laneOf: Transaction['laneOf'];
  readonly #named: NamedFile | undefined;
  readonly #runNow = (): void => this.#run();
  /** The longest time that one transaction blocked the thread, in milliseconds. The race test checks it. */
  longestMs = 0;
  commits = 0;
  /** Commits that may have changed what was read before. */
  changes = 0;
  /** Commits with events. */
  eventCommits = 0;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#connection = options.connect();
    this.#laneOf = laneReader(this.#connection.sql);
    this.#named = options.named?.(() => sizeOf(this.#connection));
  }

  get connection(): Connection {
    return this.#connection;
  }

  set clock(clock: StoreClock) {
    this.#clock = clock;
  }

  get clock(): StoreClock {
    if (this.#clock === undefined) throw fault('STORE_CLOSED');
    return this.#clock;
  }

  write<T>(rank: Rank, body: (tx: Transaction) => T, options: WriteOptions = {}): Promise<T> {
    if (this.#closed) return Promise.reject(fault('STORE_CLOSED'));
    return new Promise<T>((resolve, reject) => {
      const since = this.#options.world.clock.monotonic();
      this.#jobs.push({ rank, body, resolve: resolve as (value: unknown) => void, reject, since, options });
      if (options.quiet) this.#scheduleLater();
      else this.#schedule();
    });
  }

  /** Reads committed rows. Retries when another process recovers or resets the WAL. */
  async read<T>(body: (connection: Connection) => T): Promise<T> {
    const now = this.#options.world.clock.monotonic();
    const deadline = now + this.#options.busyDeadlineMs;
    for (let i = 0; ; i++) {
      if (this.#closed) throw fault('STORE_CLOSED');
      try {
        this.#named?.require(now);
        return body(this.#connection);
      } catch (error) {
        if (!isBusy(error) || this.#options.world.clock.monotonic() > deadline)
          throw translate(error, this.#options.file);
        await pause(this.#options.world.timers, this.#pause(i));
      }
    }
  }

  close(): void {
    if (this.#closed) return;
    // Jobs that only waited for the end of this turn came in time.
    if (this.#later && !this.#scheduled) this.#run();
    this.#closed = true;
    this.#clock = undefined;
    this.#cancelRetry?.();
    for (const job of this.#waiting()) job.reject(fault('STORE_CLOSED'));
    this.#options.runway?.forget();
    this.#connection.db.close();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    // A microtask, not a turn: the engine has batched a whole turn's calls already.
    void SETTLED.then(this.#runNow);
  }

  /**
   * Beats of many workers come from timers of their own, between which microtasks run. At the end of the turn they go
   * together.
   */
  #scheduleLater(): void {
    if (this.#scheduled || this.#later) return;
    this.#later = true;
    this.#options.world.timers.soon(() => {
      this.#later = false;
      this.#schedule();
    });
  }

  #pause(i: number): number {
    return 1 + this.#options.world.random() * Math.min(8, 1 + i);
  }

  #run(): void {
    if (this.#closed || this.#jobs.length + this.#late.length === 0) {
      this.#scheduled = false;
      return;
    }
    const started = this.#options.world.clock.monotonic();
    // Free space goes to the file first: the WAL would only use it up.
    if (this.#full) this.#full = !this.#emptyLog();
    try {
      this.#named?.require(started);
      this.#options.runway?.look(started, this.#connection);
      this.#connection.begin();
    } catch (error) {
      this.#longest(started);
      this.#refused(error);
      return;
    }
    this.#busyTries = 0;
    // Jobs that missed the last turn go first, in their old order, so that a stream of pushes cannot starve a claim.
    const { length } = this.#jobs;
    const sorted = length === 1 ? this.#jobs : this.#jobs.sort((a, b) => ORDER[a.rank] - ORDER[b.rank]);
    const jobs = this.#late.length === 0 ? sorted : [...this.#late, ...sorted];
    this.#jobs = [];
    this.#late = this.#commit(jobs, started);
    this.#longest(started);
    this.#scheduled = this.#jobs.length + this.#late.length > 0;
    if (this.#scheduled) this.#options.world.timers.soon(this.#runNow);
  }

  /** Runs jobs until the time of the turn is used up, commits, and answers. Returns the jobs that did not run. */
  #commit(jobs: readonly Job[], started: number): readonly Job[] {
    const ledger = new Ledger();
    const tx = this.#transaction(ledger);
    const answers: unknown[] = [];
    let rank = 0;
    let quiet = true;
    let heard = false;
    try {
      if (this.#followClock(tx)) [quiet, heard] = [false, true];
      for (const job of jobs) {
        // Cause before effect: a claim may not be packed before the event that made its task claimable again.
        if (job.rank === 'rest' || ORDER[job.rank] < rank) ledger.seal();
        rank = ORDER[job.rank];
        answers.push(job.body(tx));
        quiet &&= job.options.quiet === true;
        heard ||= !(job.options.quiet ?? job.options.unheard ?? false);
        if (job.rank === 'rest') ledger.seal();
        if (answers.length < jobs.length && this.#options.world.clock.monotonic() - started > TURN_MS) break;
      }
      tx.counters.write(tx.sql);
      ledger.write(tx.sql, tx.now);
      this.#options.runway?.lengthen();
      // Counted before the result is known: a commit that fails may have been written.
      this.commits++;
      if (!quiet) this.changes++;
      if (!ledger.isEmpty) this.eventCommits++;
      this.#connection.commit();
    } catch (error) {
      this.#rollback();
      if (!this.#relieved && this.#relieve(error)) {
        this.#relieved = true;
        return jobs;
      }
      this.#isolate(jobs.slice(0, Math.max(1, answers.length + 1)), error);
      this.#relieved = false;
      return jobs.slice(Math.max(1, answers.length + 1));
    }
    this.#relieved = false;
    this.#options.onCommit?.(started, heard);
    for (let i = 0; i < answers.length; i++) (jobs[i] as Job).resolve(answers[i]);
    return answers.length === jobs.length ? NONE : jobs.slice(answers.length);
  }

  /** One of these jobs broke the transaction. A lone job fails; several run again one by one. */
  #isolate(jobs: readonly Job[], error: unknown): void {
    if (jobs.length === 1) {
      this.#fail(jobs[0] as Job, error);
      return;
    }
    for (const job of jobs) {
      const ledger = new Ledger();
      try {
        this.#connection.begin();
        const tx = this.#transaction(ledger);
        this.#followClock(tx);
        const answer = job.body(tx);
        tx.counters.write(tx.sql);
        ledger.write(tx.sql, tx.now);
        this.commits++;
        this.changes++;
        this.eventCommits++;
        this.#connection.commit();
        this.#options.onCommit?.(this.#options.world.clock.monotonic(), true);
        job.resolve(answer);
      } catch (again) {
        this.#rollback();
        if (isBusy(again)) this.#jobs.push(job);
        else this.#fail(job, again);
      }
    }
  }

  #transaction(ledger: Ledger): Transaction {
    const { sql } = this.#connection;
    const { lease, calendar } = this.clock;
    return {
      sql,
      ledger,
      counters: new LimitCounters(),
      leaseNow: lease(),
      now: calendar(),
      laneOf: this.#laneOf,
      dependents: undefined,
    };
  }

  /** Whether the calendar was set since the last transaction; in memory, for polls that would find nothing. */
  get clockWasSet(): boolean {
    const { lease, calendar, steps } = this.clock;
    return steps.wasSet(lease(), calendar());
  }

  /** Before anything is written by the new calendar. Answers whether due times were moved. */
  #followClock({ sql, leaseNow, now }: Transaction): boolean {
    const { steps } = this.clock;
    return steps.wasSet(leaseNow, now) && steps.follow(sql, leaseNow, now);
  }

  #refused(error: unknown): void {
    const { world, busyDeadlineMs, file } = this.#options;
    if (!isBusy(error)) {
      if (!this.#relieved && (wantsReopen(error) ? this.#reopen() : this.#relieve(error))) {
        this.#relieved = true;
        world.timers.soon(() => this.#run());
        return;
      }
      this.#scheduled = false;
      for (const job of this.#waiting()) this.#fail(job, error);
      this.#relieved = false;
      return;
    }
    const now = world.clock.monotonic();
    const inTime = (job: Job): boolean => {
      if (now - job.since <= busyDeadlineMs) return true;
      job.reject(translate(error, file));
      return false;
    };
    this.#late = this.#late.filter(inTime);
    this.#jobs = this.#jobs.filter(inTime);
    this.#cancelRetry = world.timers.after(this.#pause(this.#busyTries++), () => this.#run());
  }

  /** Empties both lists. */
  #waiting(): readonly Job[] {
    const jobs = [...this.#late, ...this.#jobs];
    this.#late = [];
    this.#jobs = [];
    return jobs;
  }

  #fail(job: Job, error: unknown): void {
    job.reject(translate(error, this.#options.file));
    if (wantsReopen(error) && !this.#relieved) this.#reopen();
  }

  /** Nothing of the transaction was written, and its obstacle may be gone: then it is worth a second try. */
  #relieve(error: unknown): boolean {
    if (isReadonly(error)) return this.#reopen();
    this.#full = isFull(error) && !this.#emptyLog();
    return isFull(error) && !this.#full;
  }

  /** The WAL may be many times larger than the file needs. Once all of it is copied, it starts over and needs no space. */
  #emptyLog(): boolean {
    try {
      const checkpoint = this.#connection.db.prepare('PRAGMA wal_checkpoint(PASSIVE)').get();
      const { log, checkpointed } = checkpoint as { log: number; checkpointed: number };
      return log > 0 && checkpointed === log;
    } catch {
      return false;
    }
  }

  /**
   * A handle that was opened while the file was read-only stays so. A new one notices that it is writable, but not while an older one
   * is open: handles of a process share the index of the log, and one that was mapped read-only stays so for all that come after.
   */
  #reopen(): boolean {
    const { connect, reconnect = connect } = this.#options;
    try {
      this.#named?.requireSame();
      // Otherwise the old handle goes on reading.
      let fresh = reconnect();
      if (this.#connection.db.isOpen) this.#connection.db.close();
      // A database in memory would be gone with its last handle.
      if (this.#named !== undefined) {
        fresh.db.close();
        fresh = reconnect();
      }
      this.#connection = fresh;
      this.#options.runway?.forget();
      this.#laneOf = laneReader(fresh.sql);
      return true;
    } catch {
      return false; // The old handle still reads; the next write tries again.
    }
  }

  /** After SQLITE_FULL or an I/O error SQLite may have rolled back by itself. */
  #rollback(): void {
    this.#clock?.steps.forget();
    if (!this.#connection.db.isTransaction) return;
    try {
      this.#connection.db.exec('ROLLBACK');
    } catch {
      // Nothing of the transaction is kept either way.
    }
  }

  #longest(started: number): void {
    const took = this.#options.world.clock.monotonic() - started;
    if (took > this.longestMs) this.longestMs = took;
  }
}

const NONE: readonly Job[] = [];

/** The bytes of the database as this handle sees it. */
function sizeOf({ db }: Connection): number {
  const of = (name: 'page_count' | 'page_size'): number =>
    Number((db.prepare(`PRAGMA ${name}`).get() as Readonly<Record<string, number>>)[name]);
  return of('page_count') * of('page_size');
}
