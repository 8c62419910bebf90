import type { DatabaseSync } from 'node:sqlite';
import { fault } from '../../../core/errors.ts';
import { MAX_ID } from '../../../core/ids.ts';
import { Prepared } from '../file/connection.ts';
import { laneReader } from '../file/transaction.ts';
import { Ledger } from '../ledger.ts';
import { LimitCounters } from '../limit-counters.ts';
import { expireTasks } from '../verbs/queue/stage.ts';

/** The largest numbers that a store has handed out. */
export interface Highs {
  readonly task: number;
  readonly attempt: number;
  readonly worker: number;
  readonly event: number;
  readonly token: number;
  readonly session: number;
}

export interface Moved {
  /** How far ids and attempts were moved. */
  readonly by: number;
  /** Tasks that failed because their wait timeout has passed. */
  readonly expired: number;
}

/** More than a store can hand out in a millisecond: an insert takes 2.2 µs a task, and a claim a commit. */
const PER_MS = 1000;
/** A task has several events. */
const EVENTS_PER_TASK = 10;
/** Slack for a clock that was wrong by less than this. */
const MARGIN_MS = 3_600_000;
/** No store is older than the program. */
const FIRST_DAY = Date.UTC(2026, 0, 1);

/**
 * Makes a restored store safe against everything that was handed out after its backup, which it knows nothing of: leases
 * (task, attempt) that workers still hold, ids of newer tasks, places in the feed. All numbers jump so far ahead that
 * none of those can come again: by more than could have been handed out since the newest event, at 1000 a millisecond.
 * Ids of 48 bits allow for nine years of that. It also holds if the same backup is restored twice. `rival` is the store
 * that is replaced, if it can still be read: a safeguard for clocks that were set back.
 *
 * - Attempts of all tasks, with their logs and earlier attempts. Finished tasks too, because they may be run again.
 *   Attempts only grow, so a fence in another system holds as well.
 * - Ids: a hidden row without a lane reserves the place, and the next task comes after it. Ids of workers and epochs of
 *   duties too; the duties are free at once. Numbers of tokens and sessions too: what was signed for one does not fit the next.
 * - Events keep their order under new numbers. Every reader gets a reset, wherever it is.
 *
 * Tasks that were never started are recognized by attempt 0, which they lose here. So those whose wait timeout has
 * passed fail first, and the others may now wait without a bound.
 */
export function moveAhead(db: DatabaseSync, now: number, rival?: Highs): Moved {
  db.exec('BEGIN IMMEDIATE');
  try {
    // Before new events are written, which say nothing about the time of the backup.
    const past = now - newestAt(db, now);
    const expired = expireOverdue(db, now);
    const own = highsOf(db);
    const by = Math.max(
      PER_MS * (past + MARGIN_MS),
      ...(rival === undefined
        ? []
        : [rival.task - own.task, rival.attempt, rival.worker - own.worker, rival.token - own.token].map(after)),
    );
    if (own.task + by >= MAX_ID) throw fault('CONFLICT', { problem: 'its ids have come to the end of their range' });
    shift(db, by, own, now);
    shiftEvents(db, Math.max(EVENTS_PER_TASK * by, after(own.event), after(rival?.event ?? 0)));
    db.exec('COMMIT');
    return { by, expired };
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

export function highsOf(db: DatabaseSync): Highs {
  const number = (sql: string): number => Number(Object.values(db.prepare(sql).get() ?? {})[0] ?? 0);
  return {
    task: number('SELECT max(id) FROM task'),
    attempt: number('SELECT max(attempt) FROM task'),
    worker: number("SELECT max(seq) FROM sqlite_sequence WHERE name = 'worker'"),
    token: number("SELECT max(seq) FROM sqlite_sequence WHERE name = 'entry_token'"),
    session: number("SELECT max(seq) FROM sqlite_sequence WHERE name = 'browser_session'"),
    event: number('SELECT max(seq + n) FROM event'),
  };
}

const after = (number: number): number => number + 1;

/** When the store last changed, which is no later than its backup. A clock that was ahead, or no event, gives no answer. */
function newestAt(db: DatabaseSync, now: number): number {
  const row = db.prepare('SELECT at FROM event ORDER BY seq DESC LIMIT 1').get() as { at: number } | undefined;
  return row === undefined || row.at > now ? FIRST_DAY : Math.max(FIRST_DAY, row.at);
}

function shift(db: DatabaseSync, by: number, own: Highs, now: number): void {
  const has = (table: string): boolean =>
    db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(table) !== undefined;
  db.exec(`UPDATE task SET attempt = attempt + ${by}; UPDATE attempt SET attempt = attempt + ${by};
    UPDATE duty SET epoch = epoch + ${by}, until = 0`);
  for (const table of ['log', 'artifact'].filter(has)) db.exec(`UPDATE ${table} SET attempt = attempt + ${by}`);
  if (has('wait')) db.exec(`UPDATE wait SET gen = gen + ${by}`);
  for (const table of ['checkpoint', 'journal'].filter(has)) db.exec(`UPDATE ${table} SET attempt = attempt + ${by}`);
  if (has('dep')) db.exec(`UPDATE dep SET gen = gen + ${by}`);
  db.prepare(`INSERT INTO task (id, lane, spec, state, prio, max_tries, created_at, ended_at, reason)
    VALUES (?, 0, 0, 6, 0, 1, ?, ?, 0)`).run(own.task + by, now, now);
  const sequences = { worker: own.worker, entry_token: own.token, browser_session: own.session };
  for (const [table, last] of Object.entries(sequences)) {
    if (!has(table)) continue;
    db.prepare('DELETE FROM sqlite_sequence WHERE name = ?').run(table);
    db.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)').run(table, last + by);
  }
}

/** The founding row holds no event. It goes if another row has the next number, and stays if it is alone. */
function shiftEvents(db: DatabaseSync, by: number): void {
  db.exec('DELETE FROM event WHERE seq = 0 AND (SELECT max(seq) FROM event) > 0');
  db.prepare('UPDATE event SET seq = seq + ? WHERE seq > 0').run(by);
}

const BATCH = 500;

function expireOverdue(db: DatabaseSync, now: number): number {
  const columns = db.prepare("SELECT 1 FROM pragma_table_info('task') WHERE name = 'expires_at'").get();
  if (columns === undefined) return 0;
  const sql = new Prepared(db);
  const laneOf = laneReader(sql);
  for (let expired = 0; ; ) {
    const ledger = new Ledger();
    // Nothing here needs lease time.
    const answer = expireTasks(
      { sql, ledger, counters: new LimitCounters(), laneOf, now, leaseNow: 0, dependents: undefined },
      BATCH,
    );
    ledger.write(sql, now);
    expired += answer.expired;
    if (answer.expired < BATCH) return expired;
  }
}
