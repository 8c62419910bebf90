import { isEngineError } from '../../core/errors.ts';
import { type LogEntry, logCost, MAX_LOG_BYTES, type Stream } from '../../core/task/log.ts';
import { encodePayload } from '../../core/task/payload.ts';
import type { Timers } from '../../core/world.ts';
import type { LogSink } from '../runner/runner.ts';

export interface TaskLogOptions {
  /** Appends to the log of the attempt. A batch without an answer is sent again with the same numbers. */
  readonly ship: (entries: readonly LogEntry[]) => Promise<void>;
  readonly timers: Pick<Timers, 'after'>;
  /** Calendar time. */
  readonly now: () => number;
  /** The most that one attempt may write; default `MAX_LOG_BYTES`. */
  readonly maxBytes?: number;
  /** How long `flush` tries without a success where the store refuses the lines; default 2 s. */
  readonly flushMs?: number;
  /** The time between two shipments; a line on an idle log leaves at once. Default 50 ms: 20 writes a second for a chatty task. */
  readonly paceMs?: number | undefined;
}

const KIB = 1024;
const MAX_LINE = 16 * KIB;
const MAX_BATCH = 64 * KIB;
/** With more waiting the log is full, until half of it is stored. */
const FULL = 256 * KIB;
/** The longest line, with the words that say it was cut. */
const LARGEST = MAX_LINE + 128;
/** Beyond the bound, for what the worker itself says about the run. */
const RESERVE = 2 * LARGEST;
const PACE_MS = 50;
const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 5_000;

/** An entry that waits. */
interface Held {
  at: number;
  readonly stream: Stream;
  text: string;
  size: number;
  /** Lines that were dropped before it. They take their numbers, so that the gap shows how many they were. */
  readonly skipped: number;
}

/**
 * The log of one attempt on its way to the store: in order, one shipment of 64 KiB at a time. No call throws or blocks. Every line
 * below the bound of the attempt is kept until it is stored, so the bound is also what may wait here; who can wait looks at `full`,
 * which is true from 256 KiB on. Lines beyond the bound are dropped and counted, and the last entry says how many they were.
 *
 *   idle ──line──> planned ──timer──> shipping ──stored──> planned (pace) ──nothing waits──> idle
 *                     ^                  │
 *                     └────backoff───────┴──LEASE_LOST, STORE_CLOSED, or the store refuses──> stopped
 */
export class TaskLog implements LogSink {
  readonly #options: TaskLogOptions;
  readonly #maxBytes: number;
  #held: Held[] = [];
  #waiting = 0;
  /** The progress value among the waiting entries. */
  #progress: Held | undefined;
  /** Everything accepted so far. */
  #total = 0;
  #seq = 0;
  /** Under way, or to be sent again unchanged: the store recognises a repeated entry by its number. */
  #batch: readonly LogEntry[] = [];
  #shipping = false;
  #planned: { readonly cancel: () => void; readonly hasty: boolean } | undefined;
  #failures = 0;
  /** Why the store refuses the last shipment, if it answered. */
  #refusal: unknown;
  /** A flush has taken longer than a refusing store may make it. */
  #overdue = false;
  #capped = false;
  /** Lines that were dropped and are not told of yet. */
  #dropped = 0;
  #droppedBytes = 0;
  #isFull = false;
  #listeners: (() => void)[] = [];
  #stopped = false;
  #abandoned = 0;
  #lastComplaint = '';
  #cancelOverdue = (): void => {};
  #flushing: { readonly promise: Promise<void>; readonly end: () => void } | undefined;

  constructor(options: TaskLogOptions) {
    this.#options = options;
    this.#maxBytes = options.maxBytes ?? MAX_LOG_BYTES;
  }

  /** Entries that are not stored, or were not when the log stopped. */
  get unsent(): number {
    return this.#abandoned + this.#held.length + this.#batch.length;
  }

  /** Why the store has refused what was not stored, once the log has stopped for that. */
  get refused(): unknown {
    return this.#stopped ? this.#refusal : undefined;
  }

  get full(): boolean {
    return this.#isFull;
  }

