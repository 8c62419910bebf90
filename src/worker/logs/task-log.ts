import { isEngineError } from '../../core/errors.ts';
import type { LogEntry, Stream } from '../../core/task/log.ts';
import { encodePayload } from '../../core/task/payload.ts';
import type { Timers } from '../../core/world.ts';
import type { LogSink } from '../runner/runner.ts';

export interface TaskLogOptions {
  /** Appends to the log of the attempt. A batch without an answer is sent again with the same numbers. */
  readonly ship: (entries: readonly LogEntry[]) => Promise<void>;
  readonly timers: Pick<Timers, 'after'>;
  /** Calendar time. */
  readonly now: () => number;
  /** The most that one attempt may write; default 10 MiB. */
  readonly maxBytes?: number;
  /** How long `flush` tries; default 2 s. */
  readonly flushMs?: number;
  /** The time between two shipments; a line on an idle log leaves at once. Default 50 ms: 20 writes a second for a chatty task. */
  readonly paceMs?: number | undefined;
}

const KIB = 1024;
const MAX_LINE = 16 * KIB;
const MAX_BATCH = 64 * KIB;
const MAX_WAITING = 256 * KIB;
/** The cost of an entry beside its text, so that empty lines are bounded too. */
const ENTRY = 32;
/** The longest line, with the words that say it was cut. */
const LARGEST = MAX_LINE + ENTRY + 64;
/** The size of a gap entry, before its text is made. */
const GAP = 128;
/** Room that a flood of lines cannot take: for one progress value, and for the worker's own lines about the run. */
const RESERVE = 2 * LARGEST;
const PACE_MS = 50;
/** A flush waits this many times as long for a store that is away. */
const AWAY = 10;
const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 5_000;

/** An entry that waits. A gap takes the place of dropped lines, and counts them until it is sent. */
interface Held {
  at: number;
  readonly stream: Stream;
  text: string;
  size: number;
  readonly gap: { lines: number; bytes: number } | undefined;
}

