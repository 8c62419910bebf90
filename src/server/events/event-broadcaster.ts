import { pause } from '../../core/pause.ts';
import { type FeedEvent, isTaskEvent, type TaskEvent } from '../../core/task/event.ts';
import type { Engine } from '../../engine/engine.ts';
import { type FeedItem, itemOf } from '../../engine/read/feed.ts';
import { until } from '../until.ts';

/** Events that are kept in memory for followers that are close behind. Others read from the store. */
const KEPT = 5000;
const PAGE = 500;

/**
 * One reader of the feed for all followers. Each follower has a position of its own, so that none waits for a slow one, and
 * a slow one costs no more than a number.
 */
export class EventBroadcaster {
  readonly #engine: Engine;
  readonly #stop = new AbortController();
  readonly #onEvent: (event: TaskEvent) => void;
  #kept: FeedEvent[] = [];
  /** The last event that was read; undefined until the first read. */
  #last: number | undefined;
  #reading: Promise<void> | undefined;
  #arrived = Promise.withResolvers<void>();

  constructor(engine: Engine, onEvent: (event: TaskEvent) => void = () => {}) {
    this.#engine = engine;
    this.#onEvent = onEvent;
  }

  start(): void {
    this.#reading ??= this.#read();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#arrived.resolve();
    await this.#reading;
  }

  /** The number of the newest event. */
  now(): Promise<number> {
    return this.#engine.newestEvent();
  }

  /** Every event after `after`, without gap and without repeat; `reset` where some of them are no longer kept. */
  async *follow(after: number, signal: AbortSignal): AsyncGenerator<FeedItem> {
    for await (const page of this.pages(after, signal)) yield* page;
  }

  /** The same in pages, as many events as there are. */
  async *pages(after: number, signal: AbortSignal): AsyncGenerator<readonly FeedItem[]> {
    let last = after;
    const over = AbortSignal.any([signal, this.#stop.signal]);
    while (!over.aborted) {
      const arrived = this.#arrived.promise;
      const known = this.#since(last);
      if (known === undefined) {
        const page = await this.#engine.store.eventRead({ after: last, limit: PAGE });
        const items = page.events.map(itemOf);
        if (page.reset) items.unshift({ kind: 'reset', last: (page.events[0]?.seq ?? page.last + 1) - 1 });
        last = page.last;
        if (items.length > 0) {
          yield items;
          continue;
        }
      } else if (known.length > 0) {
        last = known.at(-1)?.seq ?? last;
        yield known.map(itemOf);
        continue;
      }
      await until(over, (resolve) => void arrived.then(resolve));
    }
  }

  /** The events in memory after that number; undefined: some of them are no longer in memory. */
  #since(last: number): readonly FeedEvent[] | undefined {
    if (this.#last === undefined || last > this.#last) return undefined;
    const first = this.#kept[0]?.seq ?? this.#last + 1;
    return last + 1 < first ? undefined : this.#kept.slice(last + 1 - first, last + 1 - first + PAGE);
  }

  async #read(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        if (this.#last === undefined) {
          this.#last = await this.now();
          // A follower that came before and found nothing may have read before this number.
          this.#notify();
        }
        for await (const page of this.#engine.eventPages({ after: this.#last, signal: this.#stop.signal })) {
          for (const item of page) {
            if (item.kind === 'reset') this.#forget(item.last);
            else this.#keep(item.event);
          }
          this.#notify();
        }
      } catch {
        // The store is away for a moment. The feed polls by itself; a closed store ends the broadcaster.
        await pause(this.#engine.world.timers, RETRY_MS, { signal: this.#stop.signal, unref: true });
      }
    }
  }

  #keep(event: FeedEvent): void {
    this.#kept.push(event);
    this.#last = event.seq;
    if (this.#kept.length >= 2 * KEPT) this.#kept = this.#kept.slice(-KEPT);
    if (isTaskEvent(event)) this.#onEvent(event);
  }

  #forget(last: number): void {
    this.#kept = [];
    this.#last = last;
  }

  #notify(): void {
    this.#arrived.resolve();
    this.#arrived = Promise.withResolvers();
  }
}

const RETRY_MS = 1000;
