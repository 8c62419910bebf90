import {
  type Allowance,
  type BudgetLevel,
  budgetChannel,
  budgetKey,
  isSoft,
  leave,
  type Metered,
  meter,
  type Unit,
} from '../../../../core/limits/budget.ts';
import { AWAITED, METERED, unitCode, unitOf, WARNED } from '../../../codes.ts';
import type { BudgetChange, BudgetNews, BudgetRecord, Turn } from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';
import { wakeAll } from './signal.ts';

interface Level extends BudgetLevel {
  readonly told: number;
}

interface LevelRow {
  readonly unit: number;
  readonly soft: number | null;
  readonly hard: number | null;
  readonly taken: number;
  readonly told: number;
}

interface AllowanceRow extends Allowance {
  readonly unit: number;
  readonly root: number;
}

/** The row of the task of a turn. */
interface Payer {
  readonly lane: number;
  readonly created_at: number;
  readonly root: number | null;
}

const rootOf = ({ task }: Turn, { root }: Payer): number => root ?? task;

/** What the turn hears of its budget, and the unit that is short. Without a budget nothing is written. */
export interface Charged {
  readonly news: BudgetNews | undefined;
  readonly short: Unit | undefined;
  /** Flags that its task got. */
  readonly flags: number;
}

export const FREE: Charged = { news: undefined, short: undefined, flags: 0 };

/**
 * Settles what the turn has spent, and draws. Reads hold for the writes that follow them: this transaction is the only writer. If a
 * unit is short, all that the task has not spent is given back, because it will park.
 */
export function chargeTurn(tx: Transaction, turn: Turn, row: Payer): Charged {
  const root = rootOf(turn, row);
  const budgets = levelsOf(tx.sql, root);
  if (budgets.size === 0) return FREE;
  const metered = meter(budgets, allowancesOf(tx.sql, turn.task).units, {
    spend: turn.spend,
    draw: turn.then.go === 'on' ? turn.draw : undefined,
  });
  if (metered.allowances.size > 0) tx.sql.get('meterTask').run(turn.task);
  putAllowances(tx, turn.task, root, metered);
  const crossed = take(tx, root, budgets, metered);
  if (crossed) {
    tx.ledger.note(
      tx.laneOf(row.lane).queue,
      'budget_warned',
      'running',
      'running',
      turn.task,
      turn.attempt,
      row.created_at,
    );
    // What becomes of the task in this transaction comes after it.
    tx.ledger.seal();
  }
  if (metered.short !== undefined) {
    const { told } = levelsOf(tx.sql, root).get(metered.short) as Level;
    tx.sql.get('budgetTold').run(told | AWAITED, root, unitCode(metered.short));
  }
  const flags = metered.allowances.size > 0 ? METERED : 0;
  return { news: newsOf(tx.sql, root, turn, metered.short !== undefined), short: metered.short, flags };
}

/** A repeat is told what holds now. */
export function repeatedCharge(sql: Prepared, turn: Turn, row: Payer): Charged {
  const root = rootOf(turn, row);
  return levelsOf(sql, root).size === 0 ? FREE : { ...FREE, news: newsOf(sql, root, turn, false) };
}

function newsOf(sql: Prepared, root: number, { draw = [], spend = [] }: Turn, waits: boolean): BudgetNews {
  const units = new Set([...draw, ...spend].map(({ unit }) => unit));
  const soft = [...levelsOf(sql, root)].some(([unit, { told }]) => units.has(unit) && (told & WARNED) !== 0);
  return { ...(soft ? { soft } : {}), ...(waits ? { waits } : {}) };
}

/** What a task waits for whose draw was refused. */
export function waitFor(turn: Turn, row: Payer, unit: Unit): { readonly key: string; readonly channel: string } {
  return { key: budgetKey(unit), channel: budgetChannel(rootOf(turn, row)) };
}

