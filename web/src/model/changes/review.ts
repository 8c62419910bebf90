/** Whether the branch of a run can still be merged or scrapped, from what the node says of the run. */

export interface ReviewState {
  /** Undefined: the run has no branch, and nothing to look at. */
  readonly branch: string | undefined;
  readonly target: string | undefined;
  /** `pending`, `reviewed`, `merged`, `scrapped`. */
  readonly status: string;
  readonly mergeCommit: string | undefined;
  /** Nothing was decided, and nobody works on the branch. */
  readonly canMerge: boolean;
  readonly canScrap: boolean;
}

type Said = Readonly<Record<string, unknown>>;

const ENDED: readonly unknown[] = ['COMPLETED', 'FAILED', 'CANCELED'];

export function reviewIn(run: unknown): ReviewState {
  const said = saidIn(run);
  const worktree = saidIn(said['worktree']);
  const branch = textOf(worktree['run_branch']);
  const status = textOf(said['review_status']) ?? 'pending';
  const mergeCommit = textOf(said['merge_commit']);
  const isOpen = branch !== undefined && mergeCommit === undefined && (status === 'pending' || status === 'reviewed');
  const isEnded = ENDED.includes(said['status']);
  return {
    branch,
    target: textOf(worktree['merge_target_branch']) ?? textOf(worktree['base_branch']),
    status,
    mergeCommit,
    canMerge: isOpen && (isEnded || said['status'] === 'PAUSED'),
    canScrap: isOpen && isEnded,
  };
}

/** What was decided, as a sentence; undefined: nothing yet. */
export function decidedText({ status, target, mergeCommit }: ReviewState): string | undefined {
  if (status === 'scrapped') return 'The changes were scrapped.';
  if (status !== 'merged') return undefined;
  const into = target === undefined ? '' : ` into ${target}`;
  return `The changes were merged${into}${mergeCommit === undefined ? '' : `, as ${mergeCommit.slice(0, 12)}`}.`;
}

function saidIn(value: unknown): Said {
  return typeof value === 'object' && value !== null ? (value as Said) : {};
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
