import type { AfterFailure } from '../../core/graph/graph.ts';
import type { TaskState } from '../../core/task/task.ts';
import type { DutyTerm } from './duty-store.ts';
import type { NewTask, PushConflict, PushedTask } from './push-store.ts';

/** The part of the port for tasks that wait for the end of others. */
export interface DependencyStore {
  /** Tasks that wait for each other, all or nothing. */
  graphPush(params: { readonly items: readonly GraphTask[] }): Promise<GraphAnswer>;
  /** What a task waits for, or has waited for, with the results of what has ended. */
  depList(params: { readonly task: number }): Promise<readonly Dependency[]>;
  /** The tasks that were pushed to wait for these, directly. A task that parked to wait for its children is not among them. */
  depDependents(params: { readonly tasks: readonly number[] }): Promise<readonly Planned[]>;
  /** The tasks that these were pushed to wait for, directly. */
  depNeeds(params: { readonly tasks: readonly number[] }): Promise<readonly Planned[]>;
  /** One step of the work that a settle left over: dependents beyond what one transaction handles. */
  depCarry(params: { readonly duty: DutyTerm; readonly limit: number }): Promise<CarryAnswer>;
}

export interface GraphTask extends NewTask {
  readonly after: readonly Edge[];
  readonly afterFailure: AfterFailure;
}

export interface Edge {
  /** A task that exists. */
  readonly task?: number | undefined;
  /** Or one of the same call, by its place. */
  readonly item?: number | undefined;
  /** Optional: any end of it will do. */
  readonly optional: boolean;
}

export type GraphAnswer =
  | { readonly ok: true; readonly tasks: readonly PushedTask[] }
  | { readonly ok: false; readonly unknown: number }
  /** The task that has the key of this item with another input. 0: another item of the same call has it. */
  | (PushConflict & { readonly item: number });

export interface Dependency {
  readonly task: number;
  readonly createdAt: number | undefined;
  readonly optional: boolean;
  /** Undefined: it is no longer kept. */
  readonly state: TaskState | undefined;
  readonly result: string | undefined;
}

/** `down` was pushed to wait for `up`. */
export interface Planned {
  readonly up: number;
  readonly down: number;
  readonly optional: boolean;
}

export interface CarryAnswer {
  readonly carried: number;
  readonly lanes: readonly number[];
  readonly more: boolean;
}
