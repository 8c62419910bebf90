import { fault } from '../../core/errors.ts';
import type { RunWorktree } from '../../flow/loop/git/worktree-state.ts';
import type { Merged, MergeStrategy } from '../../workspace/git/merge.ts';

/** Files of a conflict that are told. */
const MOST_FILES = 20;

type Branches = Pick<RunWorktree, 'branch' | 'target'>;

export const mergeTitle = (strategy: MergeStrategy, { branch, target }: Branches): string =>
  `${strategy === 'squash' ? 'Squash' : 'Merge'} ${branch} into ${target}`;

export function conflictText({ branch, target }: Branches, files: readonly string[]): string {
  const named = files.slice(0, MOST_FILES).join(', ');
  return `${branch} and ${target} do not agree in ${named}; the branch ${branch} is kept`;
}

/** The result of a task that merges. */
export function mergeAnswer(tree: Branches, merged: Merged): { readonly commit: string; readonly target: string } {
  if (merged.outcome === 'merged' || merged.outcome === 'unchanged')
    return { commit: merged.commit, target: merged.target };
  throw fault('CONFLICT', { problem: conflictText(tree, merged.outcome === 'conflict' ? merged.files : []) });
}
