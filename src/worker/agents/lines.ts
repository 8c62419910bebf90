import { Writable } from 'node:stream';

export interface LineBounds {
  /** Characters of one line. */
  readonly line: number;
  /** Bytes of all of them. */
  readonly total: number;
}

/** Splits what is written into lines, wherever the pieces were cut. `onOver` is told once when there is more than may be. */
export class LineSplitter {
  readonly #decoder = new TextDecoder('utf-8');
  readonly #bounds: LineBounds;
  readonly #onLine: (line: string) => void;
  readonly #onOver: (what: string) => void;
  #rest = '';
  #total = 0;
  #over = false;

  constructor(bounds: LineBounds, onLine: (line: string) => void, onOver: (what: string) => void) {
    this.#bounds = bounds;
    this.#onLine = onLine;
    this.#onOver = onOver;
  }

  push(chunk: Uint8Array): void {
    if (this.#over) return;
    this.#total += chunk.length;
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#onLine(line.endsWith('\r') ? line.slice(0, -1) : line);
    if (this.#rest.length > this.#bounds.line) this.#refuse(`a line has more than ${this.#bounds.line} characters`);
    else if (this.#total > this.#bounds.total) this.#refuse(`it has more than ${this.#bounds.total} bytes`);
  }

  /** The last line may have no end. */
  end(): void {
    const rest = this.#rest + this.#decoder.decode();
    this.#rest = '';
    if (!this.#over && rest !== '') this.#onLine(rest);
  }

  /** For a pipe. */
  writable(): Writable {
    return new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.push(chunk);
        done();
      },
    });
  }

  #refuse(what: string): void {
    this.#over = true;
    this.#rest = '';
    this.#onOver(what);
  }
}
