import type { AnswerOf } from '../../client/client.ts';
import type { LimitView, LogLineView, QueueView, TaskView, WorkerView } from '../../operate/views.ts';

export type Overview = AnswerOf<'overview'>;
export type EventView = AnswerOf<'readEvents'>['events'][number];

export interface QueueRow extends QueueView {
  /** Tasks that ended per second, over the last polls; undefined at the first. */
  readonly perSecond: number | undefined;
  /** How long the oldest runnable task has waited; undefined where it was not read. */
  readonly oldestMs: number | undefined;
}

/** The data of one poll. */
export interface TopViewModel {
  /** Calendar time of the node. */
  readonly at: number;
  /** How far the clock of the node is ahead of ours: countdowns use the node's clock. */
  readonly skewMs: number;
  readonly overview: Overview;
  readonly version: string;
  readonly address: string;
  /** The role of the token. */
  readonly role: string;
  readonly queues: readonly QueueRow[];
  readonly workers: readonly WorkerView[];
  /** Running tasks. */
  readonly tasks: readonly TaskView[];
  readonly limits: readonly LimitView[];
  /** The oldest first. */
  readonly events: readonly EventView[];
}

/** The content of the open item. */
export interface Detail {
  /** Lines that are not cut to a width yet. */
  readonly page: (columns: number, now: number) => readonly string[];
  /** Only for tasks. */
  readonly log?: readonly LogLineView[] | undefined;
}
