import type { BudgetRecord, BudgetStore } from '../../store.ts';
import { getBudgets, setBudget } from '../verbs/trees/budget.ts';
import { noneWoken } from '../verbs/trees/countdown.ts';
import type { StoreParts } from './store-parts.ts';

export function budgetStore({ calls }: StoreParts): BudgetStore {
  return {
    async budgetSet(change) {
      // All waiting claims look again afterwards. The answer that is kept for a repeat is JSON.
      const set = await calls.edit(
        'budgetSet',
        async (session) => (await setBudget(session, change, noneWoken())) ?? null,
      );
      return set === null ? undefined : wholeRecord(set);
    },
    budgetGet: ({ root }) => calls.run((session) => getBudgets(session, root)),
  };
}

/** JSON has no undefined. */
function wholeRecord({ unit, soft, hard, taken, spent, waiting }: BudgetRecord): BudgetRecord {
  return { unit, soft, hard, taken, spent, waiting };
}
