/** The worktree of a run, as its context keeps it: what every worker needs to go on in it. */
import { isCommit, readBranch, readRef } from '../../core/workspace/ref.ts';
import { isMap, type Value, type ValueMap } from '../expression/values.ts';
import { MERGE_STRATEGIES, type MergeStrategy } from './git-keys.ts';
import { readPathBelow, readWorkspaceName } from './workspace-name.ts';

export interface RunWorktree {
  /** The folder of the repository, and that of the worktree: a root, and folders below it. */
  readonly repo: string;
  readonly path: string;
  readonly branch: string;
  /** What the branch began with, and the branch into which it is merged. */
  readonly base: string;
  readonly target: string;
  readonly strategy: MergeStrategy;
  /** What the branch began at. */
  readonly base_commit: string;
  /** What the last phase has left: whoever goes on begins with it. */
  readonly commit: string;
}

/** Words of the end of a worktree: it went, it could not go, or it was to stay. */
export type CleanupStatus = 'cleaned' | 'failed' | 'skipped';
const CLEANUPS: readonly CleanupStatus[] = ['cleaned', 'failed', 'skipped'];

/** From a context or an input, which anybody may have written: undefined where it is none. */
export function worktreeIn(value: Value): RunWorktree | undefined {
  if (!isMap(value)) return undefined;
  const text = (name: keyof RunWorktree): string => (typeof value[name] === 'string' ? (value[name] as string) : '');
  const strategy = MERGE_STRATEGIES.find((one) => one === value['strategy']);
  const [repo, path] = [text('repo'), text('path')];
  const branches = [text('branch'), text('target')] as const;
  const base = text('base');
  const commits = [text('base_commit'), text('commit')] as const;
  const isSound =
    strategy !== undefined &&
    typeof readWorkspaceName(repo) !== 'string' &&
    placeOf(path) !== undefined &&
    branches.every((one) => typeof readBranch(one) !== 'string') &&
    typeof readRef(base) !== 'string' &&
    commits.every(isCommit);
  if (!isSound) return undefined;
  const [branch, target] = branches;
  const [base_commit, commit] = commits;
  return { repo, path, branch, base, target, strategy, base_commit, commit };
}

export interface Place {
  readonly root: string;
  readonly below: readonly string[];
}

/** The folder of a worktree; undefined: the text is no such name. */
export function placeOf(path: string): Place | undefined {
  const [root = '', ...below] = path.split('/');
  const isPlace = typeof readWorkspaceName(root) !== 'string' && below.length > 0;
  return isPlace && readPathBelow(below.join('/')) !== undefined ? { root, below } : undefined;
}

export function cleanupIn(
  context: ValueMap,
): { readonly status: CleanupStatus; readonly message?: string } | undefined {
  const { cleanup } = context;
  const status = isMap(cleanup) ? CLEANUPS.find((one) => one === cleanup['status']) : undefined;
  if (status === undefined || !isMap(cleanup)) return undefined;
  return typeof cleanup['message'] === 'string' ? { status, message: cleanup['message'] } : { status };
}

/** The commit that the merge of a run has made; undefined: nothing was merged so far. */
export const mergedIn = ({ merged }: ValueMap): string | undefined =>
  typeof merged === 'string' && isCommit(merged) ? merged : undefined;
