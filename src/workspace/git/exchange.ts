/** Commits on their way to another worker: pushed to the repository that they came from, or as a bundle in a file. */
import { open, stat } from 'node:fs/promises';
import { fault } from '../../core/errors.ts';
import { isCommit } from '../../core/workspace/ref.ts';
import type { RemoteRepo } from '../../core/workspace/repo-address.ts';
import type { GitAccess } from './git-access.ts';
import { branchRef, commitOf, type Repository } from './repository.ts';

/** Branches of runs lie apart in a cache: a fetch never changes these. */
export const runRef = (branch: string): string => `refs/leasehold/${branch}`;

export interface PushWish {
  readonly address: RemoteRepo;
  readonly branch: string;
  readonly commit: string;
  /** What the branch was when we saw it last; undefined: it was not there. Anything else is somebody else's work, and stays. */
  readonly before: string | undefined;
  readonly access: GitAccess;
  readonly signal?: AbortSignal | undefined;
}

export function pushBranch(repository: Repository, wish: PushWish): Promise<void> {
  return push(repository, wish, wish.commit);
}

/** Only where it is still the commit that was seen. */
export function deleteBranch(
  repository: Repository,
  wish: Omit<PushWish, 'commit'> & { readonly before: string },
): Promise<void> {
  return push(repository, wish, '');
}

/** `what`: empty, the branch goes. */
async function push({ git, dir }: Repository, wish: Omit<PushWish, 'commit'>, what: string): Promise<void> {
  const ref = branchRef(wish.branch);
  const { code, out } = await git.run(
    [
      'push',
      '--porcelain',
      '--quiet',
      '--no-verify',
      '--no-follow-tags',
      '--no-recurse-submodules',
      `--force-with-lease=${ref}:${wish.before ?? ''}`,
      '--',
      wish.address.url,
      `${what}:${ref}`,
    ],
    { dir, access: wish.access, signal: wish.signal, codes: [1] },
  );
  if (code === 0) return;
  if (/\[rejected\] \((?:stale info|fetch first)/.test(out) || /cannot lock ref|reference already exists/.test(out))
    throw fault('WORKSPACE_MISMATCH', {
      expected: wish.before ?? `no branch ${wish.branch}`,
      found: 'another commit on the branch',
    });
  throw fault('WORKSPACE_FAILED', {
    problem: `the push was refused: ${/^!\t.*\t(.*)$/m.exec(out)?.[1] ?? 'no reason was given'}`,
  });
}

/** Brings a commit of another repository of this disk into this one, under the branch of the run. */
export async function keepCommit(
  cache: Repository,
  from: Repository,
  branch: string,
  signal?: AbortSignal,
): Promise<void> {
  const refs = `+${branchRef(branch)}:${runRef(branch)}`;
  await cache.git.run(['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--', from.dir, refs], {
    dir: cache.dir,
    local: true,
    signal,
  });
}

/** Writes what the ref has and none of the others has. False: that is nothing. */
export async function writeBundle(
  repository: Repository,
  { ref, without, file }: { readonly ref: string; readonly without: readonly string[]; readonly file: string },
  signal?: AbortSignal,
): Promise<boolean> {
  const { git, dir } = repository;
  const revisions = [ref, '--not', ...without];
  const count = await git.line(['rev-list', '--count', ...revisions, '--'], { dir, signal });
  if (count === '0') return false;
  await git.run(['bundle', 'create', '--quiet', '--version=2', file, ...revisions], { dir, signal });
  return true;
}

const MOST_HEADER = 1024 * 1024;

/**
 * Takes up the commits of a bundle, under the branch of the run, and answers the newest. Every object is checked, and all that they rest on must be here:
 * a bundle comes from another worker, and is believed no more than a server.
 */
export async function takeUpBundle(
  repository: Repository,
  file: string,
  branch: string,
  signal?: AbortSignal,
): Promise<string> {
  const { git, dir } = repository;
  const { size } = await stat(file);
  if (size > git.caps.maxBytes) throw refuse(`it has more than ${git.caps.maxBytes} bytes`);
  const { tip, needs, start } = await readHeader(file);
  for (const commit of needs)
    if ((await commitOf(repository, commit, { signal })) === undefined)
      throw fault('WORKSPACE_MISMATCH', { expected: commit, found: 'a repository without it' });
  await git.run(['index-pack', '--stdin', '--fix-thin', '--strict'], { dir, input: { file, start }, signal });
  await git.run(['rev-list', '--objects', '--quiet', tip, '--not', '--all', '--'], { dir, signal });
  await git.run(['update-ref', runRef(branch), tip], { dir, signal });
  return tip;
}

async function readHeader(
  file: string,
): Promise<{ readonly tip: string; readonly needs: readonly string[]; readonly start: number }> {
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(MOST_HEADER), position: 0 });
    const head = buffer.subarray(0, bytesRead);
    const end = head.indexOf('\n\n');
    const [first, ...lines] = head.toString('utf8', 0, Math.max(end, 0)).split('\n');
    if (first !== '# v2 git bundle') throw refuse('it is none');
    const needs = lines.filter((line) => line.startsWith('-')).map((line) => line.slice(1).split(' ')[0] as string);
    const tips = lines.filter((line) => !line.startsWith('-')).map((line) => line.split(' ')[0] as string);
    const [tip] = tips;
    if (tip === undefined || tips.length > 1 || ![tip, ...needs].every(isCommit)) throw refuse('it has not one branch');
    return { tip, needs, start: end + 2 };
  } finally {
    await handle.close();
  }
}

const refuse = (problem: string): Error => fault('WORKSPACE_FAILED', { problem: `the bundle is refused: ${problem}` });
