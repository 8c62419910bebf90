import type { Unit } from '../../core/limits/budget.ts';

/** The part of the port for budgets: what all tasks of a tree may use together. Turns draw from them (`Turn.draw`). */
export interface BudgetStore {
  /**
   * Sets bounds of the budget of a root in one unit, and makes it if there is none; what is not named stays, null removes a bound. Wakes
   * the tasks that wait for it. A hard bound below what is taken stops further draws. Undefined: there is no such task, or it is not
   * the root of its tree.
   */
  budgetSet(params: BudgetChange): Promise<BudgetRecord | undefined>;
  /** The budgets of a root, in the order of the units. */
  budgetGet(params: { readonly root: number }): Promise<readonly BudgetRecord[]>;
}

export interface NewBudget {
  readonly unit: Unit;
  readonly soft?: number | null | undefined;
  readonly hard?: number | null | undefined;
}

export interface BudgetChange extends NewBudget {
  readonly root: number;
}

export interface BudgetRecord {
  readonly unit: Unit;
  /** When it is reached, one event tells so. */
  readonly soft: number | undefined;
  readonly hard: number | undefined;
  /** What is granted to tasks that run, and what all others have spent. */
  readonly taken: number;
  readonly spent: number;
  /** How many tasks wait for it. */
  readonly waiting: number;
}
