/** The figures of a run: by key and contender, one per round (or many samples). */

export class Figures {
  readonly #by = new Map<string, number[]>();

  add(key: string, contender: string, ...values: number[]): void {
    const id = `${key}/${contender}`;
    this.#by.set(id, [...(this.#by.get(id) ?? []), ...values]);
  }

  get(key: string, contender: string): readonly number[] {
    return this.#by.get(`${key}/${contender}`) ?? [];
  }

  /** The median of the ratios pair by pair (the n-th figure of both), or of the medians when they were not taken in pairs. */
  ratio(over: Place, under: Place): number | undefined {
    const above = this.get(over.key, over.contender);
    const below = this.get(under.key, under.contender);
    if (above.length !== below.length) return this.ratioOfMedians(over, under);
    return percentile(
      above.map((value, n) => value / (below[n] ?? Number.NaN)),
      50,
    );
  }

  /** For samples, of which the n-th of both have nothing to do with each other. */
  ratioOfMedians(over: Place, under: Place): number | undefined {
    const above = percentile(this.get(over.key, over.contender), 50);
    const below = percentile(this.get(under.key, under.contender), 50);
    return above === undefined || below === undefined ? undefined : above / below;
  }
}

export interface Place {
  readonly key: string;
  readonly contender: string;
}

export function percentile(values: readonly number[], percent: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (percent / 100) * (sorted.length - 1);
  const low = sorted[Math.floor(at)];
  const high = sorted[Math.ceil(at)];
  return low === undefined || high === undefined ? undefined : low + (high - low) * (at - Math.floor(at));
}
