import type { FeedEvent } from '../../core/task/event.ts';
import type { DutyTerm } from './duty-store.ts';

/** The part of the port for the feed. Events are written in the transaction of the change. */
export interface EventStore {
  /** Events numbered above `after`, in order. */
  eventRead(params: { readonly after: number; readonly limit: number }): Promise<EventPage>;
  /** Numbers events that have no number yet. A store that numbers events as it writes them has nothing to do. */
  eventNumber(params: { readonly duty: DutyTerm; readonly limit: number }): Promise<NumberAnswer>;
}

export interface NumberAnswer {
  /** How many events got their numbers. */
  readonly events: number;
  readonly more: boolean;
}

export interface EventPage {
  readonly events: readonly FeedEvent[];
  /**
   * Set when events above `after` are no longer kept, or when `after` is ahead of the newest one because the store was
   * restored from a backup. The reader must start over from a fresh read of the state.
   */
  readonly reset: boolean;
  /** Give this as `after` next time. */
  readonly last: number;
}
