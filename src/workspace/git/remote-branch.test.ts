/** The branch of a run at a real server of git over HTTP. */
import assert from 'node:assert/strict';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gitServer } from '../../../test/support/git/git-server.ts';
import { commit, git, scratchRepository, TIMERS, writeFiles } from '../../../test/support/git/scratch.ts';
import type { GitCheckout } from '../../core/workspace/workspace.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { WorkspaceResolver } from '../resolver.ts';
import type { RemoteBranch } from './remote-branch.ts';

const temp = realpathSync(tempFolder('remote-branch'));
const server = await gitServer(join(temp, 'server'));
const BOUNDS = { commits: 10, files: 10, bytes: 10_000, fileBytes: 10_000 };
let number = 0;

interface Scene {
  readonly url: string;
  /** The repository of the server, and somebody's clone of it. */
  readonly bare: string;
  readonly folder: string;
  readonly remote: RemoteBranch;
  /** The commit on the branch of the run. */
  readonly work: string;
  /** Pushes a commit to a branch of the server, as somebody else would. */
  readonly push: (branch: string, files: Readonly<Record<string, string>>) => string;
  readonly log: (branch: string) => readonly string[];
}

/** A run has pushed one commit to the branch `run/a`. */
async function scene(): Promise<Scene> {
  number += 1;
  const folder = scratchRepository(join(temp, `source${number}`));
  const url = server.publish(`shop${number}`, folder);
  const bare = join(server.folder, `shop${number}.git`);
  git(folder, 'remote', 'add', 'origin', bare);
  const resolver = new WorkspaceResolver({
    folder: join(temp, `worker${number}`),
    roots: new Map(),
    protocols: ['http'],
    clock: { wall: () => Date.now() },
    timers: TIMERS,
  });
  const spec: GitCheckout = { source: 'git', repo: url, branch: 'run/a', publish: 'push' };
  const workspace = await resolver.prepare(spec, { task: 't', attempt: 1 });
  writeFiles(workspace.path, { 'work.txt': 'work\n' });
  const work = await workspace.commitAll('Work');
  await workspace.publish();
  await workspace.close('completed');
  assert.ok(work !== undefined);
  const push = (branch: string, files: Readonly<Record<string, string>>): string => {
    const made = commit(folder, files, 'Meanwhile');
    git(folder, 'push', '--quiet', 'origin', `HEAD:refs/heads/${branch}`);
    return made;
  };
  const log = (branch: string): readonly string[] =>
    git(bare, 'log', '--topo-order', '--format=%s', branch).split('\n');
  return { url, bare, folder, remote: resolver.remote(spec), work, push, log };
}

const wish = (strategy: 'merge' | 'squash' | 'none', target = 'main') =>
  ({ strategy, target, base: 'main', message: `${strategy} it` }) as const;

test('a merge makes its target, a squash is one commit, none merges nothing, and again nothing is new', async () => {
  const { remote, bare, log, work } = await scene();
  const main = git(bare, 'rev-parse', 'main');
  assert.deepEqual(await remote.merge(wish('none')), { outcome: 'none' });
  assert.deepEqual(await remote.merge(wish('merge', 'next')), {
    outcome: 'merged',
    target: 'next',
    commit: git(bare, 'rev-parse', 'next'),
  });
  assert.deepEqual(git(bare, 'log', '-1', '--format=%P', 'next').split(' '), [main, work]);
  assert.equal(git(bare, 'rev-parse', 'main'), main, 'the base is as it was');
  const squashed = await remote.merge(wish('squash'));
  assert.deepEqual([squashed.outcome, log('main')], ['merged', ['squash it', 'Begin']]);
  for (const strategy of ['squash', 'merge'] as const) {
    const again = await remote.merge(wish(strategy, strategy === 'merge' ? 'next' : 'main'));
    assert.equal(again.outcome, 'unchanged', strategy);
  }
  assert.deepEqual(log('main'), ['squash it', 'Begin']);
});

