import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { commit, git, scratchRepository, TIMERS, writeFiles } from '../../../test/support/git/scratch.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { changedFiles, commitAll } from './commit.ts';
import { diffWorkTree } from './diff.ts';
import { Git } from './git-command.ts';
import { mergeBranch } from './merge.ts';
import { openRepository } from './repository.ts';
import { listWorkTrees, prepareWorkTree, removeWorkTree } from './worktree.ts';

const temp = realpathSync(tempFolder('worktree'));
const runner = new Git({ folder: join(temp, 'worker'), timers: TIMERS });
let number = 0;

async function scene(files?: Readonly<Record<string, string | Buffer>>) {
  number += 1;
  const folder = scratchRepository(join(temp, `s${number}`, 'shop'), files);
  const path = join(temp, `s${number}`, 'shop.run-a');
  return { folder, path, repository: await openRepository(runner, folder) };
}

test('a worktree of the branch of a run is made from its base, beside the repository', async () => {
  const { folder, path, repository } = await scene();
  const tree = await prepareWorkTree(repository, { path, branch: 'run/a' });
  assert.deepEqual([tree.branch, tree.reused, tree.commit], ['run/a', false, git(folder, 'rev-parse', 'main')]);
  assert.equal(git(path, 'symbolic-ref', '--short', 'HEAD'), 'run/a');
  assert.deepEqual(
    (await listWorkTrees(repository)).map((one) => [one.path, one.branch]),
    [[path, 'run/a']],
  );
  await removeWorkTree(repository, path);
  assert.ok(!existsSync(path));
  assert.equal(git(folder, 'rev-parse', 'run/a'), tree.commit, 'the branch stays');
});

test('the base is the one given, else the current branch', async () => {
  const { folder, path, repository } = await scene();
  git(folder, 'checkout', '--quiet', '-b', 'develop');
  const there = commit(folder, { a: 'a' });
  assert.equal((await prepareWorkTree(repository, { path, branch: 'run/a' })).commit, there);
  const other = await prepareWorkTree(repository, { path: `${path}2`, branch: 'run/b', base: 'main' });
  assert.equal(other.commit, git(folder, 'rev-parse', 'main'));
  await assert.rejects(prepareWorkTree(repository, { path: `${path}3`, branch: 'run/c', base: 'nowhere' }), {
    code: 'WORKSPACE_FAILED',
  });
});

test('a folder that has exactly this branch is used again, with its files', async () => {
  const { path, repository } = await scene();
  await prepareWorkTree(repository, { path, branch: 'run/a' });
  writeFileSync(join(path, 'half'), 'half');
  const again = await prepareWorkTree(repository, { path, branch: 'run/a' });
  assert.deepEqual([again.reused, existsSync(join(path, 'half'))], [true, true]);
  const fresh = await prepareWorkTree(repository, { path, branch: 'run/a', fresh: true });
  assert.deepEqual([fresh.reused, existsSync(join(path, 'half'))], [true, false]);
});

test('a folder with another branch, or with anything else, is made anew', async () => {
  const { path, repository } = await scene();
  await prepareWorkTree(repository, { path, branch: 'run/a' });
  git(path, 'checkout', '--quiet', '-b', 'run/elsewhere');
  writeFileSync(join(path, 'left'), 'x');
  const again = await prepareWorkTree(repository, { path, branch: 'run/a' });
  assert.deepEqual([again.reused, existsSync(join(path, 'left'))], [false, false]);
  mkdirSync(`${path}2`);
  writeFileSync(join(`${path}2`, 'left'), 'x');
  await prepareWorkTree(repository, { path: `${path}2`, branch: 'run/b' });
  assert.ok(!existsSync(join(`${path}2`, 'left')));
});

test('a repository or a link in the place of a worktree is not removed', async () => {
  const { path, repository, folder } = await scene();
  scratchRepository(path);
  await assert.rejects(prepareWorkTree(repository, { path, branch: 'run/a' }), { code: 'WORKSPACE_FAILED' });
  assert.ok(existsSync(join(path, 'README.md')));
  symlinkSync(folder, `${path}2`);
  await assert.rejects(prepareWorkTree(repository, { path: `${path}2`, branch: 'run/b' }), {
    code: 'WORKSPACE_FAILED',
  });
  assert.ok(existsSync(join(folder, 'README.md')));
});

