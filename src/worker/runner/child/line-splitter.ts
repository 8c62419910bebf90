const NEWLINE = 0x0a;
export const MAX_LINE = 16 * 1024;
/** Ends a line whose rest was dropped. */
export const CUT = ' [… cut: the line is longer than 16 KiB]';

/**
 * Splits the bytes that a process prints into lines. It works on bytes, because a chunk may end inside a character, but a
 * newline is one byte. It holds at most the beginning of one line.
 */
export class LineSplitter {
  readonly #emit: (line: string) => void;
  #held: Buffer = Buffer.alloc(0);
  /** The line was cut: the rest of it is dropped. */
  #skipping = false;

  constructor(emit: (line: string) => void) {
    this.#emit = emit;
  }

  push(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let from = 0;
    while (from < bytes.length) {
      const newline = bytes.indexOf(NEWLINE, from);
      const end = newline === -1 ? bytes.length : newline;
      if (!this.#skipping) this.#take(bytes.subarray(from, end), newline !== -1);
      if (newline === -1) return;
      this.#skipping = false;
      from = newline + 1;
    }
  }

  /** Emits a last line that has no newline. */
  flush(): void {
    const rest = this.#held;
    this.#held = Buffer.alloc(0);
    this.#skipping = false;
    if (rest.length > 0) this.#emit(rest.toString());
  }

  #take(part: Buffer, whole: boolean): void {
    const length = this.#held.length + part.length;
    if (length > MAX_LINE) {
      this.#emit(cut(this.#joined(part.subarray(0, MAX_LINE - this.#held.length + 1))));
      this.#skipping = true;
    } else if (whole) {
      this.#emit(this.#joined(part).toString());
    } else {
      // A copy: a slice would keep the whole chunk in memory.
      this.#held = Buffer.concat([this.#held, part]);
      return;
    }
    this.#held = Buffer.alloc(0);
  }

  #joined(part: Buffer): Buffer {
    return this.#held.length === 0 ? part : Buffer.concat([this.#held, part]);
  }
}

/** The text, cut to 16 KiB. */
export function boundedLine(text: string): string {
  if (text.length * 3 <= MAX_LINE) return text;
  const bytes = Buffer.from(text.slice(0, MAX_LINE + 1));
  return bytes.length <= MAX_LINE ? text : cut(bytes);
}

/** Cuts between two characters. */
function cut(bytes: Buffer): string {
  let end = MAX_LINE;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end) + CUT;
}
