import type { Stream } from '../../core/log.ts';

/** One attempt, as a runner sees it. */
export interface Job {
  readonly task: number;
  readonly attempt: number;
  /** The public id of the task. */
  readonly id: string;
  readonly queue: string;
  readonly handler: string;
  /** JSON text of the input. */
  readonly payload: string;
  readonly tries: number;
  readonly maxTries: number;
  /** Runs in a process of its own that serves nobody before or after: it may be what killed its worker. */
  readonly alone: boolean;
}

/** Where a run says what happens; calls never throw and never block. */
export interface Sink {
  line(stream: Stream, text: string): void;
  progress(value: unknown): void;
}

/** Why a run is told to stop. */
export type StopWhy = 'cancelled' | 'timeout' | 'lost' | 'shutdown';

/** Abort signal at once, SIGTERM after `abortMs`, SIGKILL `termMs` after that. What is inline knows only the first step. */
export interface Ladder {
  readonly abortMs: number;
  readonly termMs: number;
}

/** How a run came out. `error` is whatever was thrown, or its plain description `{name, message, stack}`. */
export type Ended =
  | { readonly kind: 'done'; readonly result: unknown }
  | { readonly kind: 'retryAfter'; readonly delayMs: number; readonly reason: unknown }
  | { readonly kind: 'giveUp'; readonly error: unknown }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** It could not be started; the task is not to blame. */
  | { readonly kind: 'unstarted'; readonly error: unknown };

export interface Running {
  /** Never rejects. Resolves when the handler has come to its end and no process of it is left. */
  readonly ended: Promise<Ended>;
  /** Walks down the ladder; a second call may only make it steeper. */
  stop(why: StopWhy, ladder: Ladder): void;
}

export interface Runner {
  /** Runs are shielded from each other and from the worker, each in a process of its own. */
  readonly isolates: boolean;
  /** Handlers that it can run; known after `start`. */
  readonly handlers: readonly string[];
  /** How long a run of this handler may take when its task does not say. */
  timeoutMs?(handler: string): number | undefined;
  /** Refuses what cannot work, such as a module that does not load, before any task is claimed. */
  start(): Promise<void>;
  run(job: Job, sink: Sink): Running;
  /** Ends every process of it; runs that still go are stopped hard. */
  close(): Promise<void>;
}
