import type { WorkspaceSpec } from '../core/workspace/workspace.ts';

/** A folder that is ready to be worked in. */
export interface Workspace {
  readonly spec: WorkspaceSpec;
  /** Absolute, and real: no link on the way. */
  readonly path: string;
  /** Of `git`: the commit that was checked out, and the branch of the run if it has one. */
  readonly commit?: string | undefined;
  readonly branch?: string | undefined;
  /** It was there already, with objects of an earlier run. */
  readonly warm: boolean;
  /** Of `git` only: refuses with `WORKSPACE_MISMATCH` unless its branch is checked out, and is this commit or has gone on from it. */
  expect(commit: string): Promise<void>;
  /** What was changed since it was prepared: commits, and what is not committed. Bounded. */
  diff(): Promise<WorkspaceDiff>;
  /** Commits all that was changed and answers the commit; undefined: nothing was. Of `git` only. */
  commitAll(message: string): Promise<string | undefined>;
  /** Makes the commits of the branch available to other workers, by push or by a bundle. Answers how, and the commit. */
  publish(): Promise<Published>;
  /** The task is over. Never throws for what could not be cleaned: it is listed as an orphan then. */
  close(outcome: 'completed' | 'failed' | 'cancelled' | 'lost'): Promise<void>;
}

export interface Published {
  readonly how: 'pushed' | 'bundled' | 'none';
  readonly commit?: string | undefined;
  /** Of a bundle: its file, which the caller uploads, and removes. */
  readonly bundle?: string | undefined;
}

export interface WorkspaceDiff {
  readonly base_ref: string;
  readonly head_ref: string;
  readonly commits: readonly DiffCommit[];
  readonly files: readonly DiffFile[];
  readonly stats: DiffStats;
  /** More was changed than is told: files or lines were left out. */
  readonly truncated: boolean;
}

export interface DiffCommit {
  readonly sha: string;
  readonly message: string;
  readonly author: string;
  /** Calendar time in milliseconds. */
  readonly timestamp: number;
  readonly files: number;
  readonly stats: DiffStats;
}

export interface DiffFile {
  readonly path: string;
  readonly status: 'added' | 'modified' | 'deleted' | 'renamed';
  readonly old_path?: string | undefined;
  readonly patch: string;
  readonly additions: number;
  readonly deletions: number;
}

export interface DiffStats {
  readonly additions: number;
  readonly deletions: number;
}
