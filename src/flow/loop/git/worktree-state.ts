/** The worktree of a run, as its context keeps it: what every worker needs to go on in it. */

import { isCommit, readBranch, readRef } from '../../../core/workspace/ref.ts';
import { REPO_PROTOCOLS, readRepoAddress } from '../../../core/workspace/repo-address.ts';
import { isMap, type Value, type ValueMap } from '../../expression/values.ts';
import { readPathBelow, readWorkspaceName } from '../workspace-name.ts';
import { isCredentialName, MERGE_STRATEGIES, type MergeStrategy } from './git-keys.ts';

interface BranchOfRun {
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

/** In a repository below a root: only workers with the root go on there. */
export interface RootedWorktree extends BranchOfRun {
  /** The folder of the repository, and that of the worktree: a root, and folders below it. */
  readonly repo: string;
  readonly path: string;
}

/** Of a repository that lives elsewhere: every worker that speaks with its server makes the folder anew. */
export interface ClonedWorktree extends BranchOfRun {
  readonly url: string;
  /** The name of the credential that it is read and written with. */
  readonly credential?: string;
  /** Its folder stays on the worker when an attempt is over. */
  readonly keep?: true;
}

export type RunWorktree = RootedWorktree | ClonedWorktree;

export const isClone = (tree: RunWorktree): tree is ClonedWorktree => 'url' in tree;

/** Where it lies, for people. */
export const placeShown = (tree: RunWorktree): string => (isClone(tree) ? tree.url : tree.path);

/** Words of the end of a worktree: it went, it could not go, or it was to stay. */
type CleanupStatus = 'cleaned' | 'failed' | 'skipped';
const CLEANUPS: readonly CleanupStatus[] = ['cleaned', 'failed', 'skipped'];

/** From a context or an input, which anybody may have written: undefined where it is none. */
export function worktreeIn(value: Value): RunWorktree | undefined {
  if (!isMap(value)) return undefined;
  const own = branchIn(value);
  if (own === undefined) return undefined;
  const { url, credential = null, repo, path } = value;
  if (url !== undefined) {
    const address = typeof url === 'string' ? readRepoAddress(url, REPO_PROTOCOLS) : '';
    if (typeof address === 'string' || address.kind !== 'remote' || address.url !== url) return undefined;
    const clone = { url, ...(value['keep'] === true ? { keep: true as const } : {}), ...own };
    if (credential === null) return clone;
    return isCredentialName(credential) ? { ...clone, credential } : undefined;
  }
  if (typeof repo !== 'string' || typeof path !== 'string') return undefined;
  if (typeof readWorkspaceName(repo) === 'string' || placeOf(path) === undefined) return undefined;
  return { repo, path, ...own };
}

function branchIn(value: ValueMap): BranchOfRun | undefined {
  const text = (name: keyof BranchOfRun): string => (typeof value[name] === 'string' ? (value[name] as string) : '');
  const strategy = MERGE_STRATEGIES.find((one) => one === value['strategy']);
  const [branch, target, base] = [text('branch'), text('target'), text('base')];
  const [base_commit, commit] = [text('base_commit'), text('commit')];
  const isSound =
    strategy !== undefined &&
    [branch, target].every((one) => typeof readBranch(one) !== 'string') &&
    typeof readRef(base) !== 'string' &&
    [base_commit, commit].every(isCommit);
  return isSound ? { branch, base, target, strategy, base_commit, commit } : undefined;
}

interface Place {
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
