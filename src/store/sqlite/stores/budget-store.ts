import type { BudgetStore } from '../../store.ts';
import { getBudgets, setBudget } from '../verbs/trees/budget.ts';
import type { StoreParts } from './store-parts.ts';

export function budgetStore({ calls, writer }: StoreParts): BudgetStore {
  return {
    budgetSet: (change) => calls.waking('rest', (tx) => setBudget(tx, change)),
    budgetGet: ({ root }) => writer.read(({ sql }) => getBudgets(sql, root)),
  };
}
