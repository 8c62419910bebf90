import type { TaskState } from '../../core/task/task.ts';
import type { DutyTerm } from './duty-store.ts';

/** The part of the port for the duties that keep tasks in order. */
export interface UpkeepStore {
  /** Makes due tasks ready. */
  taskStage(params: { readonly duty: DutyTerm; readonly limit: number }): Promise<StageAnswer>;
  /** Fails tasks whose wait timeout has passed. */
  taskExpire(params: { readonly duty: DutyTerm; readonly limit: number }): Promise<ExpireAnswer>;
  /** One step of removing what is older than the retention. It goes on from the duty's cursor. */
  taskPrune(params: PruneQuery): Promise<PruneAnswer>;
  /** Recounts the counters from the rows, repairs them and reports every difference. */
  statsAudit(params: { readonly duty: DutyTerm }): Promise<readonly Drift[]>;
}

export interface StageAnswer {
  readonly staged: number;
  readonly lanes: readonly number[];
  /** Until the earliest task that is due later, in milliseconds. */
  readonly nextInMs: number | undefined;
}

export interface ExpireAnswer {
  readonly expired: number;
  /** Until the earliest wait timeout, in milliseconds. */
  readonly nextInMs: number | undefined;
}

export interface PruneQuery {
  readonly duty: DutyTerm;
  readonly retentionMs: number;
  readonly limit: number;
}

export interface PruneAnswer {
  readonly tasks: number;
  readonly events: number;
  readonly workers: number;
  /** True when the walk has wrapped: there is nothing more to do for now. */
  readonly done: boolean;
}

export interface Drift {
  readonly queue: string;
  readonly state: TaskState;
  readonly counted: number;
  readonly kept: number;
}
