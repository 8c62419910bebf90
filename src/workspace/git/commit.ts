/** What was changed in a worktree, and commits of it. */
import { fault } from '../../core/errors.ts';
import type { GitCall } from './git-command.ts';
import type { Repository } from './repository.ts';

/** A folder with files of a commit: a worktree, or the main one of a repository. */
export interface CheckedOut {
  readonly repository: Repository;
  readonly path: string;
  readonly dir: string;
}

export interface Author {
  readonly name: string;
  readonly email: string;
}

export const LEASEHOLD: Author = { name: 'leasehold', email: 'leasehold@localhost' };

/** Files that are not as they were committed, at most a hundred. `except`: folders that do not count. */
export async function changedFiles(tree: CheckedOut, except: readonly string[] = []): Promise<readonly string[]> {
  const { out } = await tree.repository.git.run(
    ['status', '--porcelain=v1', '-z', '--untracked-files=all', '--no-renames', '--ignore-submodules=all'],
    { ...callOf(tree), cut: true },
  );
  return out
    .split('\0')
    .filter((line) => line.length > 3)
    .map((line) => line.slice(3))
    .filter((path) => !except.some((folder) => path === folder || path.startsWith(`${folder}/`)))
    .slice(0, 100);
}

/** Commits all that was changed, new files included, and answers the commit; undefined: nothing was. */
export async function commitAll(
  tree: CheckedOut,
  message: string,
  author: Author = LEASEHOLD,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const { git } = tree.repository;
  const call = { ...callOf(tree), signal };
  await git.run(['add', '--all', '--', '.'], call);
  const { code } = await git.run(['diff', '--cached', '--quiet', '--no-ext-diff', '--no-textconv'], {
    ...call,
    codes: [1],
  });
  if (code === 0) return undefined;
  const text = message.trim() === '' ? 'Changes of a run' : message;
  await git.run(['commit', '--quiet', '--no-verify', '--cleanup=whitespace', '--file=-'], {
    ...call,
    input: text,
    env: authorship(author),
  });
  return git.line(['rev-parse', 'HEAD'], call);
}

export const callOf = ({ path, dir }: CheckedOut): GitCall => ({ dir, work: path });

export function authorship({ name, email }: Author): Readonly<Record<string, string>> {
  if (/[<>\n\0]/.test(name + email))
    throw fault('INVALID_INPUT', { field: 'author', problem: 'it has an unusual character' });
  return { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email };
}