test('a target that moves while the merge is on its way is fetched, and merged with again', async (t) => {
  const { remote, push, log } = await scene();
  t.after(() => (server.hold = undefined));
  let moved = 0;
  server.hold = async () => {
    const pushes = server.requests.at(-1)?.endsWith('git-receive-pack') === true;
    if (pushes && moved < 2) push('main', { [`other${++moved}.txt`]: 'x' });
  };
  const { outcome } = await remote.merge(wish('merge'));
  assert.deepEqual([outcome, moved], ['merged', 2]);
  assert.deepEqual(log('main').toSorted(), ['Begin', 'Meanwhile', 'Meanwhile', 'Work', 'merge it'].toSorted());
});

test('a target that never stands still is not tried for ever', async (t) => {
  const { remote, push, log } = await scene();
  t.after(() => (server.hold = undefined));
  let moved = 0;
  server.hold = async () => {
    if (server.requests.at(-1)?.endsWith('git-receive-pack') === true) push('main', { [`other${++moved}.txt`]: 'x' });
  };
  // What a server says of it depends on the moment in which it has found out.
  await assert.rejects(remote.merge(wish('merge')), /another commit on the branch|failed to update ref/);
  assert.deepEqual([moved, log('main').includes('merge it')], [6, false]);
});

test('a conflict names its files, and nothing at the server has changed', async () => {
  const { remote, push, bare, work } = await scene();
  const main = push('main', { 'work.txt': 'of somebody else\n' });
  assert.deepEqual(await remote.merge(wish('merge')), { outcome: 'conflict', target: 'main', files: ['work.txt'] });
  assert.deepEqual([git(bare, 'rev-parse', 'main'), git(bare, 'rev-parse', 'run/a')], [main, work]);
});

test('a server that takes no merge says why, and is asked once', async () => {
  const { remote, bare, work } = await scene();
  git(bare, 'config', 'http.receivepack', 'false');
  const before = server.requests.filter((one) => one.includes('git-receive-pack')).length;
  await assert.rejects(remote.merge(wish('merge')), { code: 'WORKSPACE_FAILED' });
  assert.equal(server.requests.filter((one) => one.includes('git-receive-pack')).length, before + 1);
  assert.equal(git(bare, 'rev-parse', 'run/a'), work);
});

test('a branch knows what it was begun from, also where that is no branch', async () => {
  const { remote, bare, work, folder } = await scene();
  const main = git(bare, 'rev-parse', 'main');
  assert.deepEqual(await remote.start(undefined, work), { base: 'main', target: 'main', commit: main });
  git(folder, 'push', '--quiet', 'origin', 'HEAD:refs/tags/v1', 'HEAD:refs/heads/dev');
  assert.equal(await remote.head(), work);
  assert.deepEqual(await remote.start('v1', work), { base: 'v1', target: 'main', commit: main });
  assert.deepEqual(await remote.start('dev', work), { base: 'dev', target: 'dev', commit: main });
  await assert.rejects(remote.start('none', work), { code: 'WORKSPACE_FAILED' });
});

test('the diff of a branch needs no folder, and a branch is removed only as it was seen', async () => {
  const { remote, work, bare, folder } = await scene();
  const { base_ref: base, files, commits } = await remote.diff(git(bare, 'rev-parse', 'main'), work, BOUNDS);
  assert.equal(base, git(bare, 'rev-parse', 'main'));
  assert.deepEqual([files.map(({ path }) => path), commits.map(({ message }) => message)], [['work.txt'], ['Work']]);
  await assert.rejects(remote.diff('a'.repeat(40), work, BOUNDS), { code: 'WORKSPACE_FAILED' });
  git(folder, 'fetch', '--quiet', 'origin', 'run/a');
  const later = git(folder, 'commit-tree', `${work}^{tree}`, '-p', work, '-m', 'Later');
  git(folder, 'push', '--quiet', 'origin', `${later}:refs/heads/run/a`);
  await assert.rejects(remote.remove(work), { code: 'WORKSPACE_MISMATCH' });
  assert.equal(await remote.head(), later);
  await remote.remove(later);
  assert.equal(await remote.head(), undefined);
});