/** Whether this attempt has parked because its draw was refused. */
export function parkedForBudget(sql: Prepared, { task, attempt, draw = [] }: Turn): boolean {
  const wait = sql.get('waitGet').get(task) as { gen: number; key: string } | undefined;
  return wait?.gen === attempt && draw.some(({ unit }) => wait.key === budgetKey(unit));
}

/** A metered task no longer runs: what it was granted and has not spent is given back. `cut`: not what it had reserved. */
export function giveBack(tx: Transaction, task: number, cut = false): void {
  const { root, units } = allowancesOf(tx.sql, task);
  const left = leave(units, cut);
  putAllowances(tx, task, root, left);
  take(tx, root, levelsOf(tx.sql, root), left);
}

/** Writes what is taken. Who waits for a budget is woken when something of it is given back. True: a soft bound was reached. */
function take(tx: Transaction, root: number, budgets: ReadonlyMap<Unit, Level>, { taken }: Metered): boolean {
  let crossed = false;
  let awaited = false;
  for (const [unit, by] of taken) {
    const level = budgets.get(unit);
    if (level === undefined) continue;
    const warned = isSoft({ ...level, taken: level.taken + by }) ? WARNED : 0;
    if (warned > (level.told & WARNED)) crossed = true;
    if (by < 0 && level.told & AWAITED) awaited = true;
    const told = (by < 0 ? level.told & ~AWAITED : level.told) | warned;
    tx.sql.get('budgetTake').run(by, told, root, unitCode(unit));
  }
  if (awaited) wakeAll(tx, budgetChannel(root));
  return crossed;
}

function putAllowances(tx: Transaction, task: number, root: number, { allowances }: Metered): void {
  for (const [unit, { granted, spent, reserved }] of allowances) {
    tx.sql.get('allowancePut').run(task, unitCode(unit), root, granted, spent, reserved);
  }
}

function levelsOf(sql: Prepared, root: number): ReadonlyMap<Unit, Level> {
  const rows = sql.get('budgetRows').all(root) as unknown as LevelRow[];
  return new Map(
    rows.map(({ unit, soft, hard, taken, told }) => [
      unitOf(unit),
      { soft: soft ?? undefined, hard: hard ?? undefined, taken, told },
    ]),
  );
}

function allowancesOf(
  sql: Prepared,
  task: number,
): { readonly root: number; readonly units: ReadonlyMap<Unit, Allowance> } {
  const rows = sql.get('allowanceRows').all(task) as unknown as AllowanceRow[];
  const units = rows.map(({ unit, granted, spent, reserved }) => [unitOf(unit), { granted, spent, reserved }] as const);
  return { root: rows[0]?.root ?? task, units: new Map(units) };
}

export function setBudget(tx: Transaction, { root, unit, soft, hard }: BudgetChange): BudgetRecord | undefined {
  if (tx.sql.get('budgetRoot').get(root) === undefined) return undefined;
  const was = levelsOf(tx.sql, root).get(unit);
  const level = {
    soft: soft === undefined ? was?.soft : (soft ?? undefined),
    hard: hard === undefined ? was?.hard : (hard ?? undefined),
    taken: was?.taken ?? 0,
  };
  // A soft bound that is above what is taken again may be told of again.
  const told = isSoft(level) ? (was?.told ?? 0) & WARNED : 0;
  tx.sql.get('budgetPut').run(root, unitCode(unit), level.soft ?? null, level.hard ?? null, told);
  wakeAll(tx, budgetChannel(root));
  return getBudgets(tx.sql, root).find((one) => one.unit === unit);
}

export function getBudgets(sql: Prepared, root: number): readonly BudgetRecord[] {
  const budgets = levelsOf(sql, root);
  if (budgets.size === 0) return [];
  const sums = sql.get('allowanceSums').all(root) as unknown as { unit: number; spent: number }[];
  return [...budgets].map(([unit, { soft, hard, taken }]) => ({
    unit,
    soft,
    hard,
    taken,
    spent: sums.find((one) => one.unit === unitCode(unit))?.spent ?? 0,
    waiting: (sql.get('budgetWaits').get(budgetChannel(root), budgetKey(unit)) as { n: number }).n,
  }));
}
