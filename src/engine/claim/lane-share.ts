/** A claim for at most this many tasks asks one lane for each. */
const FEW = 16;
const MAX_SHARE = 8;

/**
 * How many tasks a claim asks of each lane when there are lanes enough. One task per lane is fairest, but every lane costs the store a
 * search. So a large claim asks fewer lanes for more tasks each, as long as they have them. With a thousand lanes, Postgres drains 0.67 of
 * what it does with one lane at one task per lane, 0.85 at four and 0.87 at eight. Where lanes hold single tasks it is one per lane again,
 * because a claim that comes short needs another round.
 */
export class LaneShare {
  #share = 1;

  /** How many lanes are asked for this many tasks. */
  lanes(tasks: number): number {
    return Math.max(Math.min(tasks, FEW), Math.ceil(tasks / this.#share));
  }

  /** `whole`: lanes that gave all they were asked for. `short`: lanes that gave less. */
  learn(whole: number, short: number): void {
    if (short * 4 > whole) this.#share = 1;
    else if (whole > FEW) this.#share = Math.min(MAX_SHARE, this.#share * 2);
  }
}
