import type { NewDefinition } from './run-store.ts';
import type { NewTrigger } from './trigger-store.ts';

/**
 * The part of the port for stored workflows. A version never changes, and its text is kept for as long as the workflow is. A workflow and
 * its triggers change in one commit.
 */
export interface WorkflowStore {
  /**
   * Makes a workflow, gives it a new version, turns it on or off: all or nothing, and only if it has not changed since the caller looked. Its
   * triggers are those that are given, and no others: one with the same times keeps its place, and those of a workflow that is off are held.
   */
  workflowPut(params: WorkflowPut): Promise<WorkflowAnswer>;
  workflowGet(params: { readonly name: string }): Promise<WorkflowRecord | undefined>;
  /** By name, those after `after`. */
  workflowList(params: { readonly after: string; readonly limit: number }): Promise<readonly WorkflowRecord[]>;
  /** The newest first, those below `before`. */
  workflowVersions(params: {
    readonly name: string;
    readonly before: number;
    readonly limit: number;
  }): Promise<readonly WorkflowVersion[]>;
  /** With its versions and its triggers. Runs stay, each with its definition. */
  workflowRemove(params: { readonly name: string; readonly revision: number }): Promise<WorkflowAnswer>;
}

export interface WorkflowPut {
  readonly name: string;
  /** As the caller saw it; 0: there is none. */
  readonly revision: number;
  /** A new version. Undefined: the newest one stays. */
  readonly next?: NewWorkflowVersion | undefined;
  readonly enabled: boolean;
  readonly triggers: readonly NewTrigger[];
}

export interface NewWorkflowVersion {
  readonly definition: NewDefinition;
  readonly by: string | undefined;
  /** The version whose text it has again. */
  readonly restored: number | undefined;
}

export interface WorkflowVersion {
  readonly version: number;
  /** The hash of its text. */
  readonly definition: string;
  readonly at: number;
  readonly by: string | undefined;
  readonly restored: number | undefined;
}

/** A workflow with its newest version. */
export interface WorkflowRecord extends WorkflowVersion {
  readonly name: string;
  /** Another one at each change, also after it was removed and made again. */
  readonly revision: number;
  readonly enabled: boolean;
  readonly createdAt: number;
  readonly changedAt: number;
}

/** Only `done` has written anything. */
export type WorkflowAnswer =
  | { readonly kind: 'done'; readonly version: number; readonly revision: number }
  /** Somebody has changed, made or removed it meanwhile. */
  | { readonly kind: 'changed' }
  /** The name of a trigger belongs to another schedule. */
  | { readonly kind: 'taken'; readonly trigger: string };
