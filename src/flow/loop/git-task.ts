/** Tasks about the worktrees of loops: they are done where the repository is, and never by a node. */
import { isMap, type Value } from '../expression/values.ts';
import { type RunWorktree, worktreeIn } from './worktree-state.ts';

/** The handler of these tasks. */
export const LOOP_GIT = 'loop-git';

export const GIT_ACTS = ['diff', 'merge', 'scrap', 'list', 'remove'] as const;
/** `scrap`: the worktree goes, and the branch with it. `remove`: the worktree alone. */
export type GitAct = (typeof GIT_ACTS)[number];

export type GitTask =
  | { readonly act: 'list'; readonly workspace: string }
  | { readonly act: Exclude<GitAct, 'list'>; readonly worktree: RunWorktree };

/** From the input of a task, which anybody may have pushed. */
export function gitTaskIn(input: Value): GitTask | undefined {
  if (!isMap(input)) return undefined;
  const act = GIT_ACTS.find((one) => one === input['act']);
  if (act === 'list') {
    const { workspace } = input;
    return typeof workspace === 'string' ? { act, workspace } : undefined;
  }
  const worktree = worktreeIn(input['worktree']);
  return act === undefined || worktree === undefined ? undefined : { act, worktree };
}
