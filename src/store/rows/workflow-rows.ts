import type { WorkflowRecord, WorkflowVersion } from '../port/workflow-store.ts';

/** Stored workflows from rows whose columns have the same names in every store. */

export interface WorkflowVersionRow {
  readonly version: number;
  readonly definition: string;
  readonly at: number;
  readonly author: string | null;
  readonly restored: number | null;
}

export interface WorkflowRow extends WorkflowVersionRow {
  readonly name: string;
  readonly revision: number;
  readonly enabled: number;
  readonly created_at: number;
  readonly changed_at: number;
}

export function versionOf({ version, definition, at, author, restored }: WorkflowVersionRow): WorkflowVersion {
  return { version, definition, at, by: author ?? undefined, restored: restored ?? undefined };
}

export function workflowOf(row: WorkflowRow): WorkflowRecord {
  return {
    ...versionOf(row),
    name: row.name,
    revision: row.revision,
    enabled: row.enabled === 1,
    createdAt: row.created_at,
    changedAt: row.changed_at,
  };
}
