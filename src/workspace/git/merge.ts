/** Merges the branch of a run. The result is computed beside all worktrees, and counts only when it is whole: a conflict leaves nothing behind. */
import { fault } from '../../core/errors.ts';
import { type Author, authorship, type CheckedOut, changedFiles, LEASEHOLD } from './commit.ts';
import { baseBranch, branchRef, commitOf, isAncestor, type Repository, resolveRef } from './repository.ts';
import { checkTree } from './tree-check.ts';
import { listWorkTrees, locked } from './worktree.ts';

export const MERGE_STRATEGIES = ['none', 'merge', 'squash'] as const;
export type MergeStrategy = (typeof MERGE_STRATEGIES)[number];

export interface MergeWish {
  readonly strategy: MergeStrategy;
  /** The branch of the run. It is kept, whatever becomes of the merge. */
  readonly branch: string;
  /** Made from `base` if it is not there. Default: the base. */
  readonly target?: string | undefined;
  readonly base?: string | undefined;
  /** Where the branch must be, as somebody has seen it who said yes. Undefined: wherever it is. */
  readonly head?: string | undefined;
  readonly message?: string | undefined;
  readonly author?: Author | undefined;
  readonly mayChange?: readonly string[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type Merged =
  | { readonly outcome: 'none' }
  /** `commit`: of the target now. `unchanged`: it had everything already. */
  | { readonly outcome: 'merged' | 'unchanged'; readonly target: string; readonly commit: string }
  | { readonly outcome: 'conflict'; readonly target: string; readonly files: readonly string[] };

const MOST_TOLD = 100;

export async function mergeBranch(repository: Repository, wish: MergeWish): Promise<Merged> {
  if (wish.strategy === 'none') return { outcome: 'none' };
  return locked(repository, wish.signal, () => mergeLocked(repository, wish));
}

async function mergeLocked(repository: Repository, wish: MergeWish): Promise<Merged> {
  const { branch, signal } = wish;
  const base = await baseBranch(repository, wish.base);
  const target = wish.target ?? base;
  if (target === branch)
    throw fault('INVALID_INPUT', { field: 'merge target', problem: 'it is the branch of the run itself' });
  const theirs = await commitOf(repository, branchRef(branch), { signal });
  if (theirs === undefined) throw fault('NOT_FOUND', { kind: 'branch', id: branch });
  if (wish.head !== undefined && wish.head !== theirs)
    throw fault('WORKSPACE_MISMATCH', { expected: wish.head, found: theirs });
  const open = await refuseDirty(repository, [branch, target], wish.mayChange);
  const ours = await targetCommit(repository, target, base);
  const joined = await joinCommits(repository, {
    ours,
    theirs,
    strategy: wish.strategy,
    message: wish.message ?? `${wish.strategy === 'squash' ? 'Squash' : 'Merge'} ${branch}`,
    author: wish.author,
    signal,
  });
  if ('files' in joined) return { outcome: 'conflict', target, files: joined.files };
  const { commit } = joined;
  if (!joined.changed) return { outcome: 'unchanged', target, commit };
  const { git, dir } = repository;
  const holder = open.find((one) => one.branch === target);
  if (holder === undefined) await git.run(['update-ref', branchRef(target), commit, ours], { dir });
  // Files and branch move together, and only forward; git refuses where a file would be lost.
  else
    await git.run(['merge', '--quiet', '--ff-only', '--no-verify-signatures', commit], {
      dir: holder.dir,
      work: holder.path,
    });
  return { outcome: 'merged', target, commit };
}

interface JoinWish {
  readonly ours: string;
  readonly theirs: string;
  readonly strategy: MergeStrategy;
  readonly message: string;
  readonly author?: Author | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** `changed`: it is a new one, that no branch has so far. Otherwise it is ours, which has everything already. */
export type Joined = { readonly commit: string; readonly changed: boolean } | { readonly files: readonly string[] };

/** One commit of two. No branch moves. */
export async function joinCommits(
  repository: Repository,
  { ours, theirs, strategy, message, author = LEASEHOLD, signal }: JoinWish,
): Promise<Joined> {
  if (await isAncestor(repository, theirs, ours)) return { commit: ours, changed: false };
  const { git, dir } = repository;
  const { code, out } = await git.run(
    ['merge-tree', '--write-tree', '--name-only', '-z', '--no-messages', ours, theirs],
    { dir, signal, codes: [1] },
  );
  const [tree = '', ...files] = out.split('\0').filter((part) => part !== '');
  if (code === 1) return { files: [...new Set(files)].slice(0, MOST_TOLD) };
  if (strategy === 'squash' && tree === (await git.line(['rev-parse', `${ours}^{tree}`], { dir })))
    return { commit: ours, changed: false };
  await checkTree(repository, tree, repository.main ?? dir, { signal });
  const parents = strategy === 'squash' ? [ours] : [ours, theirs];
  const commit = await git.line(['commit-tree', tree, ...parents.flatMap((one) => ['-p', one]), '-F', '-'], {
    dir,
    signal,
    input: message,
    env: authorship(author),
  });
  return { commit, changed: true };
}

/** Makes the target if it is not there. */
async function targetCommit(repository: Repository, target: string, base: string): Promise<string> {
  const there = await commitOf(repository, branchRef(target));
  if (there !== undefined) return there;
  const from = (await resolveRef(repository, target)) ?? (await resolveRef(repository, base));
  if (from === undefined) throw fault('NOT_FOUND', { kind: 'branch', id: base });
  // All zeros: only if nobody has made it meanwhile.
  await repository.git.run(['update-ref', branchRef(target), from, '0'.repeat(from.length)], { dir: repository.dir });
  return from;
}

type Open = CheckedOut & { readonly branch?: string | undefined };

/** The folders in which one of the branches is checked out. A merge of files that are not committed would lose them. */
async function refuseDirty(
  repository: Repository,
  branches: readonly string[],
  mayChange?: readonly string[],
): Promise<readonly Open[]> {
  const open: Open[] = (await listWorkTrees(repository))
    .filter(({ branch }) => branch !== undefined && branches.includes(branch))
    .map(({ path, dir, branch }) => ({ repository, path, dir, branch }));
  if (repository.main !== undefined) {
    const { code, out } = await repository.git.run(['symbolic-ref', '--quiet', '--short', 'HEAD'], {
      dir: repository.dir,
      codes: [1],
    });
    open.push({ repository, path: repository.main, dir: repository.dir, branch: code === 0 ? out.trim() : undefined });
  }
  for (const tree of open) {
    const [changed] = await changedFiles(tree, mayChange);
    if (changed !== undefined)
      throw fault('CONFLICT', {
        problem: `the folder of ${tree.branch ?? 'the repository'} is not clean: ${JSON.stringify(changed)} is not committed`,
      });
  }
  return open;
}
