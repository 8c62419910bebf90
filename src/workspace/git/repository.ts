/** Repositories on the disk of the worker: bare ones of ours, and those that lie below a root. */
import { mkdir, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fault } from '../../core/errors.ts';
import { isCommit, readBranch } from '../../core/workspace/ref.ts';
import type { Git, GitCall } from './git-command.ts';

export interface Repository {
  readonly git: Git;
  /** The folder of its own files: shared by all its worktrees. */
  readonly dir: string;
  /** The folder that it was cloned into, with files of its own; undefined: it is bare. */
  readonly main?: string | undefined;
}

/** The repository whose files lie right in this folder, which must be a real path. */
export async function openRepository(git: Git, folder: string, signal?: AbortSignal): Promise<Repository> {
  const dir = join(folder, '.git');
  const found = await realpath(dir).catch(() => undefined);
  // A file `.git` leads elsewhere: a worktree or a submodule, whose repository may lie outside of the root.
  if (found !== dir) throw fault('WORKSPACE_FAILED', { problem: 'the folder is no repository of its own' });
  await git.run(['rev-parse', '--git-dir'], { dir, signal });
  return { git, dir, main: folder };
}

export async function createBareRepository(
  git: Git,
  dir: string,
  alternates: readonly string[] = [],
): Promise<Repository> {
  await git.run(['init', '--quiet', '--bare', '--template=', '--', dir]);
  const repository = { git, dir };
  if (alternates.length > 0) {
    await mkdir(join(dir, 'objects', 'info'), { recursive: true });
    await writeFile(join(dir, 'objects', 'info', 'alternates'), alternates.map((one) => `${one}\n`).join(''));
  }
  return repository;
}

/** The commit that a name means; undefined: it means none here. */
export async function commitOf(
  { git, dir }: Repository,
  name: string,
  call: GitCall = {},
): Promise<string | undefined> {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`];
  const answer = await git.run(args, { ...call, dir, codes: [1, 128] });
  const line = answer.out.trim();
  return answer.code === 0 && isCommit(line) ? line : undefined;
}

export const branchRef = (branch: string): string => `refs/heads/${branch}`;

/** A commit that a branch, a branch of the remote, a tag or a commit means. */
export async function resolveRef(repository: Repository, ref: string, call: GitCall = {}): Promise<string | undefined> {
  if (isCommit(ref)) return commitOf(repository, ref, call);
  for (const full of [branchRef(ref), `refs/remotes/origin/${ref}`, `refs/tags/${ref}`]) {
    const commit = await commitOf(repository, full, call);
    if (commit !== undefined) return commit;
  }
  return undefined;
}

/** The branch to begin with: as given, else the one that is checked out, else the default of the remote, else main. */
export async function baseBranch(repository: Repository, given?: string): Promise<string> {
  if (given !== undefined) return given;
  const current = await symbolic(repository, 'HEAD');
  if (current !== undefined && repository.main !== undefined) return current.replace(/^refs\/heads\//, '');
  const remote = await symbolic(repository, 'refs/remotes/origin/HEAD');
  return remote?.replace(/^refs\/remotes\/origin\//, '') ?? 'main';
}

/** The branch that a bare repository of ours has from its server as the default. */
export async function defaultBranch(repository: Repository): Promise<string> {
  const read = readBranch((await symbolic(repository, 'HEAD'))?.replace(/^refs\/heads\//, '') ?? 'main');
  return typeof read === 'string' ? 'main' : read.branch;
}

async function symbolic({ git, dir }: Repository, name: string): Promise<string | undefined> {
  const { code, out } = await git.run(['symbolic-ref', '--quiet', name], { dir, codes: [1, 128] });
  return code === 0 ? out.trim() : undefined;
}

/** Whether the first is the second, or one that the second follows from. */
export async function isAncestor({ git, dir }: Repository, earlier: string, later: string): Promise<boolean> {
  return (await git.run(['merge-base', '--is-ancestor', earlier, later], { dir, codes: [1] })).code === 0;
}

export async function setBranch(
  { git, dir }: Repository,
  branch: string,
  commit: string,
  before?: string,
): Promise<void> {
  await git.run(['update-ref', branchRef(branch), commit, ...(before === undefined ? [] : [before])], { dir });
}
