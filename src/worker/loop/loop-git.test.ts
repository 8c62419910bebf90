/** What a task about a worktree may do, whoever has pushed it. */
import assert from 'node:assert/strict';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { git, scratchRepository } from '../../../test/support/git/scratch.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { reviewWork } from './loop-git.ts';

test('a branch that somebody works on is not scrapped, nor the one that others go into', async () => {
  const root = realpathSync(tempFolder('loop-git'));
  const folder = scratchRepository(join(root, 'shop'));
  const commit = git(folder, 'rev-parse', 'HEAD');
  for (const branch of ['next', 'run/done']) git(folder, 'branch', branch);
  git(folder, 'worktree', 'add', '--quiet', '-b', 'mine', join(root, 'mine'));
  const host = { roots: new Map([['main', root]]) };
  const scrap = (branch: string): Promise<unknown> => {
    const worktree = { repo: 'main/shop', path: 'main/none', branch, base: 'next', target: 'next', strategy: 'none' };
    const input = { act: 'scrap', worktree: { ...worktree, base_commit: commit, commit } };
    return reviewWork(host, input, new AbortController().signal);
  };
  for (const branch of ['main', 'mine', 'next']) {
    await assert.rejects(scrap(branch), { code: 'CONFLICT' }, branch);
    assert.equal(git(folder, 'rev-parse', branch), commit);
  }
  assert.deepEqual(await scrap('run/done'), { branch: 'run/done', commit });
  assert.equal(git(folder, 'branch', '--list', 'run/done'), '');
});
