/** Budgets of runs as people say them: money is in dollars here, and in millionths where it is kept. */
import { fault } from '../../core/errors.ts';
import type { BudgetRecord } from '../../engine/records.ts';
import type { BudgetsRequest } from '../../engine/trees/budgets.ts';
import type { RequestOf } from '../../protocol/paths.ts';
import type { RunDetailView } from '../../protocol/views.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';

type BudgetView = RunDetailView['budgets'][number];
type Change = RequestOf<'setRunBudget'>;

const MILLION = 1_000_000;

export async function budgetsOf({ engine }: EngineSnapshot, root: number): Promise<readonly BudgetView[]> {
  return (await engine.budgets.get(root)).map(viewOf);
}

/** A budget belongs to the whole tree. */
export async function setBudgets(
  { engine }: EngineSnapshot,
  root: number,
  changes: readonly Change[],
): Promise<readonly BudgetView[]> {
  return (await engine.budgets.set(root, budgetsIn(changes))).map(viewOf);
}

/** The bounds of a run, for another one that goes on in its place. What it has used is not counted for the other. */
export async function boundsOf({ engine }: EngineSnapshot, root: number): Promise<BudgetsRequest> {
  const budgets = await engine.budgets.get(root);
  return Object.fromEntries(
    budgets
      .filter(({ soft, hard }) => soft !== undefined || hard !== undefined)
      .map(({ unit, soft, hard }) => [
        unit,
        { ...(soft === undefined ? {} : { soft }), ...(hard === undefined ? {} : { hard }) },
      ]),
  );
}

/** As the engine counts them. */
export function budgetsIn(changes: readonly Change[]): BudgetsRequest {
  if (new Set(changes.map(({ unit }) => unit)).size < changes.length)
    throw fault('INVALID_INPUT', { field: 'budgets', problem: 'they name a unit twice' });
  return Object.fromEntries(
    changes.map(({ unit, soft, hard }) => [unit, { ...bound('soft', unit, soft), ...bound('hard', unit, hard) }]),
  );
}

function bound(name: 'soft' | 'hard', unit: BudgetView['unit'], value: number | null | undefined) {
  if (value === undefined) return {};
  return { [name]: value === null || unit !== 'money' ? value : Math.round(value * MILLION) };
}

function viewOf({ unit, soft, hard, taken, spent, waiting }: BudgetRecord): BudgetView {
  const said = (amount: number): number => (unit === 'money' ? amount / MILLION : amount);
  return {
    unit,
    ...(soft === undefined ? {} : { soft: said(soft) }),
    ...(hard === undefined ? {} : { hard: said(hard) }),
    taken: said(taken),
    spent: said(spent),
    waiting: waiting > 0,
  };
}