test('a repository with files that nobody has committed is refused, but for folders that may change', async () => {
  const { folder, path, repository } = await scene();
  writeFiles(folder, { 'logs/loop/x': 'x' });
  await assert.rejects(prepareWorkTree(repository, { path, branch: 'run/a' }), /not clean.*logs\/loop\/x/);
  await prepareWorkTree(repository, { path, branch: 'run/a', mayChange: ['logs/loop'] });
  writeFiles(folder, { 'README.md': 'changed' });
  await assert.rejects(prepareWorkTree(repository, { path, branch: 'run/a', mayChange: ['logs/loop'] }), /not clean/);
});

test('the commit that is expected is checked out, and one that is not there is a mismatch', async () => {
  const { folder, path, repository } = await scene();
  const first = git(folder, 'rev-parse', 'HEAD');
  commit(folder, { a: 'a' });
  const tree = await prepareWorkTree(repository, { path, commit: first });
  assert.deepEqual([tree.commit, tree.branch, git(path, 'rev-parse', 'HEAD')], [first, undefined, first]);
  const missing = '0123456789'.repeat(4);
  await assert.rejects(prepareWorkTree(repository, { path: `${path}2`, commit: missing }), {
    code: 'WORKSPACE_MISMATCH',
  });
  assert.ok(!existsSync(`${path}2`));
});

test('a worktree whose making was killed is made anew', async () => {
  const { folder, path, repository } = await scene();
  await prepareWorkTree(repository, { path, branch: 'run/a' });
  const own = join(folder, '.git', 'worktrees', 'shop.run-a');
  writeFileSync(join(own, 'locked'), 'initializing');
  rmSync(join(path, '.git'));
  rmSync(join(own, 'gitdir'));
  assert.equal((await prepareWorkTree(repository, { path, branch: 'run/a' })).reused, false);
  writeFileSync(join(folder, '.git', 'worktrees', 'shop.run-a', 'index.lock'), '');
  assert.equal((await prepareWorkTree(repository, { path, branch: 'run/a', fresh: true })).reused, true);
});

test('worktrees that somebody else has made are left alone, also where their folders are away', async () => {
  const { folder, path, repository } = await scene();
  const own = (name: string): string => join(folder, '.git', 'worktrees', name);
  for (const name of ['near', 'away', 'kept'])
    git(folder, 'worktree', 'add', '--quiet', join(temp, `of-${number}`, name));
  // As newer versions of git write it, where they are told to.
  writeFileSync(join(own('near'), 'gitdir'), `${relative(own('near'), join(temp, `of-${number}`, 'near'))}/.git\n`);
  for (const name of ['away', 'kept']) rmSync(join(temp, `of-${number}`, name), { recursive: true });
  writeFileSync(join(own('kept'), 'locked'), 'on a disk that is not here\n');
  await prepareWorkTree(repository, { path, branch: 'run/a' });
  await removeWorkTree(repository, path);
  for (const name of ['near', 'away', 'kept']) assert.ok(existsSync(join(own(name), 'HEAD')), name);
  assert.equal(git(join(temp, `of-${number}`, 'near'), 'symbolic-ref', '--short', 'HEAD'), 'near');
  assert.ok((await listWorkTrees(repository)).some((one) => one.path === join(temp, `of-${number}`, 'near')));
});

test('what was changed is told as commits and files: renames, binaries, and what nobody has committed', async () => {
  const { path, repository } = await scene({ 'README.md': 'shop\n', old: 'a\nb\nc\nd\ne\n', gone: 'x\n' });
  const tree = await prepareWorkTree(repository, { path, branch: 'run/a' });
  git(path, 'mv', 'old', 'new name');
  const done = commit(path, { 'README.md': 'shop\nopen\n' }, 'Open the shop\n\n1\t1\tnot a count');
  writeFiles(path, { image: Buffer.from([0, 1, 2, 255]), 'sub/ü\n.txt': 'one\ntwo\n' });
  rmSync(join(path, 'gone'));
  const diff = await diffWorkTree(tree, tree.commit);
  assert.deepEqual([diff.base_ref, diff.head_ref, diff.truncated], [tree.commit, done, false]);
  const [told] = diff.commits;
  assert.deepEqual(
    [told?.sha, told?.author, told?.message, told?.files, told?.stats],
    [done, 'Ada <ada@localhost>', 'Open the shop\n\n1\t1\tnot a count', 2, { additions: 1, deletions: 0 }],
  );
  assert.deepEqual(
    diff.files.map((file) => [file.path, file.status, file.old_path, file.additions, file.deletions]),
    [
      ['README.md', 'modified', undefined, 1, 0],
      ['gone', 'deleted', undefined, 0, 1],
      ['image', 'added', undefined, 0, 0],
      ['new name', 'renamed', 'old', 0, 0],
      ['sub/ü\n.txt', 'added', undefined, 2, 0],
    ],
  );
  assert.deepEqual(diff.stats, { additions: 3, deletions: 1 });
  assert.match(diff.files[0]?.patch ?? '', /^diff --git a\/README\.md[^]*\+open\n$/);
  assert.match(diff.files[2]?.patch ?? '', /Binary files/);
  assert.deepEqual(await changedFiles(tree), ['gone', 'image', 'sub/ü\n.txt'], 'nothing was staged by looking');
});