  /** Calls back once, when it is no longer full. */
  onRoom(listener: () => void): void {
    if (this.#isFull) this.#listeners.push(listener);
    else listener();
  }

  line(stream: Stream, text: string): void {
    this.#guarded(() => this.#add(stream, text, stream === 'system'));
  }

  progress(value: unknown): void {
    this.#guarded(() => this.#addProgress(value));
  }

  /** Lines were dropped on the way here, because there were more of them than an attempt may log. */
  drop(lines: number, bytes: number): void {
    this.#dropped += lines;
    this.#droppedBytes += bytes;
  }

  /** Nothing more can be stored. */
  abandon(): void {
    if (!this.#stopped) this.#stop();
  }

  /**
   * Sends all that is left. It must come before the settle, because afterwards the store refuses this attempt. When the store refuses
   * the log, as with a full disk, the flush ends `flushMs` after its beginning or the last success, so that it does not hold up the
   * settle. A store that is away or slow is waited for: it holds up the settle as well.
   */
  flush(): Promise<void> {
    if (!this.#stopped) this.#tellDropped();
    if (this.#stopped || this.unsent === 0) return Promise.resolve();
    if (this.#flushing === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#flushing = { promise, end: resolve };
      this.#failures = 0;
      this.#begin();
      this.#plan(0);
    }
    return this.#flushing.promise;
  }

  /** From now on the store has `flushMs` to take something. */
  #begin(): void {
    const { timers, flushMs = 2_000 } = this.#options;
    this.#overdue = false;
    this.#cancelOverdue();
    this.#cancelOverdue = timers.after(flushMs, () => {
      this.#overdue = true;
      if (this.#refusal !== undefined && !this.#shipping) this.#stop();
    });
  }

  #endFlush(): void {
    this.#cancelOverdue();
    const flushing = this.#flushing;
    this.#flushing = undefined;
    flushing?.end();
  }

  #guarded(call: () => void): void {
    if (this.#stopped) return;
    try {
      call();
    } catch {
      // A value of the handler may throw when it is read. That must not fail the run.
    }
  }

  #add(stream: Stream, given: unknown, reserved: boolean): void {
    const text = typeof given === 'string' ? given : String(given);
    const bytes = Buffer.byteLength(text);
    if (this.#capped && !reserved) {
      this.drop(1, bytes);
      return;
    }
    const head = text.slice(0, MAX_LINE).replaceAll('\0', '\uFFFD');
    const kept = storable(head, bytes);
    if (this.#overCap(logCost(kept), reserved)) this.drop(1, bytes);
    else this.#push(stream, kept);
  }

  #addProgress(value: unknown): void {
    let text: string;
    try {
      text = encodePayload(value, { maxBytes: MAX_LINE, field: 'progress' });
    } catch (error) {
      this.#complain(error instanceof Error ? error.message : 'The progress cannot be stored.');
      return;
    }
    // Only the latest counts. It replaces the one before in its place: at the end of the queue it might never be sent.
    const size = logCost(text);
    const unsent = this.#progress;
    if (unsent === undefined) {
      if (this.#overCap(size, false)) this.drop(1, size);
      else this.#progress = this.#push('progress', text);
      return;
    }
    this.#waiting += size - unsent.size;
    this.#total += size - unsent.size;
    unsent.size = size;
    unsent.text = text;
    unsent.at = this.#options.now();
  }

  /** The same problem is reported once in a row: a loop may report NaN a million times. */
  #complain(problem: string): void {
    if (problem === this.#lastComplaint) return;
    this.#lastComplaint = problem;
    this.#add('system', `[progress not kept: ${problem}]`, false);
  }

  #overCap(size: number, reserved: boolean): boolean {
    if (reserved) return this.#total + size > this.#maxBytes + RESERVE;
    if (!this.#capped && this.#total + size > this.#maxBytes) {
      this.#capped = true;
      const bound = formatBytes(this.#maxBytes);
      this.#push('system', `[truncated: the log of an attempt holds at most ${bound}; further lines are counted]`);
    }
    return this.#capped;
  }

  /** Says how many lines were dropped: once, at the end, because a flood may go on for hours. */
  #tellDropped(): void {
    if (this.#dropped === 0) return;
    const text = describeDropped(this.#dropped, this.#droppedBytes, this.#maxBytes);
    const skipped = this.#dropped;
    this.#dropped = this.#droppedBytes = 0;
    this.#push('system', text, skipped);
  }

  #push(stream: Stream, text: string, skipped = 0): Held {
    const size = logCost(text);
    const held: Held = { at: this.#options.now(), stream, text, size, skipped };
    this.#held.push(held);
    this.#waiting += size;
    this.#total += size;
    if (this.#waiting >= FULL) this.#isFull = true;
    this.#wake();
    return held;
  }

  #wake(): void {
    if (this.#shipping) return;
    const paced = this.#planned !== undefined && !this.#planned.hasty && this.#failures === 0;
    if (this.#planned === undefined || (paced && this.#waiting >= MAX_BATCH)) this.#plan(0);
  }

  #plan(ms: number): void {
    this.#planned?.cancel();
    if (this.#shipping) return;
    const ship = (): void => {
      this.#planned = undefined;
      void this.#ship();
    };
    const cancel = this.#options.timers.after(ms, ship, { unref: this.#flushing === undefined });
    this.#planned = { cancel, hasty: ms === 0 };
  }

  async #ship(): Promise<void> {
    if (this.#batch.length === 0) this.#batch = this.#take();
    if (this.#batch.length === 0) return;
    this.#shipping = true;
    let failure: { readonly error: unknown } | undefined;
    try {
      await this.#options.ship(this.#batch);
    } catch (error) {
      failure = { error };
    }
    this.#shipping = false;
    if (this.#stopped) return;
    if (failure === undefined) this.#stored();
    else this.#failed(failure.error);
  }

  #stored(): void {
    this.#batch = [];
    this.#failures = 0;
    this.#refusal = undefined;
    if (this.#held.length === 0) this.#endFlush();
    else if (this.#flushing !== undefined) this.#begin();
    this.#plan(this.#flushing !== undefined || this.#waiting >= MAX_BATCH ? 0 : (this.#options.paceMs ?? PACE_MS));
  }

  #failed(error: unknown): void {
    // After these nothing more can be stored.
    if (isEngineError(error, 'LEASE_LOST') || isEngineError(error, 'STORE_CLOSED')) {
      this.#stop();
      return;
    }
    const isAway = isEngineError(error, 'STORE_UNAVAILABLE') || isEngineError(error, 'STORE_BUSY');
    this.#refusal = isAway ? undefined : error;
    if (this.#refusal !== undefined && this.#overdue) {
      this.#stop();
      return;
    }
    this.#plan(Math.min(FIRST_BACKOFF_MS * 2 ** this.#failures, MAX_BACKOFF_MS));
    this.#failures++;
  }

  #take(): readonly LogEntry[] {
    let bytes = 0;
    let count = 0;
    for (const { size } of this.#held) {
      if (count > 0 && bytes + size > MAX_BATCH) break;
      bytes += size;
      count++;
    }
    this.#waiting -= bytes;
    const taken = this.#held.splice(0, count).map((held) => {
      const { at, stream, text, skipped } = held;
      if (held === this.#progress) this.#progress = undefined;
      this.#seq += 1 + skipped;
      return { seq: this.#seq, at, stream, text };
    });
    if (this.#isFull && this.#waiting < FULL / 2) this.#roomAgain();
    return taken;
  }

  #roomAgain(): void {
    this.#isFull = false;
    for (const listener of this.#listeners.splice(0)) listener();
  }

  #stop(): void {
    this.#abandoned = this.unsent;
    this.#held = [];
    this.#batch = [];
    this.#stopped = true;
    this.#planned?.cancel();
    this.#planned = undefined;
    this.#roomAgain();
    this.#endFlush();
  }
}

/**
 * At most 16 KiB, cut between characters, as a new string: a slice would keep the whole original in memory. The conversion to
 * bytes also replaces lone surrogates.
 */
function storable(head: string, bytes: number): string {
  const buffer = Buffer.from(head);
  if (buffer.length <= MAX_LINE && bytes <= MAX_LINE) return buffer.toString();
  let end = Math.min(buffer.length, MAX_LINE);
  while (((buffer[end] ?? 0) & 0xc0) === 0x80) end--;
  return `${buffer.toString('utf8', 0, end)} [… cut: the line has ${formatBytes(bytes)}]`;
}

function describeDropped(lines: number, bytes: number, most: number): string {
  const what = lines === 1 ? '1 line' : `${lines.toLocaleString('en-US')} lines`;
  return `[… ${what} (${formatBytes(bytes)}) dropped: the log of an attempt holds at most ${formatBytes(most)} …]`;
}

function formatBytes(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  for (; value >= KIB && unit < units.length - 1; unit++) value /= KIB;
  return `${value.toFixed(value < 10 ? 1 : 0).replace(/\.0$/, '')} ${units[unit]}`;
}
