import type { CallArgs, CallInput } from '../client/client.ts';
import type { AnswerOf } from '../protocol/routes.ts';
import type { OperatedName } from './operations/operations.ts';
import type { EventView, LogLineView } from './views.ts';

export type { CallInput };

/** Asks by the table of routes: of an engine that is here, or of a node. */
export interface Caller {
  call<N extends OperatedName>(name: N, ...ask: CallArgs<CallInput<N>>): Promise<AnswerOf<N>>;
}

/** `reset`: events were lost to the retention; look at the state again, and go on after `last`. */
export type FeedView =
  | { readonly kind: 'event'; readonly event: EventView }
  | { readonly kind: 'reset'; readonly last: number };

export interface EventsOptions {
  /** Only what lies behind this position of the feed. */
  readonly after: number;
  /** Those of these tasks are enough, by their ids; the others may come as well. */
  readonly tasks?: readonly string[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What an operator may ask and do, wherever the store is open. Tasks are named by their public ids, or by their numbers as texts. */
export interface Operator extends Caller {
  /** What happens, without gap and without repeat, as it comes. */
  events(options: EventsOptions): AsyncIterable<FeedView>;
  /** The log of a task as it comes; ends with the task. */
  lines(id: string, options: { readonly signal?: AbortSignal | undefined }): AsyncIterable<LogLineView>;
  close(): Promise<void>;
}
