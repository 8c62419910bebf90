import type { Merged, MergeStrategy } from '../../workspace/git/merge.ts';

/** Where a run works: a worktree below a root of the worker, or a clone of a repository that lives elsewhere. */
export interface RunPlace {
  /** Its folder, which is on the branch of the run and has all that the last phase has left. */
  folder(signal?: AbortSignal): Promise<string>;
  /** Commits what a phase has left, where whoever goes on finds it, and answers the commit. */
  commit(message: string, signal?: AbortSignal): Promise<string>;
  /** Into its target. A conflict changes nothing. */
  merge(wish: MergeOfRun): Promise<Merged>;
  /** The folder goes, and the branch never. */
  remove(): Promise<void>;
}

export interface MergeOfRun {
  readonly strategy: MergeStrategy;
  readonly message: string;
  /** What was committed last. */
  readonly commit: string;
  readonly signal?: AbortSignal | undefined;
}
