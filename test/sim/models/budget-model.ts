import type { Amount, Unit } from '../../../src/core/limits/budget.ts';
import type { Lease } from '../../../src/core/task/lease.ts';
import type { NewBudget, Turn } from '../../../src/store/store.ts';
import type { Board } from '../board.ts';
import { must } from '../trace.ts';

interface Allowance {
  spent: number;
  /** Drawn by this attempt for a call under way. */
  reserved: number;
  attempt: number;
}

export interface BudgetRow {
  readonly root: number;
  readonly unit: Unit;
  readonly hard: number | undefined;
  readonly taken: number;
}

export interface AllowanceRow {
  readonly task: number;
  readonly unit: Unit;
  readonly root: number;
  readonly granted: number;
  readonly spent: number;
  readonly reserved: number;
}

/** What trees may use, and what their tasks have drawn and spent. How far ahead is drawn is the store's own business. */
export class BudgetModel {
  readonly #board: Board;
  /** By root and unit; undefined: without a bound. */
  readonly #hard = new Map<number, Map<Unit, number | undefined>>();
  readonly #allowances = new Map<string, Allowance>();

  constructor(board: Board) {
    this.#board = board;
  }

  set(root: number, budgets: readonly NewBudget[]): void {
    const own = this.#hard.get(root) ?? new Map<Unit, number | undefined>();
    this.#hard.set(root, own);
    for (const { unit, hard } of budgets) own.set(unit, hard === undefined ? own.get(unit) : (hard ?? undefined));
  }

  /** The bound of a root that has one. */
  hard(root: number, unit: Unit): number | undefined {
    return this.#hard.get(root)?.get(unit);
  }

  /** A turn that is no repeat. `refused`: its draw was not granted, and it waits. */
  charged({ task, attempt, spend = [], draw = [] }: Turn, refused: boolean): void {
    for (const { unit, amount, drawn } of spend) {
      const own = this.#allowance({ task, attempt }, unit);
      if (own === undefined) continue;
      own.spent += amount;
      own.reserved = Math.max(0, own.reserved - (drawn ?? own.reserved));
    }
    if (refused) {
      must(
        draw.some(({ unit }) => this.#has(task, unit)),
        'budget',
        () => `${task} waits for a budget that it has not`,
      );
      this.#board.gates.reach('run waited for its budget');
      this.#cutOff({ task, attempt }, () => this.#board.gates.reach('calls cut off by a budget that was short'));
      return;
    }
    for (const { unit, amount } of draw) {
      const own = this.#allowance({ task, attempt }, unit);
      if (own !== undefined) own.reserved += amount;
    }
  }

  /** Nobody knows what became of the calls that an attempt had drawn for which ended without completing its task: they count. */
  cut(lease: Lease, how: 'lost' | 'given up'): void {
    this.#cutOff(lease, () => {
      if (how === 'lost') this.#board.gates.reach('draw of a lost lease counted as spent');
    });
  }

  #cutOff({ task, attempt }: Lease, onCut: () => void): void {
    for (const unit of this.#hard.get(this.#rootOf(task))?.keys() ?? []) {
      const own = this.#allowances.get(`${task} ${unit}`);
      if (own === undefined || own.attempt !== attempt || own.reserved === 0) continue;
      own.spent += own.reserved;
      own.reserved = 0;
      onCut();
    }
  }

  /** What is taken is what is granted, and nobody is granted more than the bound; who does not run has only what it has spent. */
  look(budgets: readonly BudgetRow[], allowances: readonly AllowanceRow[]): void {
    for (const row of allowances) this.#compare(row);
    const there = new Set(allowances.map(({ task, unit }) => `${task} ${unit}`));
    for (const [name, { spent }] of this.#allowances) {
      must(spent === 0 || there.has(name), 'budget', () => `nothing is kept of what ${name} has spent`);
    }
    for (const { root, unit, hard, taken } of budgets) {
      const own = allowances.filter((row) => row.root === root && row.unit === unit);
      const granted = sum(own.map((row) => row.granted));
      const is = (): string => `of ${hard} ${unit} of ${root} ${taken} are taken, ${granted} are granted`;
      must(hard === this.hard(root, unit) && taken === granted, 'budget', is);
      must(hard === undefined || taken <= hard, 'budget', is);
    }
  }

  #compare(row: AllowanceRow): void {
    const { task, unit, granted, spent, reserved } = row;
    const own = this.#allowances.get(`${task} ${unit}`);
    const is = (): string => `the allowance is ${JSON.stringify(row)}, expected ${JSON.stringify(own)}`;
    const runs = own !== undefined && this.#board.held(task, own.attempt) !== undefined;
    must(spent === (own?.spent ?? 0) && reserved === (runs ? own.reserved : 0), 'budget', is);
    must(granted >= spent + reserved, 'budget', is);
    if (!runs) must(granted === spent, 'budget', is);
  }

  #has(task: number, unit: Amount['unit']): boolean {
    return this.#hard.get(this.#rootOf(task))?.has(unit) ?? false;
  }

  #rootOf(task: number): number {
    return this.#board.task(task).root ?? task;
  }

  #allowance({ task, attempt }: Lease, unit: Unit): Allowance | undefined {
    if (!this.#has(task, unit)) return undefined;
    const own = this.#allowances.get(`${task} ${unit}`) ?? { spent: 0, reserved: 0, attempt };
    if (own.attempt !== attempt) {
      own.attempt = attempt;
      own.reserved = 0;
    }
    this.#allowances.set(`${task} ${unit}`, own);
    return own;
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
