import { fault } from '../../core/errors.ts';
import type { Lease } from '../../core/task/lease.ts';
import { droppedBefore, LOG_RESERVE, type LogEntry, logCost, MAX_LOG_BYTES } from '../../core/task/log.ts';
import { isFinal } from '../../core/task/task.ts';
import type { World } from '../../core/world.ts';
import type { LogAnswer, LogAppend, LogPlace, Store, LogLine as StoredLine } from '../../store/store.ts';
import {
  checkLease,
  checkLimit,
  checkLogEntries,
  checkLogPlace,
  checkOptions,
  checkSignal,
  checkTask,
} from '../check.ts';
import type { Batcher, Coalescer } from '../coalescer.ts';
import { Wakeups } from '../read/wakeups.ts';
import { WriteBudget, type Written } from './write-budget.ts';

export type { LogPlace } from '../../store/store.ts';

export interface LogLine extends StoredLine {
  /** Lines that the worker had to drop before this one, if there are some. */
  readonly dropped?: number;
}

/** Per batch, and per part of one call: more would block the loop for too long. */
const MAX_BYTES = 1_048_576;
const MAX_LINES = 1000;
/** Written to one log between two looks at its size. */
const UNREAD = { entries: 8192, bytes: 512 * 1024 };
const MOST = { entries: Number.POSITIVE_INFINITY, bytes: MAX_LOG_BYTES + LOG_RESERVE };
const PAGE = 200;
const POLL_MS = 1000;
const READ: ReadonlySet<string> = new Set(['after', 'limit']);
const FOLLOW: ReadonlySet<string> = new Set(['after', 'signal']);

export interface TaskLogsDeps {
  readonly store: Pick<Store, 'logAppend' | 'logRead' | 'logSize' | 'taskGet'>;
  readonly coalescer: Coalescer;
  readonly world: World;
}

/** The logs of tasks: written under a lease, read by anybody, followed until the task ends. */
export class TaskLogs {
  readonly #deps: TaskLogsDeps;
  readonly #append: Batcher<LogAppend, LogAnswer>;
  /** By task and attempt. */
  readonly #budget: WriteBudget;
  /** Followers by task, so that a line of one task wakes only its own followers. */
  readonly #followed = new Map<number, Wakeups>();

