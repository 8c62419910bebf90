import type { LogEntry, Stream } from '../../core/task/log.ts';
import type { World } from '../../core/world.ts';
import type { Assignment, Session } from '../../protocol/link.ts';
import type { LogSink } from '../runner/runner.ts';
import { TaskLog } from './task-log.ts';

export interface LazyLogDeps {
  readonly world: World;
  readonly session: Pick<Session, 'log' | 'logPaceMs'>;
}

/** A log that is created with its first line: most short tasks write none. */
export class LazyLog implements LogSink {
  readonly #deps: LazyLogDeps;
  readonly #lease: Assignment;
  #log: TaskLog | undefined;
  #closed = false;

  constructor(deps: LazyLogDeps, lease: Assignment) {
    this.#deps = deps;
    this.#lease = lease;
  }

  get used(): boolean {
    return this.#log !== undefined;
  }

  line(stream: Stream, text: string): void {
    if (!this.#closed) this.#open().line(stream, text);
  }

  progress(value: unknown): void {
    if (!this.#closed) this.#open().progress(value);
  }

  async flush(): Promise<void> {
    await this.#log?.flush();
  }

  /** Drops all later lines: the store would refuse them. */
  close(): void {
    this.#closed = true;
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
