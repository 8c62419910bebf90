import { type FeedEvent, isTaskEvent, type TaskEvent, type WorkerEvent } from '../../core/task/event.ts';
import type { World } from '../../core/world.ts';
import type { Store } from '../../store/store.ts';
import { checkOptions, checkSignal, whole } from '../check.ts';
import { Wakeups } from './wakeups.ts';

/** `reset`: events were removed by the retention. Read the state anew, and continue after `last`. */
export type FeedItem =
  | { readonly kind: 'event'; readonly event: TaskEvent }
  | { readonly kind: 'worker'; readonly event: WorkerEvent }
  | { readonly kind: 'reset'; readonly last: number };

/** Where a follower begins. */
export interface EventsAfter {
  readonly after?: number;
  readonly signal?: AbortSignal;
}

const OPTIONS: ReadonlySet<string> = new Set(['after', 'signal']);

export function checkAfter(options: EventsAfter): number {
  checkOptions('options', options, OPTIONS);
  checkSignal(options.signal);
  return whole('after', options.after ?? 0, 0, Number.MAX_SAFE_INTEGER);
}

/** An event as followers of a feed get it. */
export function itemOf(event: FeedEvent): FeedItem {
  return isTaskEvent(event) ? { kind: 'event', event } : { kind: 'worker', event };
}

const PAGE = 500;
const POLL_MS = 1000;
/** Above the number of any event: a read after it returns nothing but the newest number. */
const AHEAD_OF_ALL = 2 ** 52;

/** Reads the events of the store in order, with no gap and no repeat. A nudge only shortens the wait. */
export class Feed {
  readonly #store: Pick<Store, 'eventRead'>;
  readonly #commits: Wakeups;

  constructor(store: Pick<Store, 'eventRead'>, world: World) {
    this.#store = store;
    this.#commits = new Wakeups(world, POLL_MS);
  }

  get awaited(): boolean {
    return this.#commits.awaited;
  }

  /** Something was committed. */
  nudge(): void {
    this.#commits.wake();
  }

  /** The number of the newest event. */
  async newest(): Promise<number> {
    return (await this.#store.eventRead({ after: AHEAD_OF_ALL, limit: 1 })).last;
  }

  async *follow(after: number, signal?: AbortSignal): AsyncGenerator<FeedItem> {
    for await (const items of this.pages(after, signal)) yield* items;
  }

  /** The same, with what was read together in one: a follower of all events takes a step for each page. */
  async *pages(after: number, signal?: AbortSignal): AsyncGenerator<readonly FeedItem[]> {
    for (let last = after; !signal?.aborted; ) {
      const wakeup = this.#commits.arm(signal);
      try {
        const page = await this.#store.eventRead({ after: last, limit: PAGE });
        const items: FeedItem[] = page.reset
          ? [{ kind: 'reset', last: (page.events[0]?.seq ?? page.last + 1) - 1 }]
          : [];
        for (const event of page.events) items.push(itemOf(event));
        if (items.length > 0) yield items;
        last = page.last;
        if (page.events.length === 0) await wakeup.woken;
      } finally {
        wakeup.forget();
      }
    }
  }
}
