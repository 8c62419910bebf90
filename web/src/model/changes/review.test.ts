import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decidedText, reviewIn } from './review.ts';

const worktree = { run_branch: 'run/hive', base_branch: 'main', merge_target_branch: null };

test('a run without a branch has nothing to look at, and nothing to decide', () => {
  for (const run of [
    undefined,
    null,
    'x',
    {},
    { worktree: null },
    { worktree: { run_branch: null }, status: 'FAILED' },
  ]) {
    const { branch, canMerge, canScrap } = reviewIn(run);
    assert.deepEqual([branch, canMerge, canScrap], [undefined, false, false]);
  }
});

test('a branch may be merged and scrapped once the run has ended, and a paused one merged, until somebody has decided', () => {
  const may = (status: string, review_status: string, merge_commit: string | null = null): string => {
    const { canMerge, canScrap } = reviewIn({ worktree, status, review_status, merge_commit });
    return `${canMerge ? 'merge' : '-'} ${canScrap ? 'scrap' : '-'}`;
  };
  for (const status of ['COMPLETED', 'FAILED', 'CANCELED']) {
    for (const open of ['pending', 'reviewed']) assert.equal(may(status, open), 'merge scrap');
    for (const decided of ['merged', 'scrapped', 'pr_created']) assert.equal(may(status, decided), '- -');
    assert.equal(may(status, 'pending', 'abc'), '- -');
  }
  assert.equal(may('PAUSED', 'pending'), 'merge -');
  for (const status of ['PENDING', 'RUNNING', 'OF_LATER']) assert.equal(may(status, 'pending'), '- -');
});

test('what was decided is a sentence', () => {
  const decided = (review_status: string, more: object = {}): string | undefined =>
    decidedText(reviewIn({ worktree, status: 'COMPLETED', review_status, ...more }));
  assert.equal(decided('pending'), undefined);
  assert.equal(decided('merged'), 'The changes were merged into main.');
  const commit = {
    merge_commit: '0123456789abcdef',
    worktree: { run_branch: 'run/hive', merge_target_branch: 'next' },
  };
  assert.equal(decided('merged', commit), 'The changes were merged into next, as 0123456789ab.');
  assert.equal(decidedText({ ...reviewIn({}), status: 'merged' }), 'The changes were merged.');
  assert.equal(decided('scrapped'), 'The changes were scrapped.');
});
