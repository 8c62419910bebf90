import { fault } from '../../core/errors.ts';

/** Nobody has that many pages open. */
const MOST_STREAMS = 1000;

/** How many streams each token has open, and no more than so many. */
export class OpenStreams {
  readonly #most: number;
  readonly #open = new Map<number | undefined, number>();

  /** 0: any number. */
  constructor(most = MOST_STREAMS) {
    this.#most = most;
  }

  /** Answers what gives the place back. */
  take(token: number | undefined): () => void {
    const open = this.#open.get(token) ?? 0;
    if (this.#most > 0 && open >= this.#most) {
      throw fault('TOO_MANY', { problem: `this token has ${open} streams open` });
    }
    this.#open.set(token, open + 1);
    return () => {
      const left = (this.#open.get(token) ?? 1) - 1;
      if (left === 0) this.#open.delete(token);
      else this.#open.set(token, left);
    };
  }
}
