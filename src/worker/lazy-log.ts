import type { LogEntry, Stream } from '../core/log.ts';
import type { World } from '../core/world.ts';
import { TaskLog } from './logs.ts';
import type { Sink } from './runner/runner.ts';

/** A log that is made with its first line: most short tasks say nothing. */
export class LazyLog implements Sink {
  readonly #world: World;
  readonly #ship: (entries: readonly LogEntry[]) => Promise<void>;
  #log: TaskLog | undefined;

  constructor(world: World, ship: (entries: readonly LogEntry[]) => Promise<void>) {
    this.#world = world;
    this.#ship = ship;
  }

  get used(): boolean {
    return this.#log !== undefined;
  }

  line(stream: Stream, text: string): void {
    this.#open().line(stream, text);
  }

  progress(value: unknown): void {
    this.#open().progress(value);
  }

  async flush(): Promise<void> {
    await this.#log?.flush();
  }

  #open(): TaskLog {
    const { timers, clock } = this.#world;
    this.#log ??= new TaskLog({ ship: this.#ship, timers, now: clock.wall });
    return this.#log;
  }
}