/**
 * The log of one attempt on its way to the store: in order, one shipment at a time, at most 256 KiB waiting and 64 KiB under way.
 * Lines that do not fit are dropped, and an entry in their place says how many. No call throws or blocks.
 *
 *   idle ──line──> planned ──timer──> shipping ──stored──> planned (pace) ──nothing waits──> idle
 *                     ^                  │
 *                     └────backoff───────┴──LEASE_LOST, or flush gave up──> stopped (drops everything)
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
  /** The store answered and refused the last shipment. */
  #refused = false;
  /** A flush has taken longer than a refusing store may make it. */
  #overdue = false;
  #dropping = false;
  #capped = false;
  #stopped = false;
  #abandoned = 0;
  #lastComplaint = '';
  #flushing: { readonly promise: Promise<void>; readonly end: () => void } | undefined;

  constructor(options: TaskLogOptions) {
    this.#options = options;
    this.#maxBytes = options.maxBytes ?? 10 * KIB * KIB;
  }

  /** Entries that are not stored, or were not when the log stopped. */
  get unsent(): number {
    return this.#abandoned + this.#held.length + this.#batch.length;
  }

  line(stream: Stream, text: string): void {
    this.#guarded(() => this.#add(stream, text, stream === 'system'));
  }

  progress(value: unknown): void {
    this.#guarded(() => this.#addProgress(value));
  }

  /**
   * Sends all that is left. It must come before the settle, because afterwards the store refuses this attempt. When the store refuses
   * the log, as with a full disk, the flush ends after `flushMs`, so that it does not hold up the settle. A store that is away holds
   * up the settle anyway: it is waited for ten times as long, counted from then on, because a process that was suspended finds its
   * timers expired when it continues, while the store is fine.
   */
  flush(): Promise<void> {
    if (this.#stopped || this.unsent === 0) return Promise.resolve();
    if (this.#flushing === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const { timers, flushMs = 2_000 } = this.#options;
      this.#overdue = false;
      let cancel = timers.after(flushMs, () => {
        this.#overdue = true;
        cancel = timers.after(flushMs * AWAY, () => this.#stop());
        if (this.#refused && !this.#shipping) this.#stop();
      });
      const end = (): void => {
        cancel();
        this.#flushing = undefined;
        resolve();
      };
      this.#flushing = { promise, end };
      this.#failures = 0;
      this.#plan(0);
    }
    return this.#flushing.promise;
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
    const head = text.slice(0, MAX_LINE).replaceAll('\0', '\uFFFD');
    const size = Math.min(Buffer.byteLength(head), MAX_LINE) + ENTRY;
    if (this.#overCap(size, reserved)) return;
    if (this.#overfull(size, reserved)) this.#skip(bytes);
    else this.#push(stream, storable(head, bytes));
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
    const size = Buffer.byteLength(text) + ENTRY;
    const unsent = this.#progress;
    if (unsent === undefined) {
      if (!this.#overCap(size, false)) this.#progress = this.#push('progress', text);
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
      this.#push('system', `[truncated: the log of an attempt holds at most ${formatBytes(this.#maxBytes)}]`);
    }
    return this.#capped;
  }

  #overfull(size: number, reserved: boolean): boolean {
    if (reserved) return this.#waiting + size > MAX_WAITING - LARGEST;
    // Lines are taken again only below half of the room: one gap with a large number reads better than a thousand small ones.
    if (this.#dropping && this.#waiting <= MAX_WAITING / 2) this.#dropping = false;
    if (this.#waiting + size > MAX_WAITING - RESERVE) this.#dropping = true;
    return this.#dropping;
  }

  #skip(bytes: number): void {
    let gap = this.#held.at(-1)?.gap;
    if (gap === undefined) {
      gap = { lines: 0, bytes: 0 };
      this.#push('system', '', gap);
    }
    gap.lines++;
    gap.bytes += bytes;
  }

  #push(stream: Stream, text: string, gap?: Held['gap']): Held {
    const size = gap === undefined ? Buffer.byteLength(text) + ENTRY : GAP;
    const held: Held = { at: this.#options.now(), stream, text, size, gap };
    this.#held.push(held);
    this.#waiting += size;
    this.#total += size;
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
    this.#refused = false;
    if (this.#held.length === 0) this.#flushing?.end();
    this.#plan(this.#flushing !== undefined || this.#waiting >= MAX_BATCH ? 0 : (this.#options.paceMs ?? PACE_MS));
  }

  #failed(error: unknown): void {
    if (isEngineError(error, 'LEASE_LOST')) {
      this.#stop();
      return;
    }
    this.#refused = !isEngineError(error, 'STORE_UNAVAILABLE') && !isEngineError(error, 'STORE_BUSY');
    if (this.#refused && this.#overdue) {
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
    return this.#held.splice(0, count).map((held) => {
      const { at, stream, text, gap } = held;
      if (held === this.#progress) this.#progress = undefined;
      this.#seq++;
      return { seq: this.#seq, at, stream, text: gap === undefined ? text : describeGap(gap) };
    });
  }

  #stop(): void {
    this.#abandoned = this.unsent;
    this.#held = [];
    this.#batch = [];
    this.#stopped = true;
    this.#planned?.cancel();
    this.#planned = undefined;
    this.#flushing?.end();
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

function describeGap({ lines, bytes }: { readonly lines: number; readonly bytes: number }): string {
  const what = lines === 1 ? '1 line' : `${lines.toLocaleString('en-US')} lines`;
  return `[… ${what} (${formatBytes(bytes)}) dropped: they came faster than they could be stored …]`;
}

function formatBytes(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  for (; value >= KIB && unit < units.length - 1; unit++) value /= KIB;
  return `${value.toFixed(value < 10 ? 1 : 0).replace(/\.0$/, '')} ${units[unit]}`;
}
