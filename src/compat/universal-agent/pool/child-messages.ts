/** What a pool and its workers in other processes tell each other. */
import type { WorkerConfigFields } from './configs.ts';
import type { WorkerStatus } from './decide.ts';

/** The first message to a child. The address of the store may have a password: it is no argument, which others could read. */
export interface ChildStart {
  readonly kind: 'start';
  readonly dbPath: string;
  readonly queue: string;
  readonly config: WorkerConfigFields;
  /** A URL; null: the default handler. */
  readonly handlerModule: string | null;
}

export interface ChildStop {
  readonly kind: 'stop';
  readonly drain: boolean;
}

export type ToPoolChild = ChildStart | ChildStop;

export interface ChildState {
  readonly kind: 'state';
  readonly status: WorkerStatus;
  readonly currentRunId: string | null;
  readonly running: number;
  readonly runsCompleted: number;
  readonly runsFailed: number;
}

export interface ChildFailed {
  readonly kind: 'failed';
  readonly message: string;
}

export type FromPoolChild =
  | { readonly kind: 'started' }
  | ChildState
  | ChildFailed
  | { readonly kind: 'warning'; readonly message: string; readonly fields: Readonly<Record<string, unknown>> };
