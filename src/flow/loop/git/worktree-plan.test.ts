import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfig } from '../config.ts';
import { demandOf } from '../demand.ts';
import { type LoopInput, readLoopInput } from '../loop-input.ts';
import { gitWish } from './git-keys.ts';
import { gitTaskIn } from './git-task.ts';
import { planProblems, planWorktree } from './worktree-plan.ts';
import { isClone, placeOf, placeShown, worktreeIn } from './worktree-state.ts';

const configOf = (text: string) => readConfig(text).config;
const GIVEN = { workspace: 'main/shop', agent: 'coder', prompt: 'Build a shop.' };
const COMMIT = 'a'.repeat(40);
const TREE = {
  repo: 'main/shop',
  path: 'main/shop.run-x',
  branch: 'run/x',
  base: 'main',
  target: 'main',
  strategy: 'merge',
  base_commit: COMMIT,
  commit: COMMIT,
};

test('the worktree of a run lies beside its repository, on a branch that is named like the run', () => {
  assert.deepEqual(planWorktree('main/team/shop', 'Count it!', configOf('')), {
    path: 'main/team/shop.run-count-it',
    branch: 'run/count-it',
  });
  const config = configOf('run_branch_prefix=loops/\nworktree_path_template=.worktrees/{{ run_branch | sanitize }}');
  assert.deepEqual(planWorktree('main', 'x', config), { path: 'main/.worktrees/loops-x', branch: 'loops/x' });
});

test('no template leads out of the root, or into what git keeps', () => {
  for (const template of ['../../x', '/etc/x', '../', '.git/x', '../{{ repo }}', 'a/../../b', '{{ home }}/x', 'x/-f'])
    assert.equal(
      typeof planWorktree('main/shop', 'x', configOf(`worktree_path_template=${template}`)),
      'string',
      template,
    );
  assert.match(JSON.stringify(planWorktree('main', 'x', configOf(''))), /the root .*main.* itself/);
});

test('a run works in a worktree when it says something of git, and in the plain folder otherwise', () => {
  for (const said of ['', 'merge_strategy=none', 'worktree_cleanup=no'])
    assert.equal(gitWish(configOf(said)), 'none', said);
  assert.equal(gitWish(configOf('worktree_provider=auto')), 'auto');
  for (const said of [
    'worktree_provider=git',
    'merge_strategy=squash',
    'base_branch=main',
    'merge_target_branch=next',
    'run_branch_prefix=x/',
    'worktree_provider=auto\nbase_branch=main',
  ])
    assert.equal(gitWish(configOf(said)), 'git', said);
});

test('what stands beside the config goes before it, and what is wrong is told before anything runs', () => {
  const { input } = readLoopInput({
    ...GIVEN,
    merge_strategy: 'squash',
    config: 'merge_strategy=merge\nbase_branch=dev',
  });
  assert.deepEqual([input?.config.merge_strategy, input?.config.base_branch], ['squash', 'dev']);
  for (const [wrong, how] of [
    [{ worktree_provider: 'worktrunk' }, /worktrunk is not used/],
    [{ worktrunk_bin: '/bin/wt' }, /worktrunk is not used/],
    [{ base_branch: '--force' }, /base_branch/],
    [{ run_branch_prefix: '../' }, /run_branch_prefix/],
    [{ workspace_source: 'git' }, /repo_url/],
    [{ workspace_source: 'git', repo_url: 'main/shop' }, /name it as the workspace/],
    [{ workspace_source: 'git', repo_url: 'ext::sh' }, /repo_url/],
    [{ workspace_source: 'git', repo_url: 'https://host/x', credential: 'No name!' }, /credential/],
    [{ workspace_source: 'git', repo_url: 'https://host/x', worktree_path_template: '../x' }, /worktree_path_template/],
    [{ workspace_source: 'git', repo_url: 'https://host/x', workspace: '../x' }, /workspace/],
    [{ repo_url: 'https://user:word@host/x' }, /password/],
    [{ repo_ref: 'main' }, /workspace_source "git"/],
    [{ workspace: 'main', merge_strategy: 'merge' }, /worktree_path_template/],
  ] as const) {
    const { input: none, problems } = readLoopInput({ ...GIVEN, ...wrong });
    assert.equal(none, undefined);
    assert.match(problems.join('\n'), how, JSON.stringify(wrong));
    assert.doesNotMatch(problems.join('\n'), /user:word/);
  }
  assert.deepEqual(planProblems('main/shop', configOf('')), []);
});

