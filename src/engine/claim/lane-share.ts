/** A claim for no more tasks than this asks as many lanes. */
const FEW = 16;
const MAX_SHARE = 8;

/**
 * How many tasks a claim asks of each lane when there are lanes enough. One of each is fairest, and every lane that is asked
 * costs the store a search. So a claim for many asks fewer lanes for more each, as long as they have it: with a thousand lanes
 * Postgres drains 0.67 of what it does with one when they are asked one by one, 0.85 four by four, and 0.87 eight by eight.
 * Where lanes hold single tasks it is one of each again, because a claim that comes short has to go round once more.
 */
export class LaneShare {
  #share = 1;

  /** So many lanes are asked for these tasks. */
  lanes(tasks: number): number {
    return Math.max(Math.min(tasks, FEW), Math.ceil(tasks / this.#share));
  }

  /** So many lanes gave all that they were asked for, and so many less. */
  learn(whole: number, short: number): void {
    if (short * 4 > whole) this.#share = 1;
    else if (whole > FEW) this.#share = Math.min(MAX_SHARE, this.#share * 2);
  }
}
