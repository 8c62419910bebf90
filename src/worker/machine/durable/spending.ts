import type { Amount, Spending as Spent, Unit } from '../../../core/limits/budget.ts';
import { isMap } from '../../../flow/expression/values.ts';
import type { AgentSpent } from '../../../flow/machine/commands.ts';

/** A budget counts money in millionths. */
const MILLION = 1_000_000;

/** As a turn says it. */
type Told = { readonly spend?: readonly Spent[] };

/** What calls of agents have used since the last commit. Each settles what was drawn for it, and nothing of what was drawn for others. */
export class Spending {
  readonly #sums = new Map<Unit, { amount: number; drawn: number }>();

  get isEmpty(): boolean {
    return [...this.#sums.values()].every(({ amount }) => amount === 0);
  }

  /** The call is over, and this is what it has used. */
  end({ tokens, cost, apiCalls, ms }: AgentSpent, drawn: readonly Amount[] = []): void {
    const used = { tokens, money: cost === undefined ? undefined : cost * MILLION, calls: apiCalls, ms };
    for (const [unit, amount = 0] of Object.entries(used) as [Unit, number | undefined][]) {
      if (amount > 0) this.#count(unit, Math.ceil(amount), 0);
    }
    for (const { unit, amount } of drawn) this.#count(unit, 0, amount);
  }

  /** The call was cut off, and nobody knows what it has used: all that was drawn for it counts. */
  endCut(drawn: readonly Amount[]): void {
    for (const { unit, amount } of drawn) this.#count(unit, amount, amount);
    if (!drawn.some(({ unit }) => unit === 'calls')) this.#count('calls', 1, 0);
  }

  /** What was counted so far is told with this turn, and kept for the next one where this one fails. */
  async tellWith<T>(turn: (told: Told) => Promise<T>): Promise<T> {
    const told = [...this.#sums];
    this.#sums.clear();
    try {
      return await turn(told.length === 0 ? {} : { spend: told.map(([unit, sum]) => ({ unit, ...sum })) });
    } catch (error) {
      for (const [unit, { amount, drawn }] of told) this.#count(unit, amount, drawn);
      throw error;
    }
  }

  #count(unit: Unit, amount: number, drawn: number): void {
    const sum = this.#sums.get(unit);
    this.#sums.set(unit, { amount: (sum?.amount ?? 0) + amount, drawn: (sum?.drawn ?? 0) + drawn });
  }
}

/** What the calls of a step have used together, as its entry says it. */
export function usageWith(before: unknown, spent: AgentSpent): AgentSpent {
  const sums: AgentSpent = isMap(before) ? before : {};
  const plus = (key: 'apiCalls' | 'tokens' | 'cost' | 'ms'): number => (sums[key] ?? 0) + (spent[key] ?? 0);
  return { apiCalls: plus('apiCalls'), tokens: plus('tokens'), cost: plus('cost'), ms: plus('ms') };
}