test('of a worktree in a context or a task only what is sound is believed', () => {
  assert.deepEqual(worktreeIn(TREE), TREE);
  for (const wrong of [
    { repo: '/etc' },
    { path: 'main/../x' },
    { path: 'main' },
    { branch: '--force' },
    { base: '' },
    { strategy: 'rebase' },
    { commit: 'HEAD' },
  ])
    assert.equal(worktreeIn({ ...TREE, ...wrong }), undefined, JSON.stringify(wrong));
  assert.deepEqual(placeOf('main/.worktrees/x'), { root: 'main', below: ['.worktrees', 'x'] });
  assert.deepEqual(gitTaskIn({ act: 'diff', worktree: TREE }), { act: 'diff', worktree: TREE });
  assert.deepEqual(gitTaskIn({ act: 'list', workspace: 'main' }), { act: 'list', workspace: 'main' });
  for (const wrong of [null, {}, { act: 'list' }, { act: 'push', worktree: TREE }, { act: 'merge', worktree: {} }])
    assert.equal(gitTaskIn(wrong), undefined, JSON.stringify(wrong));
});

const CLONED = { workspace_source: 'git', repo_url: 'https://Host/shop.git/', agent: 'coder', prompt: 'Build a shop.' };

function clone(more: object = {}): LoopInput {
  const { input, problems } = readLoopInput({ ...CLONED, ...more });
  assert.ok(input !== undefined, problems.join());
  return input;
}

test('a run whose repository lives elsewhere needs no workspace, and is known by the address, or by a name that it is given', () => {
  assert.equal(clone().workspace, 'https://host/shop.git');
  assert.equal(clone({ workspace_root: 'main/shop' }).workspace, 'main/shop');
  assert.equal(gitWish(clone().config), 'git');
});

test('such a run asks for workers that make clones and hold its credential, and gets in the way of nothing but its own branch', () => {
  const runs = { name: 'loop.runs' };
  assert.deepEqual(demandOf(clone()), {
    placement: { requires: ['workspace=git'], affinity: 'loop:https://host/shop.git' },
    limits: [runs],
  });
  const branch = 'https://host/shop.git#loops/count-it';
  assert.deepEqual(demandOf(clone({ name: 'Count it', run_branch_prefix: 'loops/', credential: 'forge' })), {
    placement: { requires: ['workspace=git'], credentials: ['forge'], affinity: `loop:${branch}` },
    limits: [runs, { name: 'loop.workspace', key: branch }],
  });
  const { placement, limits } = demandOf(
    clone({ name: 'x', repo_url: `https://host/${'a'.repeat(200)}/${'b'.repeat(200)}` }),
  );
  assert.deepEqual([placement.affinity?.length, limits[1]?.key?.length], [255, 255]);
});

test('of a clone in a context or a task only an address without a secret and the name of a credential are believed', () => {
  const { repo: _, path: __, ...branch } = TREE;
  const found = { url: 'https://host/shop.git', ...branch };
  const read = worktreeIn(found);
  assert.deepEqual(read, found);
  assert.ok(read !== undefined && isClone(read) && placeShown(read) === found.url);
  const more = { ...found, credential: 'forge', keep: true };
  assert.deepEqual(worktreeIn(more), more);
  assert.deepEqual(worktreeIn({ ...found, credential: null, keep: 'yes' }), found);
  for (const wrong of [
    { url: 'https://user:word@host/x' },
    { url: 'main/shop' },
    { url: 'ext::sh -c x' },
    { url: 'https://HOST/shop.git' },
    { url: 7 },
    { credential: '--x' },
    { credential: 7 },
    { branch: '--force' },
    { commit: 'HEAD' },
  ])
    assert.equal(worktreeIn({ ...found, ...wrong }), undefined, JSON.stringify(wrong));
  assert.deepEqual(gitTaskIn({ act: 'merge', worktree: found }), { act: 'merge', worktree: found });
});
