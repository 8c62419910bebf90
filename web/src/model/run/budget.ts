/** Amounts of budgets as texts, and the parts of a budget's bar. */

import { duration, isDuration, millisecondsOf } from '../time.ts';

export type Unit = 'tokens' | 'money' | 'ms' | 'calls';

interface Amounts {
  readonly soft?: number | undefined;
  readonly hard?: number | undefined;
  /** Spent and reserved. */
  readonly taken: number;
  readonly spent: number;
}

/** `12.3k`, `$0.42`, `4m 05s`. */
export function amountText(unit: Unit, amount: number): string {
  switch (unit) {
    case 'money':
      return amount === 0 ? '$0' : amount < 0.01 ? `$${amount.toPrecision(2)}` : `$${amount.toFixed(2)}`;
    case 'ms':
      return duration(amount);
    case 'tokens':
    case 'calls':
      return compact(amount);
  }
}

function compact(amount: number): string {
  for (const [size, sign] of [
    [1e9, 'B'],
    [1e6, 'M'],
    [1e4, 'k'],
  ] as const)
    if (amount >= size) {
      const by = sign === 'k' ? 1000 : size;
      return `${(amount / by).toFixed(amount / by < 100 ? 1 : 0).replace(/\.0$/, '')}${sign}`;
    }
  return amount.toLocaleString('en', { maximumFractionDigits: 2 });
}

/** Parts of the bar between 0 and 1. Without a hard bound the bar ends with the soft one, or with what is taken. */
export function budgetParts({ soft, hard, taken, spent }: Amounts) {
  const end = Math.max(hard ?? soft ?? taken, 1e-9);
  const part = (amount: number): number => Math.min(1, Math.max(0, amount / end));
  return {
    spent: part(spent),
    reserved: Math.max(0, part(taken) - part(spent)),
    ...(soft !== undefined && hard !== undefined && soft < hard ? { soft: part(soft) } : {}),
  };
}

/** A bound as somebody writes it: a number, for times also `5m`. Undefined: it is none. Null: no bound. */
export function boundOf(unit: Unit, text: string): number | null | undefined {
  const written = text.trim().replace(unit === 'money' ? /^\$/ : /(?!)/, '');
  if (written === '') return null;
  if (unit === 'ms' && isDuration(written)) return millisecondsOf(written);
  const amount = Number(written.replaceAll(/[,_](?=\d{3})/g, ''));
  return Number.isFinite(amount) && amount >= 0 ? amount : undefined;
}
