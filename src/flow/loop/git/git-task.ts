/** Tasks about the worktrees of loops: they are done where the repository is, and never by a node. */
import { REVIEW_HANDLER } from '../../../core/own-handlers.ts';
import { isCommit } from '../../../core/workspace/ref.ts';
import { isMap, type Value } from '../../expression/values.ts';
import { type RunWorktree, worktreeIn } from './worktree-state.ts';

/** The handler of these tasks, which nobody else may push. */
export const LOOP_GIT = REVIEW_HANDLER;

const GIT_ACTS = ['diff', 'merge', 'scrap', 'list', 'remove'] as const;
/** `scrap`: the worktree goes, and the branch with it. `remove`: the worktree alone. */
type GitAct = (typeof GIT_ACTS)[number];

export type GitTask =
  | { readonly act: 'list'; readonly workspace: string }
  | {
      readonly act: Exclude<GitAct, 'list'>;
      readonly worktree: RunWorktree;
      /** Of a merge: the commit that was looked at. The branch must still be there. */
      readonly head?: string | undefined;
    };

/** From the input of a task. */
export function gitTaskIn(input: Value): GitTask | undefined {
  if (!isMap(input)) return undefined;
  const act = GIT_ACTS.find((one) => one === input['act']);
  if (act === 'list') {
    const { workspace } = input;
    return typeof workspace === 'string' ? { act, workspace } : undefined;
  }
  const worktree = worktreeIn(input['worktree']);
  const { head } = input;
  if (act === undefined || worktree === undefined) return undefined;
  if (head === undefined || head === null) return { act, worktree };
  return act === 'merge' && typeof head === 'string' && isCommit(head) ? { act, worktree, head } : undefined;
}
