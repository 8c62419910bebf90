import { fault } from '../../core/errors.ts';
import { type Amount, MAX_AMOUNT, type Metering, type Spending, UNITS, type Unit } from '../../core/limits/budget.ts';
import type { BudgetRecord, NewBudget, Store } from '../../store/store.ts';
import { checkList, checkOptions, checkTask, whole } from '../check.ts';

/** Bounds of one unit. What is not named stays as it is; null removes a bound. */
export interface BudgetRequest {
  /** When it is reached, one event tells so, and turns hear of it. */
  readonly soft?: number | null;
  /** No draw goes beyond it: its task waits until the bound is raised, or another task gives something back. */
  readonly hard?: number | null;
}

export type BudgetsRequest = Readonly<Partial<Record<Unit, BudgetRequest>>>;

export interface BudgetsDeps {
  readonly store: Pick<Store, 'budgetSet' | 'budgetGet'>;
  /** Tasks that waited for a budget may be ready. */
  readonly onChange: () => void;
}

const SET: ReadonlySet<string> = new Set(UNITS);
const BOUNDS: ReadonlySet<string> = new Set(['soft', 'hard'] satisfies (keyof BudgetRequest)[]);
const AMOUNT: ReadonlySet<string> = new Set(['unit', 'amount'] satisfies (keyof Amount)[]);
const SPENDING: ReadonlySet<string> = new Set(['unit', 'amount', 'drawn'] satisfies (keyof Spending)[]);

/** What all tasks of a tree may use together. Turns draw from it. */
export class Budgets {
  readonly #deps: BudgetsDeps;

  constructor(deps: BudgetsDeps) {
    this.#deps = deps;
  }

  /** Sets bounds for the tree of this root, unit by unit. A bound below what is taken stops further draws, and nothing else. */
  async set(root: number, budgets: BudgetsRequest): Promise<readonly BudgetRecord[]> {
    checkTask(root);
    const changes = checkBudgets(budgets);
    for (const change of changes) {
      if ((await this.#deps.store.budgetSet({ root, ...change })) === undefined) throw noRoot(root);
    }
    if (changes.length > 0) this.#deps.onChange();
    return this.get(root);
  }

  /** The budgets of a tree; none if it has none, or is not kept. */
  async get(root: number): Promise<readonly BudgetRecord[]> {
    checkTask(root);
    return this.#deps.store.budgetGet({ root });
  }
}

export function checkBudgets(budgets: BudgetsRequest): readonly NewBudget[] {
  checkOptions('budgets', budgets, SET);
  return UNITS.flatMap((unit) => {
    const request = budgets[unit];
    return request === undefined ? [] : [{ unit, ...checkBounds(unit, request) }];
  });
}

/** What a turn draws and has spent. `receipts`: it has an entry by which a repeat of it is known. */
export function checkMetering({ draw, spend }: Metering, go: string, receipts: boolean): Metering {
  if (draw === undefined && spend === undefined) return {};
  if (draw !== undefined && go !== 'on') {
    throw refuse('draw', 'only a turn that goes on can draw: all others give back what is left');
  }
  if (!receipts && (go === 'on' || go === 'park')) {
    throw refuse(draw === undefined ? 'spend' : 'draw', 'the turn needs an entry, by which a repeat of it is known');
  }
  return {
    ...(draw === undefined ? {} : { draw: checkAmounts('draw', draw, AMOUNT) }),
    ...(spend === undefined ? {} : { spend: checkAmounts('spend', spend, SPENDING) }),
  };
}

function checkAmounts<T extends Spending>(
  field: string,
  given: readonly T[],
  known: ReadonlySet<string>,
): readonly T[] {
  checkList(field, given);
  // Before they are looked at one by one.
  if (given.length > UNITS.length) throw refuse(field, `it names more than ${UNITS.length} units`);
  for (const one of given) {
    checkOptions(field, one, known);
    if (!UNITS.includes(one.unit)) throw refuse(`${field}.unit`, `it is one of ${UNITS.join(', ')}`);
    whole(`${field}.amount`, one.amount, 0, MAX_AMOUNT);
    if (one.drawn !== undefined) whole(`${field}.drawn`, one.drawn, 0, MAX_AMOUNT);
  }
  if (new Set(given.map(({ unit }) => unit)).size < given.length) throw refuse(field, 'it names a unit twice');
  return given;
}

function checkBounds(unit: Unit, request: BudgetRequest): BudgetRequest {
  checkOptions(unit, request, BOUNDS);
  const { soft, hard } = request;
  for (const [name, bound] of Object.entries({ soft, hard })) {
    if (bound !== undefined && bound !== null) whole(`${unit}.${name}`, bound, 0, MAX_AMOUNT);
  }
  if (typeof soft === 'number' && typeof hard === 'number' && soft > hard) {
    throw refuse(`${unit}.soft`, 'it is above the hard bound, and would never be reached');
  }
  return request;
}

function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}

function noRoot(root: number): Error {
  return fault(
    'NOT_FOUND',
    { kind: 'root task', id: root },
    { hint: 'A budget belongs to the root of a tree: name the task that was pushed, not one that it has spawned.' },
  );
}
