import type { TaskContext } from '../../../app/library/run-pools.ts';
import type { GatewayEvent } from '../gateway-shapes.ts';
import type { Run } from '../runs.ts';
import type { RuntimeDb } from '../runtime-db.ts';

/** What a handler answers: whether the run succeeded, and what it gave. */
export type RunAnswer = boolean | { readonly success: boolean; readonly result?: unknown; readonly error?: unknown };

/** Performs a run. What it throws fails the run as `worker_exception`, and false as `run_handler_failed`. */
export type RunHandler = (runId: string, workspaceDir: string, context: RunContext) => RunAnswer | Promise<RunAnswer>;

/** One attempt at a run, as its handler sees it. */
export interface RunContext {
  readonly run: Run;
  /** The connection of its worker. */
  readonly conn: RuntimeDb;
  readonly workerId: string;
  /** The fence: one higher than that of the attempt before. */
  readonly attempt: number;
  /** A folder of this attempt alone, within the workspace; null: the run has no workspace. */
  readonly attemptDir: string | null;
  /** The newest that an earlier attempt has saved; null: there is none. */
  readonly checkpoint: unknown;
  /** Aborts when the run should stop: it was cancelled, its lease is lost, or the worker stops without draining. */
  readonly signal: AbortSignal;
  /** Keeps any JSON value for the next attempt. When it resolves, no crash can take it away. */
  readonly saveCheckpoint: (value: unknown) => Promise<void>;
  /** Whether to go on. The lease itself is renewed by its worker, also while the handler blocks. */
  readonly heartbeat: () => boolean;
  /** Tells what an agent says: words become lines of the log, iterations and calls become progress. */
  readonly emit: (event: GatewayEvent) => void;
  readonly log: (message: string) => void;
  /** Durable steps, waits and children, and everything else that a task may do. */
  readonly task: TaskContext;
}

/** An error that names its class: `failure_class` of the attempt. */
export class RunFailure extends Error {
  /** What a store keeps of an error beside its words. */
  readonly code: string;

  constructor(failureClass: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RunFailure';
    this.code = failureClass;
  }

  get failureClass(): string {
    return this.code;
  }
}
