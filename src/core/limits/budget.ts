import type { FinalState } from '../task/task.ts';

/**
 * Budgets of trees. A budget bounds what all tasks of a tree may use of a unit. Each task has an allowance of it, which it draws from
 * before a call and settles after it. So the row of the budget changes only when an allowance runs short or is given back: one row
 * that a thousand children changed with every call would hold them all up.
 *
 * `taken` of a budget is the sum of what is granted to its tasks. A task that does not run is granted what it has spent. So the sum of
 * all that was spent stays within the hard bound, except for calls that cost more than was drawn for them.
 */

/** The position in this list is the number that the stores write. `money` is in millionths. */
export const UNITS = ['tokens', 'money', 'ms', 'calls'] as const;
export type Unit = (typeof UNITS)[number];

export const MAX_AMOUNT = Number.MAX_SAFE_INTEGER;

export interface Amount {
  readonly unit: Unit;
  readonly amount: number;
}

/** What calls have really used. */
export interface Spending extends Amount {
  /** How much of what was drawn before it settles; default all of it. Less where other calls are still under way. */
  readonly drawn?: number | undefined;
}

/** What one task has of one unit. `granted` is at least `spent` and `reserved` together. */
export interface Allowance {
  /** Counted in the budget. */
  readonly granted: number;
  readonly spent: number;
  /** Drawn for calls under way. */
  readonly reserved: number;
}

export interface BudgetBounds {
  /** From here on the budget is worth a warning. */
  readonly soft?: number | undefined;
  /** No draw goes beyond it. */
  readonly hard?: number | undefined;
}

export interface BudgetLevel extends BudgetBounds {
  readonly taken: number;
}

/** What a turn has used, and what the call after it may use. */
export interface Metering {
  readonly draw?: readonly Amount[] | undefined;
  readonly spend?: readonly Spending[] | undefined;
}

export interface Metered {
  /** The allowances that change, as they will be. */
  readonly allowances: ReadonlyMap<Unit, Allowance>;
  /** By how much `taken` of each budget changes; without those that stay. */
  readonly taken: ReadonlyMap<Unit, number>;
  /** The unit that has not enough left: nothing was drawn, and all that the task has neither spent nor reserved is given back. */
  readonly short: Unit | undefined;
}

const NONE: Allowance = { granted: 0, spent: 0, reserved: 0 };
/** An allowance that is short gets this share of what is left, but at most so many times what it is short of. */
const SHARE = 256;
const MOST_TIMES = 16;

/** The channel on which tasks wait that found too little left. */
export const budgetChannel = (root: number): string => `budget:${root}`;
/** The key of such a wait. */
export const budgetKey = (unit: Unit): string => `budget:${unit}`;

/** Only units that have a budget count. */
export function meter(
  budgets: ReadonlyMap<Unit, BudgetLevel>,
  allowances: ReadonlyMap<Unit, Allowance>,
  { draw = [], spend = [] }: Metering,
): Metered {
  const spent = new Map<Unit, Allowance>();
  for (const one of spend) {
    if (!budgets.has(one.unit)) continue;
    spent.set(one.unit, afterSpend(spent.get(one.unit) ?? allowances.get(one.unit) ?? NONE, one));
  }
  const drawn = new Map(spent);
  for (const { unit, amount } of draw) {
    const budget = budgets.get(unit);
    if (budget === undefined || amount === 0) continue;
    const old = allowances.get(unit)?.granted ?? 0;
    const has = drawn.get(unit) ?? allowances.get(unit) ?? NONE;
    const grant = grantFor({ ...budget, taken: budget.taken + has.granted - old }, missing(has, amount));
    // The task stops: what is still reserved is for calls under way, which are cut off with it.
    if (grant === undefined) return changed(allowances, settled(new Map([...allowances, ...spent]), true), unit);
    drawn.set(unit, { ...has, granted: has.granted + grant, reserved: has.reserved + amount });
  }
  return changed(allowances, drawn, undefined);
}

/** The task no longer runs. `cut`: what it had reserved counts as spent, because nobody knows what became of its calls. */
export function leave(allowances: ReadonlyMap<Unit, Allowance>, cut: boolean): Metered {
  return changed(allowances, settled(allowances, cut), undefined);
}

/** Whether an attempt that ends so may have left a call behind: who completes has heard of all of them. */
export function isCut(to: FinalState): boolean {
  return to !== 'completed';
}

export function isSoft({ soft, taken }: BudgetLevel): boolean {
  return soft !== undefined && taken >= soft;
}

/** A cost beyond what was drawn for it raises what is granted, whatever is left. */
function afterSpend({ granted, spent, reserved }: Allowance, { amount, drawn = reserved }: Spending): Allowance {
  const after = { spent: bounded(spent + amount), reserved: Math.max(0, reserved - drawn) };
  return { ...after, granted: Math.max(granted, bounded(after.spent + after.reserved)) };
}

function settled(allowances: ReadonlyMap<Unit, Allowance>, cut = false): ReadonlyMap<Unit, Allowance> {
  return new Map(
    [...allowances].map(([unit, { spent, reserved }]) => {
      const all = bounded(spent + (cut ? reserved : 0));
      return [unit, { granted: all, spent: all, reserved: 0 }];
    }),
  );
}

const bounded = (amount: number): number => Math.min(amount, MAX_AMOUNT);

const missing = ({ granted, spent, reserved }: Allowance, amount: number): number =>
  Math.max(0, spent + reserved + amount - granted);

/** Undefined: there is not enough left. */
function grantFor({ hard = MAX_AMOUNT, taken }: BudgetLevel, least: number): number | undefined {
  if (least === 0) return 0;
  const left = hard - taken;
  if (least > left) return undefined;
  return Math.min(Math.max(Math.floor(left / SHARE), least), MOST_TIMES * least);
}

function changed(
  before: ReadonlyMap<Unit, Allowance>,
  after: ReadonlyMap<Unit, Allowance>,
  short: Unit | undefined,
): Metered {
  const allowances = new Map<Unit, Allowance>();
  const taken = new Map<Unit, number>();
  for (const [unit, now] of after) {
    const was = before.get(unit) ?? NONE;
    if (before.has(unit) && was.granted === now.granted && was.spent === now.spent && was.reserved === now.reserved)
      continue;
    allowances.set(unit, now);
    if (now.granted !== was.granted) taken.set(unit, now.granted - was.granted);
  }
  return { allowances, taken, short };
}
