/** The handler `loop-git`: what somebody who reviews a run asks of its branch and its worktree. */
import { relative, sep } from 'node:path';
import { fault } from '../../core/errors.ts';
import type { Value } from '../../flow/expression/values.ts';
import { gitTaskIn } from '../../flow/loop/git-task.ts';
import { diffCommits } from '../../workspace/git/diff.ts';
import { branchRef, commitOf } from '../../workspace/git/repository.ts';
import { listWorkTrees } from '../../workspace/git/worktree.ts';
import { workspaceFolder } from '../../workspace/shared-folder.ts';
import type { LoopHost } from './loop-host.ts';
import { mergeRun, removeRunWorktree, repositoryOf } from './run-worktree.ts';

/** The result of a task has one MiB, in which every character may need several bytes. */
const BOUNDS = { commits: 100, files: 300, bytes: 400 * 1024, fileBytes: 64 * 1024 };
const MOST_LISTED = 200;
const MOST_FILES = 20;

type Host = Pick<LoopHost, 'roots'>;

export async function reviewWork(host: Host, input: unknown, signal: AbortSignal): Promise<unknown> {
  const asked = gitTaskIn(input as Value);
  if (asked === undefined)
    throw fault('INVALID_INPUT', { field: 'input', problem: 'it says no act on the worktree of a run' });
  if (asked.act === 'list') return { worktrees: await listed(host, asked.workspace) };
  const { worktree } = asked;
  const { repo, branch, base_commit: base } = worktree;
  const repository = await repositoryOf(host, repo);
  const head = await commitOf(repository, branchRef(branch), { signal });
  switch (asked.act) {
    case 'diff':
      if (head === undefined) throw fault('NOT_FOUND', { kind: 'branch', id: branch });
      return diffCommits(repository, base, head, BOUNDS);
    case 'merge':
      return merged(host, worktree, signal);
    case 'remove':
      await removeRunWorktree(host, worktree);
      return { branch, commit: head ?? null };
    case 'scrap': {
      await removeRunWorktree(host, worktree);
      const { git, dir } = repository;
      if (head !== undefined) await git.run(['update-ref', '-d', branchRef(branch), head], { dir, signal });
      // Whoever regrets it makes the branch again from this.
      return { branch, commit: head ?? null };
    }
  }
}

async function merged(
  host: Host,
  worktree: NonNullable<Parameters<typeof mergeRun>[1]>,
  signal: AbortSignal,
): Promise<unknown> {
  const { branch, target } = worktree;
  const strategy = worktree.strategy === 'none' ? 'merge' : worktree.strategy;
  const message = `${strategy === 'squash' ? 'Squash' : 'Merge'} ${branch} into ${target}`;
  const end = await mergeRun(host, worktree, { strategy, message, signal });
  if (end.outcome === 'merged' || end.outcome === 'unchanged') return { commit: end.commit, target: end.target };
  const files = end.outcome === 'conflict' ? end.files.slice(0, MOST_FILES).join(', ') : '';
  throw fault('CONFLICT', {
    problem: `${branch} and ${target} do not agree in ${files}; the branch ${branch} is kept`,
  });
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
