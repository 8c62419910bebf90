import { type Defect, plant } from '../defects.ts';

/** What somebody might break one day of budgets, which only runs of machines draw from here. */
export const BUDGET_DEFECTS = {
  'give-back-lost': plant('what is given back stays taken', [
    'budgetTake',
    'taken = max(taken + ?, 0)',
    'taken = taken + max(?, 0)',
  ]),
  'draw-unbounded': plant('a draw does not ask for the bound', ['budgetRows', 'hard, taken', 'NULL AS hard, taken']),
  'spent-twice': plant('what was spent before is counted again', [
    'allowancePut',
    'spent = excluded.spent',
    'spent = spent + excluded.spent',
  ]),
  'metered-unmarked': plant('nobody knows that a task has drawn, so that it gives nothing back', [
    'meterTask',
    'WHERE id = ?',
    'WHERE id = 0 * ?',
  ]),
} as const satisfies Record<string, Defect>;
