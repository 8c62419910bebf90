/** Runs of loopd in worktrees: what is asked about their branches is done by the worker that has the repository. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { messagesOf, type NodeScene, nodeScene, type Wire } from '../../../test/support/node-scene.ts';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';

const temp = realpathSync(tempFolder('loopd-worktrees'));
let scenes = 0;
const STORES = { sqlite: async () => ({}), postgres: async () => ({ store: await freshDatabase('loopd_worktrees') }) };

const IDENTITY = ['-c', 'user.name=t', '-c', 'user.email=t@localhost', '-c', 'init.defaultBranch=main'];
const git = (folder: string, ...args: readonly string[]): string =>
  execFileSync('git', [...IDENTITY, ...args], { cwd: folder, encoding: 'utf8' }).trim();

const AGENT = 'cat > /dev/null; echo line >> done.txt; echo "<promise>COMPLETE</promise>"';
const BODY = {
  workspace_root: 'main/shop',
  prompt: 'Write a line.',
  name: 'One line',
  worktree_provider: 'git',
  agent: { type: 'command', config: { command: ['sh', '-c', AGENT], output: 'text' } },
  config_override: 'reviewer=false',
};

async function gitScene(
  t: TestContext,
  kind: keyof typeof STORES,
): Promise<NodeScene & { readonly repo: string; readonly root: string }> {
  const root = join(temp, `${++scenes}`);
  const repo = join(root, 'shop');
  mkdirSync(repo, { recursive: true });
  git(repo, 'init', '--quiet');
  writeFileSync(join(repo, 'readme.md'), 'A shop.\n');
  git(repo, 'add', '.');
  git(repo, 'commit', '--quiet', '-m', 'Begin');
  const scene = await nodeScene(t, await STORES[kind]());
  const { machines } = await import('../../app/library/machines.ts');
  const tasks = [machines({ loopRoots: { main: root }, programs: true })];
  const worker = scene.service.app.worker({ tasks, slots: 4, name: 'box' });
  await worker.start();
  t.after(() => worker.stop({ drain: false }));
  return Object.assign(scene, { repo, root });
}

/** The run when it is over, and what happened in it. */
async function ended(
  scene: NodeScene,
  more: object = {},
): Promise<{ readonly run: Wire; readonly events: readonly Wire[] }> {
  const { status, body } = await scene.ask('/runs', { body: { ...BODY, ...more } });
  assert.equal(status, 201, JSON.stringify(body));
  const response = await fetch(scene.url(`/runs/${body.run.id}/events`), { headers: scene.headers({}) });
  const events = await Array.fromAsync(messagesOf(response));
  return { run: (await scene.ask(`/runs/${body.run.id}`)).body.run, events };
}

for (const kind of ['sqlite', 'postgres'] as const)
  test(`a run in a worktree is looked at, merged once and cleaned: ${kind}`, async (t) => {
    const scene = await gitScene(t, kind);
    const { run, events } = await ended(scene);
    assert.equal(run.status, 'COMPLETED', run.reason);
    assert.deepEqual(run.worktree, {
      base_branch: 'main',
      run_branch: 'run/one-line',
      merge_target_branch: 'main',
      merge_strategy: 'none',
      worktree_path: 'main/shop.run-one-line',
      provider: 'git',
    });
    assert.deepEqual([run.worktree_cleanup_status, run.review_status, run.merge_commit], ['cleaned', 'pending', null]);
    assert.equal(typeof run.worktree_cleaned_at, 'number');
    const types = events.map(({ event }) => event);
    assert.deepEqual(
      types.filter((type) => type.startsWith('WORKTREE')),
      ['WORKTREE_PROVIDER_SELECTED', 'WORKTREE_CREATED', 'WORKTREE_REMOVED'],
    );
    assert.deepEqual([types.at(-2), types.at(-1)], ['WORKTREE_REMOVED', 'RUN_COMPLETED']);

    const { status, body: diff } = await scene.ask(`/runs/${run.id}/diff`);
    assert.equal(status, 200, JSON.stringify(diff));
    assert.deepEqual(
      diff.files.map(({ path, status: how, additions }: Wire) => [path, how, additions]),
      [['done.txt', 'added', 1]],
    );
    assert.deepEqual([diff.commits.length, diff.commits[0].message.split('\n')[0]], [1, 'Implementation 1']);
    assert.equal((await scene.ask(`/runs/${run.id}`)).body.run.review_status, 'reviewed');

    const first = await scene.ask(`/runs/${run.id}/merge`, { method: 'POST' });
    const second = await scene.ask(`/runs/${run.id}/merge`, { method: 'POST' });
    assert.deepEqual([first.status, first.body], [200, second.body]);
    assert.equal(first.body.commit, git(scene.repo, 'rev-parse', 'main'));
    const after = (await scene.ask(`/runs/${run.id}`)).body.run;
    assert.deepEqual([after.review_status, after.merge_commit], ['merged', first.body.commit]);
    assert.equal((await scene.ask(`/runs/${run.id}/scrap`, { method: 'POST' })).status, 400, 'it was merged');
    const refused = await scene.ask(`/runs/${run.id}/create-pr`, { method: 'POST' });
    assert.deepEqual([refused.status, /pull requests/.test(refused.body.error)], [400, true]);
  });

