/** Which of the numbered tasks of a drain were executed: a bit each, so that the processes of a drain can be put together. */
export class Tally {
  readonly #bits: Uint8Array;

  constructor(total: number, bits = new Uint8Array(Math.ceil(total / 8))) {
    this.#bits = bits;
  }

  mark(number: number): void {
    if (!(number >= 0 && number < this.#bits.length * 8)) throw new Error(`no task of this drain: ${number}`);
    const at = number >> 3;
    this.#bits[at] = (this.#bits[at] ?? 0) | (1 << (number & 7));
  }

  toText(): string {
    return Buffer.from(this.#bits).toString('base64');
  }
}

/** How many different tasks several tallies have together. */
export function distinct(texts: readonly string[]): number {
  const all = texts.map((text) => Buffer.from(text, 'base64'));
  let count = 0;
  for (let at = 0; at < (all[0]?.length ?? 0); at++) {
    let byte = all.reduce((bits, one) => bits | (one[at] ?? 0), 0);
    for (; byte > 0; byte &= byte - 1) count++;
  }
  return count;
}
