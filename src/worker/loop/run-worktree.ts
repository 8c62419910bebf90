/** The worktree of a run, on the worker that has its repository: made, found again, committed to, merged and removed. */
import { lstat, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fault } from '../../core/errors.ts';
import type { Timers } from '../../core/world.ts';
import { gitWish, type LoopGitConfig } from '../../flow/loop/git/git-keys.ts';
import { planWorktree } from '../../flow/loop/git/worktree-plan.ts';
import type { RootedWorktree } from '../../flow/loop/git/worktree-state.ts';
import { type CheckedOut, commitAll } from '../../workspace/git/commit.ts';
import { Git } from '../../workspace/git/git-command.ts';
import { type Merged, mergeBranch } from '../../workspace/git/merge.ts';
import {
  baseBranch,
  branchRef,
  commitOf,
  isAncestor,
  openRepository,
  type Repository,
} from '../../workspace/git/repository.ts';
import { locked, prepareWorkTree, removeWorkTree } from '../../workspace/git/worktree.ts';
import { workspaceFolder } from '../../workspace/shared-folder.ts';
import type { LoopHost } from './loop-host.ts';
import { placeBelow } from './worktree-place.ts';

type Host = Pick<LoopHost, 'roots'>;

/** Bounds of programs are counted in the time in which they run. */
const REAL: Timers = { after: realAfter, soon: (act) => void setImmediate(act) };

function realAfter(ms: number, act: () => void): () => void {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
}

/** The worktree that a run is to have; undefined: it works in the plain folder. `name`: of the run. */
export async function openRunWorktree(
  host: Host,
  { workspace, name, config }: { readonly workspace: string; readonly name: string; readonly config: LoopGitConfig },
  signal?: AbortSignal,
): Promise<RootedWorktree | undefined> {
  const wish = gitWish(config);
  if (wish === 'none') return undefined;
  const folder = await workspaceFolder(host, workspace);
  if (wish === 'auto' && (await lstat(join(folder, '.git')).catch(() => undefined)) === undefined) return undefined;
  const plan = planWorktree(workspace, name, config);
  if (typeof plan === 'string') throw fault('INVALID_INPUT', { field: 'input', problem: plan });
  const { path, branch } = plan;
  const repository = await repositoryOf(host, workspace);
  await openRepository(repository.git, folder, signal);
  const base = await baseBranch(repository, config.base_branch ?? config.repo_ref);
  const target = config.merge_target_branch ?? base;
  const place = await freePlace(host, repository, { path, branch });
  const tree = await prepareWorkTree(repository, { path: place, branch, base, signal });
  const from = await mergeBase(repository, base, tree.commit);
  const { merge_strategy: strategy } = config;
  return { repo: workspace, path, branch, base, target, strategy, base_commit: from, commit: tree.commit };
}

/** A run that another one has begun on this branch is told from its base. */
async function mergeBase(repository: Repository, base: string, commit: string): Promise<string> {
  const { git, dir } = repository;
  const { code, out } = await git.run(['merge-base', base, commit], { dir, codes: [1, 128] });
  return code === 0 ? out.trim() : commit;
}

/** The worktree as it is on this worker: on its branch, and with all that the last phase has left. */
export async function worktreeFolder(host: Host, tree: RootedWorktree, signal?: AbortSignal): Promise<CheckedOut> {
  const repository = await repositoryOf(host, tree.repo);
  const path = await placeBelow(host, tree.path);
  const there = await onBranch(repository, tree, path);
  if (there !== undefined) {
    // Of a git that died with its worker: one run works here, and between two of its phases no git does.
    for (const left of ['index.lock', 'HEAD.lock']) await rm(join(there.dir, left), { force: true });
    await refuseOther(repository, tree, await commitOf(repository, branchRef(tree.branch)));
    return { repository, path, dir: there.dir };
  }
  const { branch, base } = tree;
  const place = await freePlace(host, repository, tree);
  const made = await prepareWorkTree(repository, { path: place, branch, base, signal });
  await refuseOther(repository, tree, made.commit);
  return { repository, path, dir: made.dir };
}

/** Somebody else has set the branch back, or to something else. */
async function refuseOther(
  repository: Repository,
  { branch, commit }: RootedWorktree,
  found: string | undefined,
): Promise<void> {
  if (found === commit) return;
  const isKnown = found !== undefined && (await commitOf(repository, commit)) !== undefined;
  if (isKnown && (await isAncestor(repository, commit, found))) return;
  throw fault('WORKSPACE_MISMATCH', { expected: commit, found: found ?? `no commit of ${branch}` });
}

