import { closeSync, constants, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import type { Connection, Prepared } from './connection.ts';

const { O_NOFOLLOW, O_RDWR } = constants;

/** So many commits share one look, and more while much is left. */
const COMMITS = 16;
const COMMITS_AT_EASE = 64;
/** A process with fewer commits than one in this time is not busy, and its log can grow by itself. */
const SLOW_MS = 30;
/** The log is made longer when less than this is left of it: what some commits take until the next look. */
const LOW_BYTES = 1 << 18;
const FIRST_BYTES = 1 << 19;
const MOST_BYTES = 1 << 20;
const PIECE_BYTES = 1 << 16;
const LOG_HEAD_BYTES = 32;
const FRAME_HEAD_BYTES = 24;

/** Kept, so that the collector has nothing to do with it. */
let zeros: Buffer | undefined;

/**
 * Makes the log of a busy process longer before it is needed. An fsync of a file that has grown also writes where its new blocks lie and
 * how long it is now; into blocks that were written before it writes the data alone. The first 500 pushes of a process took 0.7 to 0.8 of the time.
 *
 * What lies behind the last commit is nothing to SQLite: a log that starts over keeps its length and its old frames too, and recovery
 * ends at the first frame that does not carry on the checksum.
 */
export class LogRunway {
  readonly #path: string;
  #fd: number | undefined;
  #commits = 0;
  #every = COMMITS;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** Bytes that the log had at the last look, if that is to be followed by `lengthen`. */
  #used: number | undefined;
  #next = FIRST_BYTES;
  #pageBytes: number | undefined;
  #off = false;

  constructor(file: string) {
    this.#path = `${file}-wal`;
  }

  /** Before a write transaction: within one, SQLite does not tell. `now` is monotonic time. */
  look(now: number, { sql }: Connection): void {
    if (this.#off || ++this.#commits < this.#every) return;
    this.#commits = 0;
    const busy = now - this.#lookedAt <= SLOW_MS * this.#every;
    this.#lookedAt = now;
    if (busy) this.#used = this.#usedBytes(sql);
  }

  /** Within a write transaction: nobody else writes to the log then, or makes it shorter. */
  lengthen(): void {
    const used = this.#used;
    if (used === undefined) return;
    this.#used = undefined;
    try {
      this.#fd ??= openLog(this.#path);
      const { size } = fstatSync(this.#fd);
      this.#every = size - used > MOST_BYTES ? COMMITS_AT_EASE : COMMITS;
      if (size > 0 && size - used < LOW_BYTES) this.#write(this.#fd, size);
    } catch {
      // It is a matter of speed alone.
      this.#off = true;
    }
  }

  /** The handle is a new one, and its log may be another file. */
  forget(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
    this.#used = undefined;
    this.#pageBytes = undefined;
  }

  /** How far the log is written; undefined: SQLite does not tell now. */
  #usedBytes(sql: Prepared): number | undefined {
    try {
      const { log } = sql.get('logLength').get() as { log: number };
      this.#pageBytes ??= (sql.get('pageSize').get() as { page_size: number }).page_size;
      return LOG_HEAD_BYTES + log * (this.#pageBytes + FRAME_HEAD_BYTES);
    } catch {
      return undefined;
    }
  }

  #write(fd: number, size: number): void {
    const end = size + this.#next;
    zeros ??= Buffer.alloc(PIECE_BYTES);
    try {
      for (let at = size; at < end; ) at += writeSync(fd, zeros, 0, Math.min(PIECE_BYTES, end - at), at);
    } catch (error) {
      // The disk is full, and what is left of it belongs to the tasks.
      ftruncateSync(fd, size);
      throw error;
    }
    this.#next = Math.min(2 * this.#next, MOST_BYTES);
  }
}

/** What another user has put at this name must lead us to no other file. */
function openLog(path: string): number {
  const fd = openSync(path, O_RDWR | O_NOFOLLOW);
  const stat = fstatSync(fd);
  if (stat.isFile() && stat.nlink === 1) return fd;
  closeSync(fd);
  throw new Error(`${path} is not a file with this one name`);
}
