/** What a worktree has that its base has not: commits, and files that nobody has committed. Bounded in every direction. */
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DiffCommit, DiffFile, DiffStats, WorkspaceDiff } from '../workspace.ts';
import { type CheckedOut, callOf } from './commit.ts';
import type { GitCall } from './git-command.ts';
import type { Repository } from './repository.ts';

export interface DiffBounds {
  readonly commits: number;
  readonly files: number;
  /** Of all patches together, and of one file. */
  readonly bytes: number;
  readonly fileBytes: number;
}

export const DIFF_BOUNDS: DiffBounds = { commits: 100, files: 500, bytes: 1024 * 1024, fileBytes: 64 * 1024 };

const NEUTRAL = ['--no-ext-diff', '--no-textconv', '--no-color', '--ignore-submodules=none'];
const MOST_MESSAGE = 10_000;
const MOST_LIST = 8 * 1024 * 1024;

/** From a commit to the files as they are now. */
export async function diffWorkTree(
  tree: CheckedOut,
  base: string,
  bounds: DiffBounds = DIFF_BOUNDS,
): Promise<WorkspaceDiff> {
  const { repository } = tree;
  const head = await repository.git.line(['rev-parse', 'HEAD'], callOf(tree));
  return between(repository, base, head, await treeOfFiles(tree), bounds);
}

/** From a commit to a commit. */
export function diffCommits(
  repository: Repository,
  base: string,
  head: string,
  bounds: DiffBounds = DIFF_BOUNDS,
): Promise<WorkspaceDiff> {
  return between(repository, base, head, head, bounds);
}

async function between(
  repository: Repository,
  base: string,
  head: string,
  until: string,
  bounds: DiffBounds,
): Promise<WorkspaceDiff> {
  const commits = await readCommits(repository, base, head, bounds.commits + 1);
  const files = await readFiles(repository, base, until, bounds);
  return {
    base_ref: base,
    head_ref: head,
    commits: commits.slice(0, bounds.commits),
    files: files.files,
    stats: files.stats,
    truncated: files.truncated || commits.length > bounds.commits,
  };
}

