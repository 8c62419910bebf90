import type { Amount } from '../../../core/limits/budget.ts';
import type { AgentSpent } from '../../../flow/machine/commands.ts';

/** A budget counts money in millionths. */
const MILLION = 1_000_000;

/** What calls of agents have used since the last commit. */
export class Spending {
  readonly #sums = new Map<Amount['unit'], number>();
  #drawn: readonly Amount[] = [];

  get isEmpty(): boolean {
    return [...this.#sums.values()].every((sum) => sum === 0);
  }

  /** What the next call may cost was drawn. It is settled with the next commit, also where the call uses nothing of it. */
  drew(amounts: readonly Amount[]): void {
    this.#drawn = amounts;
    for (const { unit } of amounts) this.#count(unit, 0);
  }

  /** The call was cut off, and nobody knows what it has used: all that was drawn for it counts. */
  addCut(): void {
    for (const { unit, amount } of this.#drawn) this.#count(unit, amount);
    if (!this.#drawn.some(({ unit }) => unit === 'calls')) this.#count('calls', 1);
  }

  add({ tokens, cost, apiCalls, ms }: AgentSpent): void {
    const used = { tokens, money: cost === undefined ? undefined : cost * MILLION, calls: apiCalls, ms };
    for (const [unit, amount = 0] of Object.entries(used) as [Amount['unit'], number | undefined][]) {
      if (amount > 0) this.#count(unit, Math.ceil(amount));
    }
  }

  /** As a turn says it. */
  get spend(): { readonly spend?: readonly Amount[] } {
    return this.#sums.size === 0 ? {} : { spend: [...this.#sums].map(([unit, amount]) => ({ unit, amount })) };
  }

  clear(): void {
    this.#sums.clear();
    this.#drawn = [];
  }

  #count(unit: Amount['unit'], amount: number): void {
    this.#sums.set(unit, (this.#sums.get(unit) ?? 0) + amount);
  }
}
