import type { CallArgs, CallInput } from '../client/client.ts';
import type { AnswerOf } from '../protocol/routes.ts';
import type { OperatedName } from './operations/operations.ts';
import type { ArtifactView, EventView, LogLineView } from './views.ts';

export type { CallInput };

/** Calls the routes of the table, on an engine in this process or on a node. */
export interface Caller {
  call<N extends OperatedName>(name: N, ...ask: CallArgs<CallInput<N>>): Promise<AnswerOf<N>>;
}

/** `reset`: events were lost to the retention; read the state again, and go on after `last`. */
export type FeedView =
  | { readonly kind: 'event'; readonly event: EventView }
  | { readonly kind: 'reset'; readonly last: number };

export interface EventsOptions {
  /** Only events after this position of the feed. */
  readonly after: number;
  /** Only the events of these tasks are needed, by their ids; others may come as well. */
  readonly tasks?: readonly string[] | undefined;
  /** Only the events of this run, by its id or name. */
  readonly run?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * What an operator can read and change, wherever the store is open. Tasks are named by their public ids, or by their numbers
 * as texts.
 */
export interface Operator extends Caller {
  /** Events as they come, without gap and without repeat. */
  events(options: EventsOptions): AsyncIterable<FeedView>;
  /** The log of a task as it grows; ends with the task. */
  lines(id: string, options: { readonly signal?: AbortSignal | undefined }): AsyncIterable<LogLineView>;
  /** The bytes of an artifact. It ends well only when all of them are right: `ARTIFACT_MISMATCH` otherwise. */
  bytes(artifact: WantedBytes, options?: { readonly signal?: AbortSignal | undefined }): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/** What must be known of an artifact to read it. */
export type WantedBytes = Pick<ArtifactView, 'id' | 'size' | 'sha256'>;
