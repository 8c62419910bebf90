import { closeSync, ftruncateSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import type { LogEntry } from '../../core/task/log.ts';

/** Entries that are sent together. */
export interface Batch {
  readonly entries: readonly LogEntry[];
  /** How many lines of the file they take. */
  readonly lines: number;
}

/** The size of one shipment, as for a log that stayed in memory. */
const MAX_BATCH = 64 * 1024;

/** Shipments of one attempt's log that wait on disk, one a line, oldest first. */
export class LogFile {
  readonly #path: string;
  readonly #file: number;
  /** The lengths of the lines that wait. */
  #lengths: number[] = [];
  #readAt = 0;
  #size = 0;

  /** `head` is the first line, which names the lease. */
  constructor(path: string, head: string) {
    this.#path = path;
    this.#file = openSync(path, 'wx+', 0o600);
    this.#size = this.#readAt = this.#write(`${head}\n`);
  }

  get bytes(): number {
    return this.#size;
  }

  get isEmpty(): boolean {
    return this.#lengths.length === 0;
  }

  append(entries: readonly LogEntry[]): void {
    const length = this.#write(`${JSON.stringify(entries)}\n`);
    this.#size += length;
    this.#lengths.push(length);
  }

  /** The first shipments that wait, as many as fit into one. */
  next(): Batch {
    let lines = 0;
    let length = 0;
    for (const one of this.#lengths) {
      if (lines > 0 && length + one > MAX_BATCH) break;
      length += one;
      lines++;
    }
    const buffer = Buffer.alloc(length);
    for (let done = 0; done < length; ) {
      const read = readSync(this.#file, buffer, done, length - done, this.#readAt + done);
      if (read === 0) throw new Error('the file is shorter than what was written to it');
      done += read;
    }
    const texts = buffer.toString().split('\n').slice(0, lines);
    return { entries: texts.flatMap((text) => JSON.parse(text) as LogEntry[]), lines };
  }

  /** The node has stored the batch. */
  shift({ lines }: Batch): void {
    for (const length of this.#lengths.splice(0, lines)) this.#readAt += length;
  }

  remove(): void {
    closeSync(this.#file);
    rmSync(this.#path, { force: true });
  }

  close(): void {
    closeSync(this.#file);
  }

  #write(text: string): number {
    const bytes = Buffer.from(text);
    try {
      for (let done = 0; done < bytes.length; ) {
        done += writeSync(this.#file, bytes, done, bytes.length - done, this.#size + done);
      }
    } catch (error) {
      ftruncateSync(this.#file, this.#size);
      throw error;
    }
    return bytes.length;
  }
}
