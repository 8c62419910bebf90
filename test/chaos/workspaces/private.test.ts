/** Loops of a private repository: whoever has its credential works there, and a reviewer needs no folder. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TwoMachines } from './two-machines.ts';

const PASSWORD = 'the-password-of-a-forge';
const AGENT = 'cat > /dev/null; echo "$1" >> lines.txt; echo "I wrote $1"; echo "<promise>COMPLETE</promise>"\n';

test('a loop of a private repository is done by the worker that holds its credential, looked at, merged and scrapped', {
  timeout: 120_000,
}, async (t) => {
  const scene = await TwoMachines.open(t, { 'agent.sh': AGENT }, PASSWORD);
  const told = [await scene.machine('stranger'), await scene.machine('trusted')];
  await scene.entrust('forge', PASSWORD, ['trusted']);
  const ended = async (name: string, more: object = {}) => {
    const { run } = await scene.ask('POST', '/runs', {
      name,
      prompt: 'Write a line.',
      workspace_source: 'git',
      repo_url: scene.url,
      credential: 'forge',
      agent: { type: 'command', config: { command: ['sh', 'agent.sh', name], output: 'text' } },
      config_override: 'reviewer=no',
      ...more,
    });
    const look = async () => (await scene.ask('GET', `/runs/${run.id}`)).run;
    await scene.so(`${name} has ended`, async () => ['COMPLETED', 'FAILED'].includes((await look()).status));
    return look();
  };
  const first = await ended('one');
  assert.equal(first.status, 'COMPLETED', first.reason);
  assert.deepEqual(
    [first.repo_url, first.worktree.run_branch, first.worktree.worktree_path],
    [scene.url, 'run/one', null],
  );
  assert.deepEqual(scene.log('run/one'), ['Implementation 1', 'Begin']);
  assert.deepEqual([first.merge_commit, scene.log('main')], [null, ['Begin']]);
  const diff = await scene.ask('GET', `/runs/${first.id}/diff`);
  assert.deepEqual([diff.files.length, diff.files[0].path], [1, 'lines.txt']);
  const { commit } = await scene.ask('POST', `/runs/${first.id}/merge`);
  assert.equal((await scene.ask('POST', `/runs/${first.id}/merge`)).commit, commit);
  assert.deepEqual(scene.log('main').slice(0, 2), ['Merge run/one into main', 'Implementation 1']);
  const kept = await scene.refused('DELETE', `/worktrees?run_id=${first.id}`);
  assert.deepEqual([kept.status, /leasehold workspaces/.test(kept.error)], [400, true], kept.error);
  assert.equal((await scene.refused('POST', `/runs/${first.id}/scrap`)).status, 400, 'it was merged');

  const second = await ended('two', { repo_ref: 'run/one', merge_target_branch: 'main' });
  assert.equal(second.status, 'COMPLETED', second.reason);
  assert.deepEqual(scene.log('run/two'), ['Implementation 1', 'Implementation 1', 'Begin']);
  await scene.ask('POST', `/runs/${second.id}/scrap`);
  assert.deepEqual(scene.branches(), ['main', 'run/one']);

  await scene.so('no folder stays', () => scene.left('trusted').length === 0);
  assert.deepEqual(scene.left('stranger'), []);

  const refused = await ended('three', { merge_strategy: 'merge', repo_ref: 'nowhere' });
  assert.deepEqual([refused.status, /nowhere/.test(refused.reason)], ['FAILED', true], refused.reason);
  const { tasks } = await scene.ask('GET', '/api/v1/tasks?limit=50');
  assert.ok(!JSON.stringify([tasks, first, second, refused, scene.git.requests]).includes(PASSWORD));
  for (const worker of told) assert.ok(!(worker.stdout + worker.stderr).includes(PASSWORD));
});
