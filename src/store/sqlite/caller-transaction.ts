import { realpathSync } from 'node:fs';
import type { StatementSync } from 'node:sqlite';
import { fault } from '../../core/errors.ts';
import type { NamedTask, PushAnswer, SqliteTransaction } from '../store.ts';
import type { StoreClock } from './file/clock.ts';
import { followStep } from './file/clock-steps.ts';
import { Prepared } from './file/connection.ts';
import { translate } from './file/errors.ts';
import { laneReader } from './file/transaction.ts';
import { Ledger } from './ledger.ts';
import { LimitCounters } from './limit-counters.ts';
import type { SqliteParts } from './parts.ts';
import { internLane, internSpec } from './verbs/queue/intern.ts';
import { pushTasks } from './verbs/queue/push.ts';

/** What is prepared on a caller's handle, which was found to belong to the file of the store. */
interface CallerStatements {
  readonly sql: Prepared;
  readonly savepoint: StatementSync;
  readonly undo: StatementSync;
  readonly release: StatementSync;
}

/**
 * Pushes through the caller's own handle, inside its open transaction. Lanes and specs are interned there too and
 * cached nowhere, because the caller may roll back. The open transaction blocks every other writer of the file, so it
 * should end within a second.
 */
export class CallerTransactions {
  readonly #parts: SqliteParts;
  /** Entries go with their handle. */
  readonly #prepared = new WeakMap<SqliteTransaction, CallerStatements>();

  constructor(parts: SqliteParts) {
    this.#parts = parts;
  }

  push(caller: SqliteTransaction, items: readonly NamedTask[]): readonly PushAnswer[] {
    const { clock } = this.#parts.writer;
    try {
      requireTransaction(caller);
      const statements = this.#setSavepoint(caller);
      try {
        const answers = push(statements.sql, items, clock);
        statements.release.run();
        return answers;
      } catch (error) {
        rollBack(statements);
        throw error;
      }
    } catch (error) {
      throw translate(error, this.#parts.file);
    }
  }

  /** Sets a savepoint that makes the push all or nothing: the caller may catch its error and commit what else it wrote. */
  #setSavepoint(caller: SqliteTransaction): CallerStatements {
    const kept = this.#prepared.get(caller);
    if (kept !== undefined) {
      try {
        kept.savepoint.run();
        return kept;
      } catch (error) {
        // Closing a handle finalizes its statements, and a `DatabaseSync` can be opened again.
        if ((error as { code?: unknown }).code !== 'ERR_INVALID_STATE') throw error;
      }
    }
    const fresh = prepareFor(caller, this.#parts);
    this.#prepared.set(caller, fresh);
    fresh.savepoint.run();
    return fresh;
  }
}

function push(sql: Prepared, items: readonly NamedTask[], clock: StoreClock): readonly PushAnswer[] {
  const tx = {
    sql,
    ledger: new Ledger(),
    counters: new LimitCounters(),
    leaseNow: clock.lease(),
    now: clock.calendar(),
    laneOf: laneReader(sql),
    dependents: undefined,
  };
  // Not by `follow`, which takes it for committed: the caller may roll back.
  if (clock.steps.wasSet(tx.leaseNow, tx.now)) followStep(sql, tx.now - tx.leaseNow);
  const tasks = items.map(({ queue, handler, placement, limits, fairness, specBody, ...task }) => ({
    ...task,
    lane: internLane(tx, { queue, handler, placement, limits, fairness }).id,
    spec: internSpec(tx, specBody),
  }));
  const answers = pushTasks(tx, tasks);
  tx.ledger.write(sql, tx.now);
  return answers;
}

function rollBack({ undo, release }: CallerStatements): void {
  try {
    undo.run();
    release.run();
  } catch {
    // After some errors SQLite rolls back the whole transaction by itself; nothing of the push is kept either way.
  }
}

function prepareFor(caller: SqliteTransaction, parts: SqliteParts): CallerStatements {
  const prepare = (sql: string): StatementSync => asOurs(caller.prepare(sql));
  const list = prepare('PRAGMA database_list').all() as unknown as { name: string; file: string }[];
  const file = list.find(({ name }) => name === 'main')?.file ?? '';
  if (parts.inMemory || file === '' || realpathSync(file) !== realpathSync(parts.file)) {
    throw badHandle(
      `it belongs to ${file || 'a database in memory'} and the tasks to ${parts.file}`,
      'Open your own handle on the same SQLite file, and push inside its transaction.',
    );
  }
  return {
    sql: new Prepared({ prepare }),
    savepoint: prepare('SAVEPOINT leasehold_push'),
    undo: prepare('ROLLBACK TO leasehold_push'),
    release: prepare('RELEASE leasehold_push'),
  };
}

/** Makes a statement return rows as our own handles do, whatever the caller set for its handle. */
function asOurs(statement: unknown): StatementSync {
  const { setReadBigInts, setReturnArrays, safeIntegers } = statement as Partial<StatementSync> & {
    readonly safeIntegers?: (on: boolean) => unknown; // better-sqlite3, which has arrays by statement only
  };
  setReadBigInts?.call(statement, false);
  setReturnArrays?.call(statement, false);
  safeIntegers?.call(statement, false);
  return statement as StatementSync;
}

/** Outside of a transaction the tasks could not commit together with the caller's work. */
function requireTransaction(caller: SqliteTransaction): void {
  // `DatabaseSync` has the `is` properties, better-sqlite3 the others. A handle with neither is trusted.
  const { isOpen, open } = caller as { readonly isOpen?: unknown; readonly open?: unknown };
  if (isOpen === false || open === false) throw badHandle('the handle is closed');
  const { isTransaction, inTransaction } = caller as {
    readonly isTransaction?: unknown;
    readonly inTransaction?: unknown;
  };
  if (isTransaction === false || inTransaction === false) throw badHandle('the handle has no transaction open');
}

function badHandle(problem: string, hint?: string): Error {
  return fault('INVALID_INPUT', { field: 'transaction', problem }, hint === undefined ? {} : { hint });
}