/** The files as a tree, new ones included, without a change to what is staged. */
async function treeOfFiles(tree: CheckedOut): Promise<string> {
  const { git } = tree.repository;
  const folder = await mkdtemp(join(tree.dir, 'leasehold-index-'));
  try {
    const index = join(folder, 'index');
    await copyFile(join(tree.dir, 'index'), index).catch(() => {});
    const call: GitCall = { ...callOf(tree), env: { GIT_INDEX_FILE: index } };
    await git.run(['add', '--all', '--', '.'], call);
    return await git.line(['write-tree'], call);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function readCommits(
  { git, dir }: Repository,
  base: string,
  head: string,
  most: number,
): Promise<readonly DiffCommit[]> {
  const range = ['--end-of-options', `${base}..${head}`, '--'];
  const count = `--max-count=${most}`;
  const told = await git.run(['log', '-z', count, '--no-show-signature', '--format=%H%n%at%n%an <%ae>%n%B', ...range], {
    dir,
    maxOutput: MOST_LIST,
    cut: true,
  });
  const counted = await git.run(
    ['log', count, '-M', ...NEUTRAL, '--diff-merges=first-parent', '--format=%x00%H', '--numstat', ...range],
    { dir, maxOutput: MOST_LIST, cut: true },
  );
  const stats = new Map(
    counted.out
      .split('\0')
      .slice(1)
      .map((text) => {
        const [sha = '', ...lines] = text.split('\n');
        return [sha, lines.map(readCounts).filter((one) => one !== undefined)] as const;
      }),
  );
  return told.out
    .split('\0')
    .filter((text) => text !== '')
    .map((text) => {
      const [sha = '', seconds = '', author = '', ...message] = text.split('\n');
      const own = stats.get(sha) ?? [];
      return {
        sha,
        message: message.join('\n').trimEnd().slice(0, MOST_MESSAGE),
        author: author.slice(0, 300),
        timestamp: Number(seconds) * 1000,
        files: own.length,
        stats: sum(own),
      };
    });
}

const STATUSES: Readonly<Record<string, DiffFile['status'] | undefined>> = { A: 'added', D: 'deleted', R: 'renamed' };

async function readFiles(
  { git, dir }: Repository,
  base: string,
  until: string,
  bounds: DiffBounds,
): Promise<{ readonly files: readonly DiffFile[]; readonly stats: DiffStats; readonly truncated: boolean }> {
  const diff = (...how: readonly string[]): readonly string[] => [
    'diff-tree',
    '-r',
    '-M',
    '-l1000',
    ...NEUTRAL,
    ...how,
    '--end-of-options',
    base,
    until,
    '--',
  ];
  const raw = await git.run(diff('--raw', '-z', '--no-abbrev'), { dir, maxOutput: MOST_LIST, cut: true });
  const counts = await git.run(diff('--numstat', '-z'), { dir, maxOutput: MOST_LIST, cut: true });
  const patch = await git.run(diff('--patch'), { dir, maxOutput: bounds.bytes, cut: true });
  const changes = readRaw(raw.out);
  const numbers = readNumstat(counts.out);
  // After a newline alone: within a line other signs end one too, and a file could tell the patch of the next one itself.
  const sections = patch.out.split(/(?<=\n)(?=diff --git )/).filter((text) => text.startsWith('diff --git '));
  // The last one is cut off somewhere.
  if (patch.truncated) sections.pop();
  let truncated = raw.truncated || counts.truncated || patch.truncated || changes.length > bounds.files;
  let at = 0;
  const files = changes.slice(0, bounds.files).map((change, index): DiffFile => {
    // A file that became a link is told as two patches.
    const own = sections.slice(at, at + change.patches).join('');
    at += change.patches;
    const fits = own.length <= bounds.fileBytes;
    truncated ||= !fits;
    const { path, old, status } = change;
    const counted = numbers[index] ?? { additions: 0, deletions: 0 };
    return { path, status, ...(old === undefined ? {} : { old_path: old }), patch: fits ? own : '', ...counted };
  });
  return { files, stats: sum(numbers), truncated };
}

interface Change {
  readonly path: string;
  readonly old?: string | undefined;
  readonly status: DiffFile['status'];
  readonly patches: number;
}

function readRaw(text: string): readonly Change[] {
  const parts = text.split('\0');
  const changes: Change[] = [];
  for (let at = 0; at + 1 < parts.length; ) {
    const letter = (parts[at] as string).split(' ')[4]?.[0] ?? '';
    const first = parts[at + 1] as string;
    const renamed = letter === 'R' || letter === 'C';
    const path = renamed ? (parts[at + 2] ?? '') : first;
    changes.push({
      path,
      old: renamed ? first : undefined,
      status: STATUSES[letter] ?? 'modified',
      patches: letter === 'T' ? 2 : 1,
    });
    at += renamed ? 3 : 2;
  }
  return changes;
}

function readNumstat(text: string): readonly DiffStats[] {
  const parts = text.split('\0');
  const all: DiffStats[] = [];
  for (let at = 0; at + 1 < parts.length; ) {
    const counts = readCounts(parts[at] as string) ?? { additions: 0, deletions: 0 };
    all.push(counts);
    // Of a rename the names follow as two parts.
    at += (parts[at] as string).endsWith('\t') ? 3 : 1;
  }
  return all;
}

/** Of a binary file git counts nothing. */
function readCounts(line: string): DiffStats | undefined {
  const [, added, deleted] = /^(\d+|-)\t(\d+|-)\t/.exec(line) ?? [];
  return added === undefined ? undefined : { additions: Number(added) || 0, deletions: Number(deleted) || 0 };
}

function sum(all: readonly DiffStats[]): DiffStats {
  return all.reduce(
    (total, one) => ({ additions: total.additions + one.additions, deletions: total.deletions + one.deletions }),
    { additions: 0, deletions: 0 },
  );
}
