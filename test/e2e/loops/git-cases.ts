/** Runs in worktrees of a repository: 13 and 15. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { DONE, WAIT } from './loops-scene.ts';
import type { Case } from './run-cases.ts';

const BARE = ['reviewer=no'];
const WORK = `echo "$n" > work.txt; ${DONE}`;

export const GIT_CASES: Readonly<Record<string, Case>> = {
  '13. a merge makes its target, a squash is one commit, none merges nothing': async (scene) => {
    const place = scene.repository([WORK]);
    const before = place.git('rev-parse', 'main');
    const none = await scene.ended(await scene.start(place, BARE, { name: 'none', worktree_provider: 'git' }));
    assert.deepEqual([none.status, none.merge_commit, none.worktree_cleanup_status], ['COMPLETED', null, 'cleaned']);
    assert.deepEqual([place.git('rev-parse', 'main'), place.has('work.txt')], [before, false]);
    assert.equal(place.git('show', 'run/none:work.txt'), '1');

    const wish = { name: 'merged', merge_strategy: 'merge', merge_target_branch: 'next' };
    const merged = await scene.ended(await scene.start(place, BARE, wish));
    assert.equal(merged.status, 'COMPLETED', merged.reason);
    assert.deepEqual(place.log('next').slice(0, 2), ['Merge run/merged into next', 'Implementation 1']);
    assert.equal(merged.merge_commit, place.git('rev-parse', 'next'));
    assert.equal(place.git('rev-parse', 'main'), before, 'the base is as it was');

    const squashed = await scene.ended(await scene.start(place, BARE, { name: 'squashed', merge_strategy: 'squash' }));
    assert.equal(squashed.status, 'COMPLETED', squashed.reason);
    assert.deepEqual(place.log('main'), ['Squash run/squashed into main', 'Begin']);
    assert.deepEqual([place.read('work.txt'), place.git('status', '--porcelain')], ['1\n', '']);
  },

  '13. a dirty tree and a worktree on the wrong branch refuse, and a conflict keeps the branch of the run': async (
    scene,
  ) => {
    const dirty = scene.repository([WORK]);
    dirty.write('mine.txt', 'mine');
    const refused = await scene.ended(await scene.start(dirty, BARE, { name: 'a', merge_strategy: 'merge' }));
    assert.deepEqual([refused.status, /mine\.txt/.test(refused.reason)], ['FAILED', true], refused.reason);
    assert.equal(dirty.git('branch', '--list', 'run/*'), '', 'nothing was begun');

    const wrong = scene.repository([WORK]);
    wrong.git('worktree', 'add', '--quiet', '-b', 'other', wrong.worktree('b').folder);
    const mismatch = await scene.ended(await scene.start(wrong, BARE, { name: 'b', worktree_provider: 'git' }));
    assert.deepEqual([mismatch.status, /run\/b.*other/.test(mismatch.reason)], ['FAILED', true], mismatch.reason);

    const torn = scene.repository([`${WAIT}; ${WORK}`]);
    const id = await scene.start(torn, BARE, { name: 'c', merge_strategy: 'merge' });
    const tree = torn.worktree('c');
    await scene.until(() => tree.has('up'), 'the agent works');
    torn.write('work.txt', 'of somebody else');
    torn.commit('Meanwhile');
    tree.write('go');
    const conflict = await scene.ended(id);
    assert.match(conflict.reason, /^merge_failed: .*work\.txt/);
    assert.deepEqual([torn.log('main')[0], torn.log('run/c')[0]], ['Meanwhile', 'Implementation 1']);
    assert.equal(torn.git('status', '--porcelain'), '');
  },

  '15. a worker dies in a phase: the lease runs out, and another attempt goes on in the same worktree': async (
    scene,
  ) => {
    const place = scene.repository([`echo half > half.txt; ${WAIT}`, WORK]);
    const id = await scene.start(place, [...BARE, 'verify_cmds=test -e half.txt'], {
      name: 'again',
      merge_strategy: 'squash',
    });
    const tree = place.worktree('again');
    await scene.until(() => tree.has('up'), 'the agent works');
    await scene.killWorker();
    const run = await scene.ended(id);
    assert.equal(run.status, 'COMPLETED', run.reason);
    assert.deepEqual(place.log('main'), ['Squash run/again into main', 'Begin']);
    assert.deepEqual([place.read('work.txt'), place.read('half.txt')], ['2\n', 'half\n']);
    assert.ok(!existsSync(tree.folder));
    const { body } = await scene.get(`/runs/${id}/diff`);
    assert.ok(
      body.files.some(({ path }: { readonly path: string }) => path === 'work.txt'),
      JSON.stringify(body),
    );
  },

  '15. what a worker says of a step after its lease is refused, and the next one is given it': async (scene) => {
    const tag = `loop-root=far${scene.count()}`;
    const [, root] = tag.split('=');
    const call = await scene.loopdWorker(`far-${root}`, tag);
    const id = await scene.start({ name: `${root}/shop` }, BARE, { name: 'far', worktree_provider: 'git' });
    const claimed = async () => (await call('claim', { max: 1, wait_ms: 10_000 })).body?.[0];
    const first = await claimed();
    assert.deepEqual([first.run_id, first.phase, first.attempt], [id, 'implementation', 1]);
    assert.equal(first.artifact_store, 'global');
    assert.deepEqual(first.workspace, { source: 'shared_fs', repo_url: null, repo_ref: null, expected_commit: null });
    let second = await claimed();
    await scene.until(async () => (second ??= await claimed()) !== undefined, 'the lease has run out');
    assert.deepEqual([second.run_id, second.attempt > first.attempt], [id, true]);
    const end = (token: string) =>
      call(`/steps/${first.step_id}/complete`, { lease_token: token, status: 'failed', error: 'no' });
    assert.equal((await end(first.lease_token)).status, 409);
    assert.equal((await end(second.lease_token)).status, 200);
  },

  '15. a claim says where the repository lives, of a run that has no root': async (scene) => {
    const call = await scene.loopdWorker(`clone-${scene.count()}`, 'workspace=git');
    const url = 'https://git.example.com/shop.git';
    const wish = {
      workspace_root: undefined,
      workspace_source: 'git',
      repo_url: url,
      repo_ref: 'dev',
      name: 'far away',
    };
    const id = await scene.start({ name: '' }, BARE, wish);
    const run = await scene.run(id);
    assert.deepEqual(
      [run.workspace_source, run.repo_url, run.repo_ref, run.workspace_root],
      ['git', url, 'dev', url],
      JSON.stringify(run),
    );
    assert.deepEqual(
      (await scene.get(`/runs?workspace_root=${encodeURIComponent(url)}`)).body.runs.map(
        (one: { id: string }) => one.id,
      ),
      [id],
    );
    const [claimed] = (await call('claim', { max: 1, wait_ms: 10_000 })).body;
    const workspace = { source: 'git', repo_url: url, repo_ref: null, expected_commit: null };
    assert.deepEqual([claimed.run_id, claimed.workspace], [id, workspace]);
    const said = { lease_token: claimed.lease_token, status: 'failed', error: 'no' };
    assert.equal((await call(`/steps/${claimed.step_id}/complete`, said)).status, 200);
    assert.equal(await scene.act(id, 'cancel'), 204);
  },
};
