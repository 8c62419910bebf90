/** What a phase says, line by line. Of more than fits its beginning and its end are kept. */
import { utf8Length } from '../../../core/task/payload.ts';

const TAIL_LINES = 200;
const MOST_LINE = 16 * 1024;
/** In characters. */
const MOST_HEAD = 1024 * 1024;
const MOST_TAIL = 3 * 1024 * 1024;

export interface PhaseLogBounds {
  readonly line: number;
  readonly head: number;
  readonly tail: number;
}

export class PhaseLog {
  readonly #bounds: PhaseLogBounds;
  readonly #head: string[] = [];
  #headLength = 0;
  #headFull = false;
  #tail: string[] = [];
  #tailLength = 0;
  /** Lines of the tail before this one are left out. */
  #from = 0;
  #leftOut = 0;
  /** Of all that was said. */
  lines = 0;
  bytes = 0;

  constructor(bounds: PhaseLogBounds = { line: MOST_LINE, head: MOST_HEAD, tail: MOST_TAIL }) {
    this.#bounds = bounds;
  }

  /** A text of several lines is several lines. */
  add(text: string): void {
    for (const line of text.split(/\r?\n/)) this.#add(line);
  }

  #add(given: string): void {
    this.lines++;
    this.bytes += utf8Length(given) + 1;
    const { line: most, head, tail } = this.#bounds;
    const line = given.length > most ? `${given.slice(0, most).toWellFormed()} [… cut]` : given;
    const length = line.length + 1;
    if (!this.#headFull && this.#headLength + length <= head) {
      this.#head.push(line);
      this.#headLength += length;
      return;
    }
    this.#headFull = true;
    this.#tail.push(line);
    this.#tailLength += length;
    while (this.#tailLength > tail && this.#from < this.#tail.length - 1) {
      this.#tailLength -= (this.#tail[this.#from] as string).length + 1;
      this.#from++;
      this.#leftOut++;
    }
    // Not with each line: that would move all of them each time.
    if (this.#from > 1000 && this.#from * 2 > this.#tail.length) {
      this.#tail = this.#tail.slice(this.#from);
      this.#from = 0;
    }
  }

  text(): string {
    const gap = this.#leftOut === 0 ? [] : [`[… ${this.#leftOut} lines are left out …]`];
    return ended([...this.#head, ...gap, ...this.#rest()]);
  }

  /** The last lines. */
  tail(most: number = TAIL_LINES): string {
    const rest = this.#rest().slice(-most);
    const more = most - rest.length;
    return ended(more > 0 && this.#leftOut === 0 ? [...this.#head.slice(-more), ...rest] : rest);
  }

  /** Whether this stands among the last lines. */
  endsWith(text: string): boolean {
    const last = text.trimEnd().split(/\r?\n/).at(-1) ?? '';
    return this.tail(50).split('\n').includes(last.slice(0, this.#bounds.line));
  }

  #rest(): readonly string[] {
    return this.#tail.slice(this.#from);
  }
}

const ended = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');
