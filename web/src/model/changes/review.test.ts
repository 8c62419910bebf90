import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decidedText, reviewIn } from './review.ts';

const worktree = { run_branch: 'run/hive', base_branch: 'main', merge_target_branch: null };

test('a run without a branch has nothing to look at', () => {
  for (const run of [
    undefined,
    null,
    'x',
    {},
    { worktree: null },
    { worktree: { run_branch: null }, status: 'FAILED' },
  ]) {
    const { branch, isOpen } = reviewIn(run);
    assert.deepEqual([branch, isOpen], [undefined, false]);
  }
});

test('a decision is open once the run has ended, until somebody has decided', () => {
  const isOpen = (status: string, review_status: string): boolean =>
    reviewIn({ worktree, status, review_status }).isOpen;
  for (const status of ['COMPLETED', 'FAILED', 'CANCELED']) {
    assert.equal(isOpen(status, 'pending'), true);
    assert.equal(isOpen(status, 'reviewed'), true);
    for (const decided of ['merged', 'scrapped', 'pr_created']) assert.equal(isOpen(status, decided), false);
  }
  for (const status of ['PENDING', 'RUNNING', 'PAUSED']) assert.equal(isOpen(status, 'pending'), false);
});

test('what was decided is a sentence', () => {
  const decided = (review_status: string, more: object = {}): string | undefined =>
    decidedText(reviewIn({ worktree, status: 'COMPLETED', review_status, ...more }));
  assert.equal(decided('pending'), undefined);
  assert.equal(decided('merged'), 'It was merged into main.');
  assert.equal(decided('merged', { merge_commit: '0123456789abcdef' }), 'It was merged into main, as 0123456789ab.');
  assert.equal(decided('scrapped'), 'It was scrapped.');
  assert.equal(decided('pr_created'), 'A pull request was made of it.');
});
