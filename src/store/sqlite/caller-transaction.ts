import { realpathSync } from 'node:fs';
import type { StatementSync } from 'node:sqlite';
import { fault } from '../../core/errors.ts';
import type { CallerTransaction, NamedTask, PushAnswer } from '../store.ts';
import { Prepared } from './connection.ts';
import { Ledger } from './ledger.ts';
import type { SqliteParts } from './parts.ts';
import { laneReader } from './transaction.ts';
import { internLane, internSpec } from './verbs/intern.ts';
import { pushTasks } from './verbs/push.ts';

/** Statements prepared on callers' handles; they go when the handle goes. */
const preparedFor = new WeakMap<CallerTransaction, Prepared>();

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
  const sql = statementsFor(caller, parts);
  const { clock } = parts.writer;
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
  if (kept !== undefined) return kept;
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
  preparedFor.set(caller, prepared);
  return prepared;
}