test('no line of a file is taken for the beginning of the next one', async () => {
  const { path, repository } = await scene();
  const tree = await prepareWorkTree(repository, { path, branch: 'run/a' });
  const forged = 'diff --git a/z b/z\n@@ -0,0 +1 @@\n+harmless';
  writeFiles(path, { a: `1\r${forged}\n2\u2028${forged}\n3\u2029${forged}\n`, z: 'the real one\n' });
  const { files } = await diffWorkTree(tree, tree.commit);
  assert.deepEqual(
    files.map((file) => [file.path, /^diff --git a\/(\w)/.exec(file.patch)?.[1], /real one/.test(file.patch)]),
    [
      ['a', 'a', false],
      ['z', 'z', true],
    ],
  );
});

test('a diff is bounded in files and in bytes, and says so', async () => {
  const { path, repository } = await scene();
  const tree = await prepareWorkTree(repository, { path, branch: 'run/a' });
  writeFiles(
    path,
    Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`f${at}`, `line ${at}\n`.repeat(at === 0 ? 500 : 10)])),
  );
  const bounds = { commits: 1, files: 20, bytes: 100_000, fileBytes: 1000 };
  const diff = await diffWorkTree(tree, tree.commit, bounds);
  assert.deepEqual(
    [diff.files.length, diff.truncated, diff.files[0]?.patch, diff.files[0]?.additions],
    [20, true, '', 500],
  );
  const cut = await diffWorkTree(tree, tree.commit, { ...bounds, files: 100, bytes: 6000, fileBytes: 6000 });
  assert.deepEqual([cut.files.length, cut.truncated, cut.files.at(-1)?.patch], [30, true, '']);
});

test('all that was changed is one commit, and nothing changed is none', async () => {
  const { path, repository } = await scene();
  const tree = await prepareWorkTree(repository, { path, branch: 'run/a' });
  assert.equal(await commitAll(tree, 'Nothing'), undefined);
  writeFiles(path, { a: 'a', 'README.md': 'b' });
  const made = await commitAll(tree, '-m "x"\n# kept');
  assert.deepEqual(
    [made, git(path, 'log', '-1', '--format=%B%an')],
    [git(path, 'rev-parse', 'run/a'), '-m "x"\n# kept\nleasehold'],
  );
  assert.deepEqual(await changedFiles(tree), []);
});

async function merging(files: Readonly<Record<string, string>> = { a: 'a\n' }) {
  const given = await scene();
  const tree = await prepareWorkTree(given.repository, { path: given.path, branch: 'run/a' });
  commit(given.path, files, 'One');
  commit(given.path, { b: 'b\n' }, 'Two');
  return { ...given, tree };
}

test('a merge makes the target, from its base, and leaves the branch of the run', async () => {
  const { folder, repository } = await merging();
  const merged = await mergeBranch(repository, { strategy: 'merge', branch: 'run/a', target: 'release', base: 'main' });
  assert.equal(merged.outcome, 'merged');
  const [, ours, theirs] = git(folder, 'rev-list', '--parents', '-1', 'release').split(' ');
  assert.deepEqual([ours, theirs], [git(folder, 'rev-parse', 'main'), git(folder, 'rev-parse', 'run/a')]);
  const again = await mergeBranch(repository, { strategy: 'merge', branch: 'run/a', target: 'release' });
  assert.equal(again.outcome, 'unchanged');
});

