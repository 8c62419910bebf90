import { METERED } from '../../codes.ts';

export const BUDGET_STATEMENTS = {
  budgetRows: 'SELECT unit, soft, hard, taken, told FROM budget WHERE root = ? ORDER BY unit',
  budgetRoot: 'SELECT 1 FROM task WHERE id = ? AND root IS NULL',
  budgetPut: `INSERT INTO budget (root, unit, soft, hard, told) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (root, unit) DO UPDATE SET soft = excluded.soft, hard = excluded.hard, told = excluded.told`,
  budgetTake: 'UPDATE budget SET taken = max(taken + ?, 0), told = ? WHERE root = ? AND unit = ?',
  budgetTold: 'UPDATE budget SET told = ? WHERE root = ? AND unit = ?',
  budgetWaits: `SELECT count(*) AS n FROM wait w CROSS JOIN task t ON t.id = w.task AND t.state = 3 AND t.attempt = w.gen
    WHERE w.state = 0 AND w.channel = ? AND w.key = ?`,
  allowanceRows: 'SELECT unit, root, granted, spent, reserved FROM allowance WHERE task = ? ORDER BY unit',
  allowancePut: `INSERT INTO allowance (task, unit, root, granted, spent, reserved) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (task, unit) DO UPDATE SET granted = excluded.granted, spent = excluded.spent, reserved = excluded.reserved`,
  allowanceSums: 'SELECT unit, sum(spent) AS spent FROM allowance WHERE root = ? GROUP BY unit',
  meterTask: `UPDATE task SET flags = flags | ${METERED} WHERE id = ? AND flags & ${METERED} = 0`,
} as const;