/** Commits what a phase has left, and answers where the branch is then. */
export async function commitPhase(
  tree: CheckedOut,
  branch: string,
  message: string,
  signal?: AbortSignal,
): Promise<string> {
  const { repository, path } = tree;
  if ((await onBranch(repository, { branch }, path)) === undefined)
    throw fault('WORKSPACE_MISMATCH', { expected: branch, found: 'no worktree on it any more' });
  await commitAll(tree, message, undefined, signal);
  const commit = await commitOf(repository, branchRef(branch));
  if (commit === undefined) throw fault('WORKSPACE_MISMATCH', { expected: branch, found: 'no such branch' });
  return commit;
}

/** Into its target, by its strategy. A conflict changes nothing. */
export async function mergeRun(
  host: Host,
  { repo, branch, base, target }: RootedWorktree,
  {
    strategy,
    message,
    head,
    signal,
  }: {
    readonly strategy: RootedWorktree['strategy'];
    readonly message: string;
    /** The commit that somebody has looked at. */
    readonly head?: string | undefined;
    readonly signal?: AbortSignal;
  },
): Promise<Merged> {
  const repository = await repositoryOf(host, repo);
  return mergeBranch(repository, { strategy, branch, target, base, head, message, signal });
}

/** Never the branch. A worktree that is gone already is removed. */
export async function removeRunWorktree(
  host: Host,
  { repo, path, branch }: Pick<RootedWorktree, 'repo' | 'path' | 'branch'>,
): Promise<void> {
  const repository = await repositoryOf(host, repo);
  const place = await placeBelow(host, path);
  if ((await worktreeAt(repository, place)) === undefined && (await lstat(place).catch(() => undefined)) === undefined)
    return;
  if ((await onBranch(repository, { branch }, place)) === undefined)
    throw fault('WORKSPACE_MISMATCH', { expected: branch, found: 'something else in its place' });
  await removeWorkTree(repository, place);
}

/** The worktree in this place; undefined: there is none. On another branch it is refused. */
async function onBranch(
  repository: Repository,
  { branch }: Pick<RootedWorktree, 'branch'>,
  path: string,
): Promise<Known | undefined> {
  const found = await worktreeAt(repository, path);
  const isThere = found !== undefined && (await lstat(path).catch(() => undefined))?.isDirectory() === true;
  if (!isThere || (await isUnfinished(found))) return undefined;
  if (found.branch === branch) return found;
  throw fault('WORKSPACE_MISMATCH', { expected: branch, found: found.branch ?? 'no branch' });
}

interface Known {
  /** What git keeps of it. */
  readonly dir: string;
  readonly branch: string | undefined;
}

/** By what git has written down of it: asking git of all worktrees starts many processes, in each phase of each run. */
async function worktreeAt({ dir: own }: Repository, path: string): Promise<Known | undefined> {
  for (const name of await readdir(join(own, 'worktrees')).catch(() => [])) {
    const dir = join(own, 'worktrees', name);
    const place = await readFile(join(dir, 'gitdir'), 'utf8').catch(() => '');
    if (place.trim() !== join(path, '.git')) continue;
    const head = await readFile(join(dir, 'HEAD'), 'utf8').catch(() => '');
    return { dir, branch: /^ref: refs\/heads\/(.+)\n?$/.exec(head)?.[1] };
  }
  return undefined;
}

/** Where the worktree goes: a folder that is something else, or has files of somebody, is left alone. */
async function freePlace(
  host: Host,
  repository: Repository,
  tree: Pick<RootedWorktree, 'path' | 'branch'>,
): Promise<string> {
  const path = await placeBelow(host, tree.path);
  await removeUnfinished(repository, path);
  if ((await onBranch(repository, tree, path)) !== undefined) return path;
  const files = await readdir(path).catch((error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? [] : ['?']));
  if (files.length === 0) return path;
  throw fault('WORKSPACE_FAILED', {
    problem: `"${tree.path}" has files already, and is no worktree of ${tree.branch}`,
  });
}

/** Of a git that was killed while it checked files out: what is missing would be taken for deleted. */
function removeUnfinished(repository: Repository, path: string): Promise<void> {
  return locked(repository, undefined, async () => {
    const found = await worktreeAt(repository, path);
    if (found !== undefined && (await isUnfinished(found))) await removeWorkTree(repository, path, true);
  });
}

/** Git locks a worktree while it makes it. */
async function isUnfinished({ dir }: Known): Promise<boolean> {
  return (await readFile(join(dir, 'locked'), 'utf8').catch(() => '')).startsWith('initializing');
}

/** What git needs for itself lies beside what it keeps of the repository. */
export async function repositoryOf(host: Host, repo: string): Promise<Repository> {
  const folder = await workspaceFolder(host, repo);
  const own = join(folder, '.git');
  if ((await lstat(own).catch(() => undefined))?.isDirectory() !== true)
    throw fault('WORKSPACE_FAILED', { problem: `the workspace "${repo}" is no repository of git` });
  return { git: new Git({ folder: join(own, 'leasehold'), timers: REAL }), dir: own, main: folder };
}
