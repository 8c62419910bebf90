/** Whether the branch of a run can still be merged or scrapped, from what the node says of the run. */

export interface ReviewState {
  /** Undefined: the run has no branch, and nothing to look at. */
  readonly branch: string | undefined;
  readonly target: string | undefined;
  readonly status: string;
  readonly mergeCommit: string | undefined;
  /** A decision is open: nothing was decided, and the run has ended. */
  readonly isOpen: boolean;
}

type Said = Readonly<Record<string, unknown>>;

export function reviewIn(run: unknown): ReviewState {
  const said = (typeof run === 'object' && run !== null ? run : {}) as Said;
  const place = said['worktree'];
  const worktree = (typeof place === 'object' && place !== null ? place : {}) as Said;
  const branch = textOf(worktree['run_branch']);
  const status = textOf(said['review_status']) ?? 'pending';
  return {
    branch,
    target: textOf(worktree['merge_target_branch']) ?? textOf(worktree['base_branch']),
    status,
    mergeCommit: textOf(said['merge_commit']),
    isOpen:
      branch !== undefined &&
      (status === 'pending' || status === 'reviewed') &&
      ['COMPLETED', 'FAILED', 'CANCELED'].includes(String(said['status'])),
  };
}

/** What was decided, as a sentence; undefined: nothing yet. */
export function decidedText({ status, target, mergeCommit }: ReviewState): string | undefined {
  switch (status) {
    case 'merged':
      return `It was merged${target === undefined ? '' : ` into ${target}`}${mergeCommit === undefined ? '' : `, as ${mergeCommit.slice(0, 12)}`}.`;
    case 'scrapped':
      return 'It was scrapped.';
    case 'pr_created':
      return 'A pull request was made of it.';
    default:
      return undefined;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
