import { realpathSync } from 'node:fs';
import type { StatementSync } from 'node:sqlite';
import { fault } from '../../core/errors.ts';
import type { CallerTransaction, NamedTask, PushAnswer } from '../store.ts';
import type { StoreClock } from './clock.ts';
import { Prepared } from './connection.ts';
import { translate } from './errors.ts';
import { Ledger } from './ledger.ts';
import type { SqliteParts } from './parts.ts';
import { laneReader } from './transaction.ts';
import { internLane, internSpec } from './verbs/intern.ts';
import { pushTasks } from './verbs/push.ts';

/** Statements prepared on callers' handles, with the file that they were found to belong to; they go when the handle goes. */
const preparedFor = new WeakMap<CallerTransaction, { readonly file: string; readonly sql: Prepared }>();

/**
 * Pushes through the caller's own handle, inside its open transaction. Lanes and specs are interned there too and cached
 * nowhere: the caller may still roll back. The caller's open transaction stops every other writer of the file, so it should
 * end within a second.
 */
export function pushInCallerTransaction(
  caller: CallerTransaction,
  items: readonly NamedTask[],
  parts: SqliteParts,
): readonly PushAnswer[] {
  const { clock } = parts.writer;
  try {
    return push(caller, items, parts, clock);
  } catch (error) {
    throw translate(error, parts.file);
  }
}

function push(
  caller: CallerTransaction,
  items: readonly NamedTask[],
  parts: SqliteParts,
  clock: StoreClock,
): readonly PushAnswer[] {
  const sql = statementsFor(caller, parts);
  requireTransaction(caller);
  const tx = {
    sql,
    ledger: new Ledger(),
    leaseNow: clock.lease(),
    now: clock.calendar(),
    laneOf: laneReader(sql),
  };
  const tasks = items.map(({ queue, handler, specBody, ...task }) => ({
    ...task,
    lane: internLane(tx, { queue, handler }).id,
    spec: internSpec(tx, specBody),
  }));
  const answers = pushTasks(tx, tasks);
  tx.ledger.write(sql, tx.now);
  return answers;
}

function statementsFor(caller: CallerTransaction, parts: SqliteParts): Prepared {
  const kept = preparedFor.get(caller);
  if (kept?.file === parts.file) return kept.sql;
  const main = (caller.prepare('PRAGMA database_list') as StatementSync).all() as unknown as {
    name: string;
    file: string;
  }[];
  const file = main.find(({ name }) => name === 'main')?.file ?? '';
  if (parts.inMemory || file === '' || realpathSync(file) !== realpathSync(parts.file)) {
    throw fault(
      'INVALID_INPUT',
      {
        field: 'transaction',
        problem: `it belongs to ${file || 'a database in memory'} and the tasks to ${parts.file}`,
      },
      { hint: 'Open your own handle on the same SQLite file, and push inside its transaction.' },
    );
  }
  const prepared = new Prepared(caller);
  preparedFor.set(caller, { file: parts.file, sql: prepared });
  return prepared;
}

/** Outside a transaction each statement would commit alone, and a crash between two leave a task without its event. */
function requireTransaction(caller: CallerTransaction): void {
  // `DatabaseSync` has the one, better-sqlite3 the other; of a handle with neither the caller's word is taken.
  const { isTransaction, inTransaction } = caller as {
    readonly isTransaction?: unknown;
    readonly inTransaction?: unknown;
  };
  if (isTransaction !== false && inTransaction !== false) return;
  throw fault('INVALID_INPUT', { field: 'transaction', problem: 'the handle has no transaction open' });
}
