/** What a reviewer asks of the branch of a run whose repository lives elsewhere. No folder is made for it. */
import { fault } from '../../core/errors.ts';
import type { GitTask } from '../../flow/loop/git/git-task.ts';
import type { ClonedWorktree } from '../../flow/loop/git/worktree-state.ts';
import type { DiffBounds } from '../../workspace/git/diff.ts';
import { noWorkspaces, type WorkspaceReader } from '../workspace/handler-workspace.ts';
import { checkoutOf } from './cloned-run.ts';
import { mergeAnswer, mergeTitle } from './merge-answer.ts';

export async function reviewClone(
  asked: Exclude<GitTask, { readonly act: 'list' }>,
  tree: ClonedWorktree,
  { workspaces, bounds }: { readonly workspaces: WorkspaceReader | undefined; readonly bounds: DiffBounds },
): Promise<unknown> {
  const hosted = workspaces?.hosted;
  if (hosted === undefined) throw noWorkspaces();
  const { branch, base, base_commit, target } = tree;
  const remote = await hosted.remote(checkoutOf(tree));
  const head = await remote.head();
  switch (asked.act) {
    case 'diff':
      if (head === undefined) throw fault('NOT_FOUND', { kind: 'branch', id: branch });
      return remote.diff(base_commit, head, bounds);
    case 'merge': {
      const strategy = tree.strategy === 'none' ? 'merge' : tree.strategy;
      if (head === undefined) throw fault('NOT_FOUND', { kind: 'branch', id: branch });
      if (asked.head !== undefined && asked.head !== head)
        throw fault('WORKSPACE_MISMATCH', { expected: asked.head, found: head });
      const message = mergeTitle(strategy, tree);
      return mergeAnswer(tree, await remote.merge({ strategy, commit: head, target, base, message }));
    }
    case 'remove':
      throw fault(
        'CONFLICT',
        { problem: 'the folders of this run are those of its workers, and go with its attempts' },
        { hint: 'What is left on a host: leasehold workspaces list there, and clean.' },
      );
    case 'scrap':
      // The task may have come from anybody, and a branch of a run may have been there before the run.
      if ([base, target, await remote.standard()].includes(branch))
        throw fault('CONFLICT', { problem: `${branch} is where work begins or goes` });
      if (head !== undefined) await remote.remove(head);
      // Whoever regrets it makes the branch again from this.
      return { branch, commit: head ?? null };
  }
}