  constructor(deps: TaskLogsDeps) {
    this.#deps = deps;
    this.#budget = new WriteBudget({
      most: MOST,
      unread: UNREAD,
      read: async (key) => {
        const [task, attempt] = key.split('/').map(Number) as [number, number];
        const { entries, bytes } = await deps.store.logSize({ task, attempt });
        return { entries, bytes: bytes + entries * logCost('') };
      },
    });
    this.#append = deps.coalescer.batcher({
      name: 'log',
      maxItems: 250,
      maxBytes: MAX_BYTES,
      sizeOf: ({ entries }) => bytesOf(entries),
      maxInFlight: 2,
      send: (items) => deps.store.logAppend({ items }),
      sent: (items) => {
        for (const { task } of items) this.nudge(task);
      },
    });
  }

  /** Somebody follows a log, so hints of other processes are wanted. */
  get awaited(): boolean {
    return this.#followed.values().some((wakeups) => wakeups.awaited);
  }

  /** This task wrote a line or ended. */
  nudge(task: number): void {
    this.#followed.get(task)?.wake();
  }

  /** Another process may have written to any log. */
  hint(): void {
    for (const wakeups of this.#followed.values()) wakeups.wake();
  }

  /**
   * Adds lines to the log of a running attempt; a line that is there already stays as it is. A text has at most 64 KiB, and the log of an
   * attempt at most `MAX_LOG_BYTES`: what goes beyond it is refused with `TOO_LARGE`. Characters that no store can keep are replaced.
   */
  async append(lease: Lease, entries: readonly LogEntry[]): Promise<void> {
    checkLease(lease);
    const { task, attempt } = lease;
    const lines = checkLogEntries(entries);
    const items = parts(lines).map((part) => ({ task, attempt, entries: part }));
    if (items.length === 0) return;
    // Not awaited where it need not be: the lines then leave in this turn of the loop, before the settle of their attempt.
    const fits = this.#budget.admit(`${task}/${attempt}`, sizeOf(lines));
    if (fits !== true && !(await fits)) throw fault('TOO_LARGE', { field: 'log', maxBytes: MAX_LOG_BYTES });
    const answers = await this.#append.submitMany(items);
    if (answers.includes('lost')) throw fault('LEASE_LOST', { task, attempt });
  }

  /** Lines of a task's log above `after`, ordered by attempt and number; at most 1000, by default 200. */
  async read(
    task: number,
    options: { readonly after?: LogPlace; readonly limit?: number } = {},
  ): Promise<readonly LogLine[]> {
    checkTask(task);
    checkOptions('options', options, READ);
    const after = checkLogPlace(options.after);
    return withDropped(
      await this.#deps.store.logRead({ task, after, limit: checkLimit(options.limit ?? PAGE) }),
      after,
    );
  }

  /** The lines of a task's log as they are written. It ends when the task has ended and all lines were read. */
  async *follow(
    task: number,
    options: { readonly after?: LogPlace; readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<LogLine> {
    checkTask(task);
    checkOptions('options', options, FOLLOW);
    checkSignal(options.signal);
    const { store } = this.#deps;
    const { signal } = options;
    let last = checkLogPlace(options.after);
    let ended = false;
    let known = false;
    try {
      while (!signal?.aborted) {
        const wakeup = this.#wakeups(task).arm(signal);
        try {
          const page = withDropped(await store.logRead({ task, after: last, limit: PAGE }), last);
          yield* page;
          last = page.at(-1) ?? last;
          if (page.length > 0) {
            ended = false;
            continue;
          }
          // Nothing can be written after the end of the task, so an empty read after it is the last one.
          if (ended) return;
          const [record] = await store.taskGet({ tasks: [task] });
          if (record === undefined && !known) throw fault('NOT_FOUND', { kind: 'task', id: task });
          known = true;
          ended = record === undefined || isFinal(record.state);
          if (!ended) await wakeup.woken;
        } finally {
          wakeup.forget();
        }
      }
    } finally {
      if (!this.#followed.get(task)?.awaited) this.#followed.delete(task);
    }
  }

  #wakeups(task: number): Wakeups {
    let wakeups = this.#followed.get(task);
    if (wakeups === undefined) {
      wakeups = new Wakeups(this.#deps.world, POLL_MS);
      this.#followed.set(task, wakeups);
    }
    return wakeups;
  }
}

function withDropped(lines: readonly StoredLine[], after: LogPlace | undefined): readonly LogLine[] {
  return lines.map((line, i) => {
    const dropped = droppedBefore(line, i === 0 ? after : lines[i - 1]);
    return dropped > 0 ? { ...line, dropped } : line;
  });
}

function sizeOf(lines: readonly LogEntry[]): Written {
  return { entries: lines.length, bytes: lines.reduce((sum, { text }) => sum + logCost(text), 0) };
}

function bytesOf(entries: readonly LogEntry[]): number {
  let bytes = 0;
  for (const { text } of entries) bytes += text.length;
  return bytes;
}

/** The lines of one call, in parts that fit into a batch. */
function parts(entries: readonly LogEntry[]): readonly (readonly LogEntry[])[] {
  const all: (readonly LogEntry[])[] = [];
  let from = 0;
  let bytes = 0;
  for (const [i, { text }] of entries.entries()) {
    if (i > from && (i - from === MAX_LINES || bytes + text.length > MAX_BYTES)) {
      all.push(entries.slice(from, i));
      from = i;
      bytes = 0;
    }
    bytes += text.length;
  }
  if (from < entries.length) all.push(from === 0 ? entries : entries.slice(from));
  return all;
}
