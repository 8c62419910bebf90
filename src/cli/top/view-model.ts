import type { AnswerOf } from '../../client/client.ts';
import type { LimitView, LogLineView, QueueView, TaskView, WorkerView } from '../../operate/views.ts';

export type Overview = AnswerOf<'overview'>;
export type EventView = AnswerOf<'readEvents'>['events'][number];

export interface QueueRow extends QueueView {
  /** Tasks that ended per second, over the last looks; undefined at the first. */
  readonly perSecond: number | undefined;
  /** How long the oldest of what could run has waited; undefined where nobody asked. */
  readonly oldestMs: number | undefined;
}

/** All that one look has found. */
export interface TopViewModel {
  /** Calendar time of the node. */
  readonly at: number;
  /** What the clock of the node is ahead of the one here: countdowns go by the node's. */
  readonly skewMs: number;
  readonly overview: Overview;
  readonly version: string;
  readonly address: string;
  /** What whoever looks may do. */
  readonly role: string;
  readonly queues: readonly QueueRow[];
  readonly workers: readonly WorkerView[];
  /** Those that run. */
  readonly tasks: readonly TaskView[];
  readonly limits: readonly LimitView[];
  /** The oldest first. */
  readonly events: readonly EventView[];
}

/** What is shown of the one thing that was opened. */
export interface Detail {
  /** Lines that nobody has cut to a width yet. */
  readonly page: (columns: number, now: number) => readonly string[];
  /** Of a task. */
  readonly log?: readonly LogLineView[] | undefined;
}
