import { CHANGES } from '../../../core/task/task.ts';
import { METERED } from '../../codes.ts';
import { type Fragments, few } from './fragments.ts';

/**
 * Statements of budgets. The row of a budget is the last that a transaction locks, but for the tasks that it wakes then. Allowances are
 * written under the lock of their task, or after it has left `task` in the same transaction.
 */
export function budgetStatements({ s, tell }: Fragments) {
  const level = 'root, unit, soft, hard, taken, told';

  return {
    /** Locks the tasks of turns that go on and draw: they may park. */
    meterLook: `SELECT t.id, t.lane, t.root, t.flags, t.cancel_at IS NOT NULL AS asked
      FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[]) x(task, n) WHERE ${few('task')}) x
      JOIN ${s}.task t ON t.id = x.task AND t.attempt = x.n WHERE t.state + 0 = 1 ORDER BY t.id FOR UPDATE OF t`,
    meterTasks: `UPDATE ${s}.task SET flags = flags | ${METERED} WHERE id = ANY($1::bigint[]) AND flags & ${METERED} = 0`,
    /** The leases among these that the fast statements have left. */
    metered: `SELECT t.id, t.attempt FROM ${s}.task t JOIN unnest($1::bigint[], $2::bigint[]) x(task, n)
      ON t.id = x.task AND t.attempt = x.n
      WHERE t.state + 0 = 1 AND t.cancel_at IS NULL AND t.flags & ${METERED} <> 0 AND ${few('x.task')}`,
    meterWarn: `WITH x AS (SELECT id, queue, attempt, created_at FROM ${s}.task WHERE id = ANY($1::bigint[]))
      ${tell('x', CHANGES.indexOf('budget_warned'), 1)}`,
    budgetRows: `SELECT ${level} FROM ${s}.budget WHERE root = ANY($1::bigint[]) ORDER BY root, unit`,
    budgetLock: `SELECT ${level} FROM ${s}.budget WHERE root = ANY($1::bigint[]) ORDER BY root, unit FOR UPDATE`,
    budgetTake: `UPDATE ${s}.budget b SET taken = greatest(b.taken + x.more, 0), told = x.told
      FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::smallint[]) x(root, unit, more, told)
      WHERE (b.root, b.unit) >= (x.root, x.unit) AND (b.root, b.unit) <= (x.root, x.unit) AND ${few('x.root')}`,
    /** Locks the root, so that the pruner does not remove it meanwhile. */
    budgetRoot: `SELECT id FROM ${s}.task WHERE id = $1 AND root IS NULL FOR KEY SHARE`,
    budgetRootDone: `SELECT id FROM ${s}.done WHERE id = $1 AND root IS NULL FOR KEY SHARE`,
    budgetAdd: `INSERT INTO ${s}.budget (root, unit) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
    budgetPut: `UPDATE ${s}.budget SET soft = $3, hard = $4, told = $5 WHERE root = $1 AND unit = $2`,
    budgetWaits: `SELECT w.key, count(*)::int AS n FROM ${s}.wait w CROSS JOIN LATERAL (SELECT FROM ${s}.task t
        WHERE t.id = w.task AND t.state + 0 = 3 AND t.attempt = w.gen OFFSET 0) t
      WHERE w.state = 0 AND w.channel = $1 GROUP BY w.key`,
    allowanceRows: `SELECT task, unit, root, granted, spent, reserved FROM ${s}.allowance WHERE task = ANY($1::bigint[])
      ORDER BY task, unit`,
    allowancePut: `INSERT INTO ${s}.allowance (task, unit, root, granted, spent, reserved)
      SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[]) ORDER BY 1, 2
      ON CONFLICT (task, unit) DO UPDATE SET granted = excluded.granted, spent = excluded.spent, reserved = excluded.reserved`,
    allowanceSums: `SELECT unit, sum(spent)::bigint AS spent FROM ${s}.allowance WHERE root = $1 GROUP BY unit`,
    pruneAllowances: `DELETE FROM ${s}.allowance WHERE task = ANY($1::bigint[])`,
    pruneBudgets: `DELETE FROM ${s}.budget WHERE root = ANY($1::bigint[])`,
  } as const;
}
