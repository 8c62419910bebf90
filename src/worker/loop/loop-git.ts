/** The handler `loop-git`: what somebody who reviews a run asks of its branch and its worktree. */
import { relative, sep } from 'node:path';
import { fault } from '../../core/errors.ts';
import type { Value } from '../../flow/expression/values.ts';
import { gitTaskIn } from '../../flow/loop/git/git-task.ts';
import { isClone, type RootedWorktree } from '../../flow/loop/git/worktree-state.ts';
import { diffCommits } from '../../workspace/git/diff.ts';
import { branchRef, commitOf, type Repository } from '../../workspace/git/repository.ts';
import { headBranch, listWorkTrees } from '../../workspace/git/worktree.ts';
import { workspaceFolder } from '../../workspace/shared-folder.ts';
import type { WorkspaceReader } from '../workspace/handler-workspace.ts';
import { reviewClone } from './cloned-review.ts';
import type { LoopHost } from './loop-host.ts';
import { mergeAnswer, mergeTitle } from './merge-answer.ts';
import { mergeRun, removeRunWorktree, repositoryOf } from './run-worktree.ts';
import { placeBelow } from './worktree-place.ts';

/** The result of a task has one MiB, in which every character may need several bytes. */
const BOUNDS = { commits: 100, files: 300, bytes: 400 * 1024, fileBytes: 64 * 1024 };
const MOST_LISTED = 200;

type Host = Pick<LoopHost, 'roots'>;

export async function reviewWork(
  host: Host,
  input: unknown,
  signal: AbortSignal,
  workspaces?: WorkspaceReader,
): Promise<unknown> {
  const asked = gitTaskIn(input as Value);
  if (asked === undefined)
    throw fault('INVALID_INPUT', { field: 'input', problem: 'it says no act on the worktree of a run' });
  if (asked.act === 'list') return { worktrees: await listed(host, asked.workspace) };
  const { worktree } = asked;
  if (isClone(worktree)) return reviewClone(asked, worktree, { workspaces, bounds: BOUNDS });
  const { repo, branch, base_commit: base } = worktree;
  const repository = await repositoryOf(host, repo);
  const head = await commitOf(repository, branchRef(branch), { signal });
  switch (asked.act) {
    case 'diff':
      if (head === undefined) throw fault('NOT_FOUND', { kind: 'branch', id: branch });
      return diffCommits(repository, base, head, BOUNDS);
    case 'merge':
      return merged(host, worktree, asked.head, signal);
    case 'remove':
      await removeRunWorktree(host, worktree);
      return { branch, commit: head ?? null };
    case 'scrap': {
      const { git, dir } = repository;
      await refuseInUse(host, repository, worktree);
      await removeRunWorktree(host, worktree);
      if (head !== undefined) await git.run(['update-ref', '-d', branchRef(branch), head], { dir, signal });
      // Whoever regrets it makes the branch again from this.
      return { branch, commit: head ?? null };
    }
  }
}

/** The task may have come from anybody, and a branch of a run may have been there before the run. */
async function refuseInUse(
  host: Host,
  repository: Repository,
  { path, branch, base, target }: RootedWorktree,
): Promise<void> {
  const place = await placeBelow(host, path);
  const elsewhere = (await listWorkTrees(repository)).filter((one) => one.path !== place).map((one) => one.branch);
  const used = [base, target, await headBranch(repository, repository.dir), ...elsewhere];
  if (used.includes(branch))
    throw fault('CONFLICT', { problem: `${branch} is checked out elsewhere, or is where work begins or goes` });
}

async function merged(
  host: Host,
  worktree: RootedWorktree,
  head: string | undefined,
  signal: AbortSignal,
): Promise<unknown> {
  const strategy = worktree.strategy === 'none' ? 'merge' : worktree.strategy;
  const message = mergeTitle(strategy, worktree);
  return mergeAnswer(worktree, await mergeRun(host, worktree, { strategy, message, head, signal }));
}

/** Paths are told below the root: where that lies is for the worker to know. */
async function listed(host: Host, workspace: string): Promise<readonly object[]> {
  const [root = ''] = workspace.split('/');
  const base = await workspaceFolder(host, root);
  const all = await listWorkTrees(await repositoryOf(host, workspace));
  return all
    .map(({ path, branch, commit }) => ({
      place: relative(base, path),
      branch: branch ?? null,
      commit: commit ?? null,
    }))
    .filter(({ place }) => place !== '' && place.split(sep)[0] !== '..')
    .slice(0, MOST_LISTED)
    .map(({ place, ...one }) => ({ path: [root, ...place.split(sep)].join('/'), ...one }));
}
