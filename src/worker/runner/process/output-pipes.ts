import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LINE_COST } from '../child/flow-control.ts';
import { LineSplitter } from '../child/line-splitter.ts';
import type { OutputName } from '../child/output-capture.ts';
import type { OutputThrottle } from './output-throttle.ts';

/** A pipe holds 208 KiB, which is two turns of the loop; a process that still writes after these is not one of the task. */
const MAX_DRAIN_TURNS = 32;

/**
 * Reads what a child and its descendants write to the descriptors 1 and 2. Lines are passed on as they come. A writer that is
 * too fast waits for its full pipe, so nothing is lost and nothing is buffered here.
 */
export class OutputPipes {
  readonly #throttle: OutputThrottle;
  readonly #behind: () => boolean;
  readonly #pipes: readonly { readonly stream: Readable | null; readonly lines: LineSplitter }[];
  #count = 0;
  #read = false;
  /** Everything is read as it comes, without the throttle. */
  #open = false;
  #paused = false;

  /** `behind`: what was read is not stored yet, and nothing more should be read until `resume` is called. */
  constructor(
    child: ChildProcess,
    line: (stream: OutputName, text: string) => void,
    throttle: OutputThrottle,
    behind: () => boolean,
  ) {
    this.#throttle = throttle;
    this.#behind = behind;
    this.#pipes = (['stdout', 'stderr'] as const).map((name) => {
      const lines = new LineSplitter((text) => {
        this.#count++;
        line(name, text);
      });
      const stream = child[name];
      stream?.on('data', (chunk: Buffer) => this.#data(lines, chunk));
      stream?.on('error', () => {});
      return { stream, lines };
    });
  }

  resume(): void {
    this.#paused = false;
    for (const { stream } of this.#pipes) stream?.resume();
  }

  /**
   * Reads what is left. Output from before a message that has just arrived is readable in the same turn of the loop as that
   * message, so after a turn in which nothing comes all of it is read.
   */
  async drain(): Promise<void> {
    const waited = this.#paused;
    this.readAll();
    // A paused stream begins to read in the next turn.
    if (waited) await nextTurn();
    for (let turn = 0; turn < MAX_DRAIN_TURNS; turn++) {
      this.#read = false;
      await nextTurn();
      if (!this.#read) break;
    }
    this.#open = false;
    this.flush();
  }

  /** Reads without the throttle from now on. */
  readAll(): void {
    this.#open = true;
    if (!this.#paused) return;
    this.#throttle.clear();
    this.resume();
  }

  close(): void {
    for (const { stream } of this.#pipes) stream?.destroy();
    this.flush();
  }

  /** Emits lines that have no newline. */
  flush(): void {
    for (const { lines } of this.#pipes) lines.flush();
  }

  #data(lines: LineSplitter, chunk: Buffer): void {
    this.#read = true;
    this.#count = 0;
    lines.push(chunk);
    if (this.#open) return;
    const isInTime = this.#throttle.spend(chunk.length + this.#count * LINE_COST);
    if (isInTime && !this.#behind()) return;
    this.#paused = true;
    for (const { stream } of this.#pipes) stream?.pause();
  }
}
