/**
 * A repository as a workspace.
 *
 *   remote   the cache is fetched into; the run has a small repository of its own that borrows from the cache, so that nothing that runs in the worktree
 *            writes where the next run reads; its worktree lies beside. Commits go to the cache first, and from there out
 *   rooted   a worktree of the repository that lies below a root; its branches are the branches of that repository
 */
import { mkdir, mkdtemp, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { fault, isEngineError } from '../core/errors.ts';
import type { RemoteRepo } from '../core/workspace/repo-address.ts';
import { worktreePath } from '../core/workspace/run-branch.ts';
import type { GitCheckout } from '../core/workspace/workspace.ts';
import { commitAll } from './git/commit.ts';
import { diffWorkTree } from './git/diff.ts';
import { keepCommit, pushBranch, runRef, takeUpBundle, writeBundle } from './git/exchange.ts';
import type { GitAccess } from './git/git-access.ts';
import type { Git } from './git/git-command.ts';
import { isThere, type ObjectCache } from './git/object-cache.ts';
import {
  branchRef,
  commitOf,
  createBareRepository,
  defaultBranch,
  isAncestor,
  openRepository,
  type Repository,
  resolveRef,
} from './git/repository.ts';
import { headBranch, prepareWorkTree, refuseTaken, type WorkTree } from './git/worktree.ts';
import { isBelow } from './shared-folder.ts';
import type { Published, WorkspaceDiff } from './workspace.ts';

export interface GitPlace {
  readonly git: Git;
  readonly cache: ObjectCache;
  /** The folder of this workspace. */
  readonly folder: string;
  readonly spec: GitCheckout;
  readonly signal?: AbortSignal | undefined;
}

/** A worktree that is ready, and the way out for its commits. */
export interface ReadyCheckout {
  readonly tree: WorkTree;
  readonly warm: boolean;
  /** Refuses with `WORKSPACE_MISMATCH` unless the branch of the run is checked out, and is this commit or has gone on from it. */
  expect(commit: string): Promise<void>;
  diff(): Promise<WorkspaceDiff>;
  commitAll(message: string): Promise<string | undefined>;
  publish(): Promise<Published>;
}

export interface RemotePlace extends GitPlace {
  readonly address: RemoteRepo;
  /** A bundle with commits of the run, from another worker. */
  readonly bundle?: string | undefined;
  readonly open: () => Promise<GitAccess>;
}

export async function checkOutRemote(place: RemotePlace): Promise<ReadyCheckout> {
  const { git, cache, folder, spec, address, signal } = place;
  const from = { address, credential: spec.credential };
  const enough = spec.branch === undefined ? spec.commit : undefined;
  const source = await withAccess(place, (how) => cache.fetch({ ...from, commit: enough, access: how, signal }));
  const { commit, remote } = await cache.use(from, signal, (repository) => startOf(repository, place));
  const repository = await ownRepository(git, folder, source);
  const tree = await prepareWorkTree(repository, {
    path: join(folder, 'tree'),
    branch: spec.branch,
    commit,
    fresh: true,
    signal,
  });
  let before = remote;
  const publish = async (): Promise<Published> => {
    const { branch } = spec;
    const head = branch === undefined ? undefined : await commitOf(repository, branchRef(branch));
    if (branch === undefined || head === undefined)
      return { how: 'none', commit: await commitOf({ ...repository, dir: tree.dir }, 'HEAD') };
    return cache.use(from, signal, async (kept) => {
      await keepCommit(kept, repository, branch, signal);
      if (spec.publish === 'none' || head === before) return { how: head === before ? 'pushed' : 'none', commit: head };
      if (spec.publish !== 'bundle') {
        try {
          await withAccess(place, (how) =>
            pushBranch(kept, { address, branch, commit: head, before, access: how, signal }),
          );
          before = head;
          return { how: 'pushed', commit: head };
        } catch (error) {
          if (spec.publish === 'push' || signal?.aborted === true || !isEngineError(error, 'WORKSPACE_FAILED'))
            throw error;
        }
      }
      return bundled(kept, { ref: runRef(branch), without: ['--branches'] }, head, folder);
    });
  };
  return ready(tree, source.warm, publish);
}

export interface RootedPlace extends GitPlace {
  /** The folder of the repository and of its root: real paths. */
  readonly repository: string;
  readonly root: string;
  /** Where the worktree lies, from the repository on. Undefined: in the folder of the worker. */
  readonly template?: string | undefined;
  readonly mayChange?: readonly string[] | undefined;
}

export async function checkOutRooted(place: RootedPlace): Promise<ReadyCheckout> {
  const { git, folder, spec, signal } = place;
  const repository = await openRepository(git, place.repository, signal);
  const path = await rootedPath(place);
  if (path !== join(folder, 'tree')) await refuseTaken(repository, path, spec.branch);
  const { branch, ref: base, commit } = spec;
  const tree = await prepareWorkTree(repository, {
    path,
    branch,
    base,
    commit,
    fresh: true,
    mayChange: place.mayChange,
    signal,
  });
  const publish = async (): Promise<Published> => {
    const head = branch === undefined ? undefined : await commitOf(repository, branchRef(branch));
    if (spec.publish !== 'bundle' || branch === undefined || head === undefined)
      return { how: 'none', commit: head ?? tree.commit };
    return bundled(repository, { ref: branchRef(branch), without: [tree.commit] }, head, folder);
  };
  return ready(tree, true, publish);
}

async function rootedPath({ template, repository, root, folder, spec }: RootedPlace): Promise<string> {
  if (template === undefined || spec.branch === undefined) return join(folder, 'tree');
  const read = worktreePath(template, { repo: basename(repository), runBranch: spec.branch });
  if (typeof read === 'string') throw fault('INVALID_INPUT', { field: 'path of the worktree', problem: read });
  const path = resolve(repository, read.path);
  const parent = await realpath(dirname(path)).catch(() => undefined);
  if (parent === dirname(path) && path !== root && isBelow(path, root)) return path;
  throw fault('INVALID_INPUT', {
    field: 'path of the worktree',
    problem: 'it leads out of the root, or its folder is not there',
  });
}

function ready(tree: WorkTree, warm: boolean, publish: () => Promise<Published>): ReadyCheckout {
  return {
    tree,
    warm: warm || tree.reused,
    expect: (commit) => expectCommit(tree, commit),
    diff: () => diffWorkTree(tree, tree.commit),
    commitAll: async (message) => {
      await refuseOtherBranch(tree);
      return commitAll(tree, message);
    },
    publish,
  };
}

async function refuseOtherBranch({ repository, dir, branch }: WorkTree): Promise<void> {
  const found = await headBranch(repository, dir);
  if (found !== branch)
    throw fault('WORKSPACE_MISMATCH', { expected: branch ?? 'no branch', found: found ?? 'no branch' });
}

async function expectCommit(tree: WorkTree, commit: string): Promise<void> {
  await refuseOtherBranch(tree);
  const own = { ...tree.repository, dir: tree.dir };
  const found = await commitOf(own, 'HEAD');
  if (found === commit) return;
  const isKnown = found !== undefined && (await commitOf(own, commit)) !== undefined;
  if (!isKnown || !(await isAncestor(own, commit, found)))
    throw fault('WORKSPACE_MISMATCH', { expected: commit, found: found ?? 'no commit' });
}

/** The commit to begin with, and what the branch of the run is at the remote now. */
async function startOf(
  cache: Repository,
  { spec, bundle, signal }: RemotePlace,
): Promise<{ readonly commit: string; readonly remote: string | undefined }> {
  const { branch, commit, ref } = spec;
  const call = { signal };
  const taken =
    bundle === undefined || branch === undefined ? undefined : await takeUpBundle(cache, bundle, branch, signal);
  const remote = branch === undefined ? undefined : await commitOf(cache, branchRef(branch), call);
  // Commits that never leave this worker. Of other runs they may be left from an earlier one of the same name.
  const kept =
    branch === undefined || spec.publish !== 'none' ? undefined : await commitOf(cache, runRef(branch), call);
  // A bundle of an earlier step is behind what was pushed since.
  const behind = taken !== undefined && remote !== undefined && (await isAncestor(cache, taken, remote));
  const newest = (behind ? undefined : taken) ?? kept ?? remote;
  if (commit !== undefined) {
    const there = (await commitOf(cache, commit, call)) !== undefined;
    if (!there) throw fault('WORKSPACE_MISMATCH', { expected: commit, found: newest ?? 'a repository without it' });
    // A branch may be ahead: an attempt has pushed and then died before it could say so. It may not be another history.
    const related =
      newest === undefined || (await isAncestor(cache, commit, newest)) || (await isAncestor(cache, newest, commit));
    if (!related) throw fault('WORKSPACE_MISMATCH', { expected: commit, found: newest });
    return { commit, remote };
  }
  if (newest !== undefined) return { commit: newest, remote };
  const from = ref ?? (await defaultBranch(cache));
  const found = await resolveRef(cache, from, call);
  if (found === undefined)
    throw fault('WORKSPACE_FAILED', { problem: `the repository has no branch, tag or commit ${JSON.stringify(from)}` });
  return { commit: found, remote };
}

/** The repository of the run. Nothing but its worktree uses it; what git keeps in it is written by programs that the task runs. */
async function ownRepository(git: Git, folder: string, source: Repository): Promise<Repository> {
  const dir = join(folder, 'repo.git');
  if (await isThere(join(dir, 'HEAD'))) return { git, dir };
  const making = join(folder, 'making.git');
  for (const left of [making, dir]) await rm(left, { recursive: true, force: true });
  await createBareRepository(git, making, [join(source.dir, 'objects')]);
  await rename(making, dir);
  return { git, dir };
}

async function bundled(
  repository: Repository,
  which: { readonly ref: string; readonly without: readonly string[] },
  commit: string,
  folder: string,
): Promise<Published> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = join(await mkdtemp(join(folder, 'bundle-')), 'commits.bundle');
  const written = await writeBundle(repository, { ...which, file });
  if (written) return { how: 'bundled', commit, bundle: file };
  await rm(dirname(file), { recursive: true, force: true });
  return { how: 'none', commit };
}

/** For one call. The secret is at hand as long as git asks for it, and no longer. */
async function withAccess<T>({ open }: RemotePlace, call: (how: GitAccess) => Promise<T>): Promise<T> {
  const how = await open();
  try {
    return await call(how);
  } finally {
    await how.close();
  }
}
