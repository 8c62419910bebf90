/** The last bytes of a stream, in memory that does not grow with it. */
export class Tail {
  readonly #limit: number;
  #buffer = Buffer.alloc(0);
  #end = 0;
  #total = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get cut(): boolean {
    return this.#total > this.#limit;
  }

  push(chunk: Buffer): void {
    // Twice the limit, so that bytes are moved once per limit and not with every chunk.
    if (this.#buffer.length === 0) this.#buffer = Buffer.allocUnsafeSlow(2 * this.#limit);
    this.#total += chunk.length;
    const last = chunk.subarray(Math.max(0, chunk.length - this.#limit));
    if (this.#end + last.length > this.#buffer.length) {
      this.#buffer.copyWithin(0, this.#end - this.#limit, this.#end);
      this.#end = this.#limit;
    }
    last.copy(this.#buffer, this.#end);
    this.#end += last.length;
  }

  /** As text that can be stored: from the first whole character on, without NUL. */
  text(): string {
    let from = Math.max(0, this.#end - this.#limit);
    if (this.cut) while (from < this.#end && ((this.#buffer[from] ?? 0) & 0xc0) === 0x80) from++;
    return this.#buffer.toString('utf8', from, this.#end).replaceAll('\0', '\uFFFD');
  }

  lines(count: number): readonly string[] {
    const lines = this.text().split('\n');
    if (lines.at(-1) === '') lines.pop();
    return lines.slice(-count);
  }
}