test('where no worker has the root, worktrees are refused at once', async (t) => {
  const scene = await nodeScene(t);
  const { status, body } = await scene.ask('/worktrees?workspace_root=main/shop');
  assert.deepEqual([status, body.code], [424, 'WORKSPACE_FAILED']);
  assert.match(body.error, /no worker that is online has the root "main".*--loop-root main=FOLDER/);
  const { tasks } = await scene.call('listTasks', '/api/v1/tasks');
  assert.deepEqual(tasks, []);
});

test('a merge that is refused says why, and can be asked for again', async (t) => {
  const scene = await gitScene(t, 'sqlite');
  const { run } = await ended(scene);
  writeFileSync(join(scene.repo, 'mine.txt'), 'mine');
  const refused = await scene.ask(`/runs/${run.id}/merge`, { method: 'POST' });
  assert.deepEqual([refused.status, /mine\.txt/.test(refused.body.error)], [400, true], JSON.stringify(refused.body));
  git(scene.repo, 'add', '.');
  git(scene.repo, 'commit', '--quiet', '-m', 'Mine');
  const merged = await scene.ask(`/runs/${run.id}/merge`, { method: 'POST' });
  assert.equal(merged.status, 200, JSON.stringify(merged.body));
  assert.equal(git(scene.repo, 'show', 'main:done.txt'), 'line');
});

test('worktrees that stayed are listed and removed, and what is scrapped is gone with its branch', async (t) => {
  const scene = await gitScene(t, 'sqlite');
  const { run } = await ended(scene, { worktree_cleanup: false });
  assert.equal(run.worktree_cleanup_status, 'skipped');
  const place = join(scene.root, 'shop.run-one-line');
  assert.ok(existsSync(place));
  for (const query of ['', '?workspace_root=main/shop']) {
    const { body } = await scene.ask(`/worktrees${query}`);
    assert.deepEqual(
      body.worktrees.map(({ path, branch, run_id }: Wire) => [path, branch, run_id]),
      [['main/shop.run-one-line', 'run/one-line', run.id]],
      query,
    );
  }
  assert.equal((await scene.ask(`/worktrees?run_id=${run.id}`, { method: 'DELETE' })).status, 204);
  assert.ok(!existsSync(place));
  assert.match(git(scene.repo, 'branch', '--list', 'run/*'), /run\/one-line/);
  assert.equal((await scene.ask(`/runs/${run.id}/scrap`, { method: 'POST' })).status, 204);
  assert.equal(git(scene.repo, 'branch', '--list', 'run/*'), '');
  assert.equal((await scene.ask(`/runs/${run.id}`)).body.run.review_status, 'scrapped');
  assert.equal((await scene.ask(`/runs/${run.id}/merge`, { method: 'POST' })).status, 400);
});

test('a run in a plain folder has no branch to look at, and fields of worktrunk are refused', async (t) => {
  const scene = await gitScene(t, 'sqlite');
  mkdirSync(join(scene.root, 'plain'));
  const { run } = await ended(scene, { workspace_root: 'main/plain', worktree_provider: null });
  assert.deepEqual([run.status, run.worktree.provider], ['COMPLETED', null]);
  for (const what of ['merge', 'scrap', 'diff']) {
    const { status, body } = await scene.ask(`/runs/${run.id}/${what}`, what === 'diff' ? {} : { method: 'POST' });
    assert.deepEqual([status, /no worktree/.test(body.error)], [400, true], what);
  }
  for (const field of [{ worktree_provider: 'worktrunk' }, { worktrunk_bin: '/bin/wt' }, { base_branch: '--force' }]) {
    const { status, body } = await scene.ask('/runs', { body: { ...BODY, ...field } });
    assert.equal(status, 400, JSON.stringify(body));
  }
});
