/**
 * Worktrees: a folder in which one commit or branch of a repository is checked out.
 *
 *   a branch is made from its base if it is not there
 *   a folder that is there is used again only if exactly this branch is checked out in it; otherwise it is removed and made anew
 *   what is checked out is looked at once more at the end
 */
import { lstat, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { fault } from '../../core/errors.ts';
import { changedFiles } from './commit.ts';
import { withLock } from './folder-lock.ts';
import type { GitCall } from './git-command.ts';
import { baseBranch, branchRef, commitOf, type Repository, resolveRef, setBranch } from './repository.ts';
import { checkTree } from './tree-check.ts';

export interface WorkTree {
  readonly repository: Repository;
  /** Absolute and real. */
  readonly path: string;
  /** The folder of what git keeps for it. */
  readonly dir: string;
  readonly branch?: string | undefined;
  /** What it was prepared at. */
  readonly commit: string;
  /** It was there already. */
  readonly reused: boolean;
}

export interface WorkTreeWish {
  /** Its parent folder is there, and is a real path. */
  readonly path: string;
  /** Undefined: a commit without a branch. */
  readonly branch?: string | undefined;
  /** What the branch is made from: a branch, a tag or a commit. Default: the current branch, else the default of the remote, else `main`. */
  readonly base?: string | undefined;
  /** What must be checked out. The branch is set to it. */
  readonly commit?: string | undefined;
  /** Files that are not committed go: they are of an attempt that has ended. Without it, a folder that is used again keeps them. */
  readonly fresh?: boolean | undefined;
  /** Folders of the main worktree that may have files nobody has committed, such as `logs/loop`. */
  readonly mayChange?: readonly string[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

export async function prepareWorkTree(repository: Repository, wish: WorkTreeWish): Promise<WorkTree> {
  return locked(repository, wish.signal, async () => {
    const { signal, branch, path } = wish;
    if (repository.main !== undefined) {
      const [changed] = await changedFiles({ repository, path: repository.main, dir: repository.dir }, wish.mayChange);
      if (changed !== undefined)
        throw fault('WORKSPACE_FAILED', {
          problem: `the folder of the repository is not clean: ${JSON.stringify(changed)} is not committed`,
        });
    }
    const there = await foundAt(repository, path);
    const same = there !== undefined && branch !== undefined && (await headBranch(repository, there)) === branch;
    if (there === undefined || !same) await removeWorkTree(repository, path, true);
    const commit = await wishedCommit(repository, wish);
    await checkTree(repository, commit, dirname(path), { signal });
    if (same) await useAgain(repository, { path, dir: there }, commit, wish);
    else await add(repository, commit, wish);
    return verified(repository, commit, wish, same);
  });
}

/** Makes the commit of the wish the one of its branch, and answers it. */
async function wishedCommit(repository: Repository, { branch, base, commit, signal }: WorkTreeWish): Promise<string> {
  const own = branch === undefined ? undefined : await commitOf(repository, branchRef(branch), { signal });
  if (commit !== undefined) {
    if ((await commitOf(repository, commit, { signal })) === undefined)
      throw fault('WORKSPACE_MISMATCH', { expected: commit, found: 'a repository without it' });
    return commit;
  }
  if (own !== undefined) return own;
  const from = await baseBranch(repository, base);
  const found = await resolveRef(repository, from, { signal });
  if (found !== undefined) return found;
  throw fault('WORKSPACE_FAILED', { problem: `the repository has no branch, tag or commit ${JSON.stringify(from)}` });
}

async function add(repository: Repository, commit: string, { branch, path, signal }: WorkTreeWish): Promise<void> {
  const { git, dir } = repository;
  if (branch !== undefined && (await commitOf(repository, branchRef(branch))) !== commit) {
    const holder = (await listWorkTrees(repository)).find((one) => one.branch === branch);
    if (holder !== undefined)
      throw fault('WORKSPACE_FAILED', { problem: `the branch ${branch} is checked out elsewhere` });
    await setBranch(repository, branch, commit);
  }
  const what = branch === undefined ? ['--detach', '--', path, commit] : ['--', path, branch];
  await git.run(['worktree', 'add', '--quiet', '--no-guess-remote', ...what], { dir, signal });
}

async function useAgain(
  repository: Repository,
  tree: Place,
  commit: string,
  { fresh, signal }: WorkTreeWish,
): Promise<void> {
  const { git } = repository;
  const call: GitCall = { dir: tree.dir, work: tree.path, signal };
  if (fresh === true) {
    // Of a git that was killed; whoever holds the lock of the repository is the only one to make another.
    for (const left of ['index.lock', 'HEAD.lock']) await rm(join(tree.dir, left), { force: true });
    await git.run(['reset', '--quiet', '--hard', commit], call);
    await git.run(['clean', '--quiet', '-ffdx'], call);
  } else if ((await commitOf({ git, dir: tree.dir }, 'HEAD')) !== commit) {
    throw fault('WORKSPACE_MISMATCH', { expected: commit, found: 'another commit in the folder that is there' });
  }
}

async function verified(
  repository: Repository,
  commit: string,
  { branch, path }: WorkTreeWish,
  reused: boolean,
): Promise<WorkTree> {
  const dir = await foundAt(repository, path);
  const head = dir === undefined ? undefined : await commitOf({ git: repository.git, dir }, 'HEAD');
  if (dir === undefined || head !== commit)
    throw fault('WORKSPACE_MISMATCH', { expected: commit, found: head ?? 'nothing' });
  const found = await headBranch(repository, dir);
  if (found !== branch) throw fault('WORKSPACE_MISMATCH', { expected: branch ?? commit, found: found ?? 'no branch' });
  return { repository, path, dir, branch, commit, reused };
}

/** Removes the folder and what git knows of it; never the branch. A repository of its own is not removed: somebody works there. */
export async function removeWorkTree(repository: Repository, path: string, force = false): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  const own = await lstat(join(path, '.git')).catch(() => undefined);
  const known = await adminFolders(repository);
  const admin = known.find((one) => one.path === path);
  if (there !== undefined && (!there.isDirectory() || own?.isDirectory() === true || path === repository.main))
    throw fault('WORKSPACE_FAILED', { problem: 'what lies in the place of the worktree is no worktree' });
  if (there !== undefined && admin === undefined && !force) throw fault('NOT_FOUND', { kind: 'worktree', id: path });
  await rm(path, { recursive: true, force: true, maxRetries: 3 });
  if (admin !== undefined) await rm(admin.dir, { recursive: true, force: true });
  for (const one of known) if (await isLeft(repository, one, path)) await rm(one.dir, { recursive: true, force: true });
}

/**
 * Of a git that was killed before it had written where its folder is; in a repository of ours, also of folders that are gone. Those of somebody else
 * are theirs: a folder may lie on a disk that is away, and a git may be making one just now.
 */
async function isLeft({ main }: Repository, { dir, path: of }: AdminFolder, path: string): Promise<boolean> {
  if (of !== undefined) return main === undefined && (await lstat(of).catch(() => undefined)) === undefined;
  if (main === undefined) return true;
  const isOfPlace =
    basename(dir).startsWith(basename(path)) && /^\d*$/.test(basename(dir).slice(basename(path).length));
  return isOfPlace && (await lstat(join(dir, 'gitdir')).catch(() => undefined)) === undefined;
}

export interface ListedWorkTree extends Place {
  readonly branch?: string | undefined;
  readonly commit?: string | undefined;
}

/** All worktrees but the main one. */
export async function listWorkTrees(repository: Repository): Promise<readonly ListedWorkTree[]> {
  const listed: ListedWorkTree[] = [];
  for (const { dir, path } of await adminFolders(repository)) {
    if (path === undefined) continue;
    const branch = await headBranch(repository, dir);
    listed.push({ path, dir, branch, commit: await commitOf({ git: repository.git, dir }, 'HEAD') });
  }
  return listed;
}

/**
 * Refuses a folder below a root in which a worktree is to be made, if it has files of somebody: it is neither empty, nor the worktree of this branch, nor
 * one that a git was making when it was killed.
 */
export async function refuseTaken(repository: Repository, path: string, branch: string | undefined): Promise<void> {
  const files = await readdir(path).catch((error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? [] : ['?']));
  if (files.length === 0) return;
  const admin = (await adminFolders(repository)).find((one) => one.path === path)?.dir;
  if (admin !== undefined) {
    const found = await headBranch(repository, admin);
    if (found !== undefined && found === branch) return;
    const isUnfinished = (await readFile(join(admin, 'locked'), 'utf8').catch(() => '')).startsWith('initializing');
    if (isUnfinished) return;
  }
  throw fault('WORKSPACE_FAILED', {
    problem: `the folder ${JSON.stringify(basename(path))} in the place of its worktree has files already, and is no worktree of ${branch ?? 'it'}`,
  });
}

interface Place {
  readonly path: string;
  readonly dir: string;
}

/** What git keeps for the worktree in this folder; undefined: there is none, or another repository has taken the place. */
async function foundAt(repository: Repository, path: string): Promise<string | undefined> {
  if ((await realpath(path).catch(() => undefined)) !== path) return undefined;
  const admin = (await adminFolders(repository)).find((one) => one.path === path)?.dir;
  const link = await readFile(join(path, '.git'), 'utf8').catch(() => '');
  return admin !== undefined && link.trim() === `gitdir: ${admin}` ? admin : undefined;
}

interface AdminFolder {
  readonly dir: string;
  /** Undefined: it does not say where its files are. */
  readonly path: string | undefined;
}

async function adminFolders({ dir }: Repository): Promise<readonly AdminFolder[]> {
  const names = await readdir(join(dir, 'worktrees')).catch(() => []);
  return Promise.all(
    names.map(async (name) => {
      const own = join(dir, 'worktrees', name);
      const text = (await readFile(join(own, 'gitdir'), 'utf8').catch(() => '')).trim();
      // From here on, where git was told to write it so.
      return { dir: own, path: text.endsWith('/.git') ? resolve(own, dirname(text)) : undefined };
    }),
  );
}

export async function headBranch({ git }: Repository, dir: string): Promise<string | undefined> {
  const { code, out } = await git.run(['symbolic-ref', '--quiet', 'HEAD'], { dir, codes: [1, 128] });
  return code === 0 ? out.trim().replace(/^refs\/heads\//, '') : undefined;
}

/** Two runs of one repository, also of different workers, change its branches and worktrees one after the other. */
export function locked<T>(
  { git, dir }: Repository,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  return withLock(join(dir, 'leasehold.lock'), { timers: git.timers, signal }, work);
}
