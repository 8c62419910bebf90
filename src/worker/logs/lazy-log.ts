import type { LogEntry, Stream } from '../../core/task/log.ts';
import type { World } from '../../core/world.ts';
import type { Assignment, Session } from '../../protocol/link.ts';
import type { Redactor } from '../redaction/redactor.ts';
import { CUT } from '../runner/child/line-splitter.ts';
import type { LogSink } from '../runner/runner.ts';
import { TaskLog } from './task-log.ts';

export interface LazyLogDeps {
  readonly world: World;
  readonly session: Pick<Session, 'log' | 'logPaceMs'>;
  readonly warn?: ((message: string, error?: unknown) => void) | undefined;
}

/** A log that is created with its first line: most short tasks write none. */
export class LazyLog implements LogSink {
  readonly #deps: LazyLogDeps;
  readonly #lease: Assignment;
  readonly #hides: Redactor | undefined;
  #log: TaskLog | undefined;
  #closed = false;

  /** `hides`: takes out what the run must not tell. */
  constructor(deps: LazyLogDeps, lease: Assignment, hides?: Redactor) {
    this.#hides = hides;
    this.#deps = deps;
    this.#lease = lease;
  }

  get used(): boolean {
    return this.#log !== undefined;
  }

  line(stream: Stream, text: string): void {
    if (!this.#closed) this.#open().line(stream, this.#told(text));
  }

  progress(value: unknown): void {
    if (!this.#closed) this.#open().progress(this.#hides === undefined ? value : this.#hides.hideIn(value));
  }

  drop(lines: number, bytes: number): void {
    if (!this.#closed) this.#open().drop(lines, bytes);
  }

  get full(): boolean {
    return !this.#closed && this.#log?.full === true;
  }

  onRoom(listener: () => void): void {
    this.#open().onRoom(listener);
  }

  /** Resolves when all lines are stored, or cannot be. */
  async flush(): Promise<void> {
    const log = this.#log;
    if (log === undefined) return;
    await log.flush();
    const { id } = this.#lease;
    if (log.refused !== undefined) this.#deps.warn?.(`${log.unsent} lines of the log of ${id} are lost`, log.refused);
  }

  /** The lease is lost: no store takes these lines any more. */
  abandon(): void {
    this.#log?.abandon();
  }

  /** Drops all later lines: the store would refuse them. */
  close(): void {
    this.#closed = true;
  }

  #told(text: string): string {
    const hides = this.#hides;
    if (hides === undefined || hides.idle) return text;
    // Whoever logs something else than a text finds the same in the log.
    const said = typeof text === 'string' ? text : safely(text);
    return said.endsWith(CUT) ? hides.hide(said.slice(0, -CUT.length), true) + CUT : hides.hide(said);
  }

  #open(): TaskLog {
    if (this.#log === undefined) {
      const { session, world } = this.#deps;
      const ship = (entries: readonly LogEntry[]): Promise<void> => session.log(this.#lease, entries);
      this.#log = new TaskLog({ ship, timers: world.timers, now: world.clock.wall, paceMs: session.logPaceMs });
    }
    return this.#log;
  }
}

function safely(value: unknown): string {
  try {
    return String(value);
  } catch {
    return '';
  }
}
