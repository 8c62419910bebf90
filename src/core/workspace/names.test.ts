import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCommit, readBranch, readRef } from './ref.ts';
import { runBranch, sanitized, slug, WORKTREE_TEMPLATE, worktreePath } from './run-branch.ts';
import { affinityOf, sourceTag, tagsFor } from './worker-tag.ts';
import { isRootName } from './workspace-name.ts';

test('refs are those of git, and none that could be read as something else', () => {
  for (const ref of ['main', 'run/a-b', 'v1.2.3', 'ü', 'a@b', '@a', 'a'.repeat(200), 'f'.repeat(40)])
    assert.deepEqual(readRef(ref), { ref });
  const bad = [
    '',
    '-a',
    'a..b',
    'a@{0}',
    '@',
    'a b',
    'a~',
    'a^',
    'a:',
    'a?',
    'a*',
    'a[',
    'a\\',
    'a\x7f',
    'a\n',
    'a.lock',
    'a.LOCK/b',
    'a/',
    'a.',
    '/a',
    'a//b',
    '.a',
    'a/.b',
    'a/-b',
    '\ud800',
    'a'.repeat(201),
  ];
  for (const ref of bad) assert.equal(typeof readRef(ref), 'string', JSON.stringify(ref));
  assert.deepEqual(readBranch('run/a'), { branch: 'run/a' });
  for (const ref of [...bad, 'HEAD', 'FETCH_HEAD', 'refs/heads/a', 'a'.repeat(40)])
    assert.equal(typeof readBranch(ref), 'string', ref);
  assert.deepEqual(['a'.repeat(40), 'a'.repeat(64), 'a'.repeat(41), 'A'.repeat(40)].map(isCommit), [
    true,
    true,
    false,
    false,
  ]);
});

test('the branch of a run follows from its name', () => {
  assert.deepEqual(['Fix: the Ünïcode & more!', '--', 'a'.repeat(100)].map(slug), [
    'fix-the-unicode-more',
    'run',
    'a'.repeat(80),
  ]);
  assert.deepEqual([runBranch('Fix it'), runBranch('x', 'loop/')], [{ branch: 'run/fix-it' }, { branch: 'loop/x' }]);
  assert.equal(typeof runBranch('x', '-'), 'string');
  assert.deepEqual([sanitized('run/a'), sanitized('../..'), sanitized('..')], ['run-a', 'branch', 'branch']);
});

test('a worktree lies beside its repository or below it, wherever its template wants it', () => {
  const values = { repo: 'shop', runBranch: 'run/a' };
  assert.deepEqual(worktreePath(WORKTREE_TEMPLATE, values), { path: '../shop.run-a' });
  assert.deepEqual(worktreePath('trees/{{repo|sanitize}}/{{ run_branch }}', values), { path: 'trees/shop/run/a' });
  for (const template of [
    '',
    '..',
    '../',
    '../..',
    '../../{{ repo }}',
    '/tmp/{{ repo }}',
    '{{ home }}/x',
    'a/../../b',
    '.git',
    'a/.GIT/b',
    '../{{ repo }}',
    '-x',
    'a\0',
    'a/b/c/d/e/f/g/h/i/j/k',
    'x'.repeat(501),
  ])
    assert.equal(typeof worktreePath(template, values), 'string', template);
});

test('a task finds the workers that can give it its workspace, and the one that has it warm', () => {
  assert.deepEqual(tagsFor({ source: 'shared_fs', path: 'main/shop' }), ['loop-root=main']);
  assert.deepEqual(tagsFor({ source: 'empty' }), [sourceTag('empty')]);
  assert.deepEqual(tagsFor({ source: 'git', repo: 'https://host/x' }), ['workspace=git']);
  assert.deepEqual(tagsFor({ source: 'git', repo: 'main/shop' }), ['workspace=git', 'loop-root=main']);
  assert.equal(affinityOf({ source: 'empty' }), undefined);
  assert.equal(affinityOf({ source: 'git', repo: '-x' }), undefined);
  assert.equal(affinityOf({ source: 'git', repo: 'https://HOST/x' }), 'https://host/x');
  assert.equal(affinityOf({ source: 'git', repo: 'main/shop', branch: 'run/a' }), 'main/shop#run/a');
});

test('a root has a plain name', () => {
  assert.deepEqual(['main', 'a-b_1', '', 'A', 'a/b'].map(isRootName), [true, true, false, false, false]);
});