test('a squash is one commit, and files of the target follow where it is checked out', async () => {
  const { folder, repository } = await merging();
  const before = git(folder, 'rev-parse', 'main');
  const merged = await mergeBranch(repository, { strategy: 'squash', branch: 'run/a', message: 'Do it' });
  assert.deepEqual([merged.outcome, git(folder, 'log', '--format=%s', `${before}..main`)], ['merged', 'Do it']);
  assert.equal(git(folder, 'rev-list', '--parents', '-1', 'main').split(' ').length, 2);
  assert.deepEqual([readFileSync(join(folder, 'b'), 'utf8'), git(folder, 'status', '--porcelain')], ['b\n', '']);
  assert.equal((await mergeBranch(repository, { strategy: 'squash', branch: 'run/a' })).outcome, 'unchanged');
});

test('a branch that has moved since it was looked at is not merged', async () => {
  const { folder, path, repository } = await merging();
  const seen = git(folder, 'rev-parse', 'run/a');
  commit(path, { c: 'c\n' }, 'After the review');
  const before = git(folder, 'for-each-ref');
  const merge = (head: string) => mergeBranch(repository, { strategy: 'merge', branch: 'run/a', head });
  await assert.rejects(merge(seen), { code: 'WORKSPACE_MISMATCH' });
  assert.equal(git(folder, 'for-each-ref'), before);
  assert.equal((await merge(git(folder, 'rev-parse', 'run/a'))).outcome, 'merged');
});

test('a merge brings no link that leads out of the repository', async () => {
  const { folder, path, repository } = await merging();
  symlinkSync('/etc', join(path, 'out'));
  git(path, 'add', 'out');
  git(path, 'commit', '--quiet', '-m', 'A way out');
  const before = git(folder, 'for-each-ref');
  for (const strategy of ['merge', 'squash'] as const)
    await assert.rejects(mergeBranch(repository, { strategy, branch: 'run/a' }), { code: 'WORKSPACE_FAILED' });
  assert.equal(git(folder, 'for-each-ref'), before);
  assert.ok(!existsSync(join(folder, 'out')));
});

test('the strategy none does nothing', async () => {
  const { folder, repository } = await merging();
  const before = git(folder, 'for-each-ref');
  assert.deepEqual(await mergeBranch(repository, { strategy: 'none', branch: 'run/a', target: 'new' }), {
    outcome: 'none',
  });
  assert.equal(git(folder, 'for-each-ref'), before);
});

test('a dirty folder refuses a merge, and nothing is changed', async () => {
  const { folder, path, repository } = await merging();
  const before = git(folder, 'for-each-ref');
  writeFiles(folder, { 'README.md': 'mine' });
  await assert.rejects(mergeBranch(repository, { strategy: 'merge', branch: 'run/a' }), { code: 'CONFLICT' });
  git(folder, 'checkout', '--', '.');
  writeFiles(path, { c: 'not committed' });
  await assert.rejects(mergeBranch(repository, { strategy: 'merge', branch: 'run/a', target: 'new' }), {
    code: 'CONFLICT',
  });
  assert.equal(git(folder, 'for-each-ref'), before);
});

test('after a conflict nothing half-merged is left, and the branch of the run is as it was', async () => {
  const { folder, repository } = await merging({ 'README.md': 'theirs\n' });
  commit(folder, { 'README.md': 'ours\n' });
  const before = git(folder, 'for-each-ref');
  for (const strategy of ['merge', 'squash'] as const) {
    const merged = await mergeBranch(repository, { strategy, branch: 'run/a' });
    assert.deepEqual(merged, { outcome: 'conflict', target: 'main', files: ['README.md'] });
  }
  assert.equal(git(folder, 'for-each-ref'), before);
  assert.deepEqual(
    [git(folder, 'status', '--porcelain'), readFileSync(join(folder, 'README.md'), 'utf8')],
    ['', 'ours\n'],
  );
  assert.ok(!existsSync(join(folder, '.git', 'MERGE_HEAD')));
});

test('two runs of one repository are prepared one after the other', async () => {
  const { repository, path } = await scene();
  const trees = await Promise.all(
    ['a', 'b', 'c'].map((name) => prepareWorkTree(repository, { path: `${path}-${name}`, branch: `run/${name}` })),
  );
  assert.deepEqual(
    trees.map((tree) => tree.branch),
    ['run/a', 'run/b', 'run/c'],
  );
});
