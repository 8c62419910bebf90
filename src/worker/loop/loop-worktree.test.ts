/** The machine `loop` in worktrees of a real repository, in virtual time: its agents are functions. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DurableScene } from '../../../test/support/runs/durable-scene.ts';
import { COMPLETION_TOKEN as TOKEN } from '../../flow/loop/completion.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import type { AgentFunction } from '../agents/registry.ts';
import { readMachineFile } from '../machine/load-machine.ts';

const LOOP = await readMachineFile(join(import.meta.dirname, '../../../machines/loop.yml'));
const temp = tempFolder('loop-worktree');
let scenes = 0;

const IDENTITY = ['-c', 'user.name=t', '-c', 'user.email=t@localhost', '-c', 'init.defaultBranch=main'];
const git = (folder: string, ...args: readonly string[]): string =>
  execFileSync('git', [...IDENTITY, ...args], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();

interface Scene extends DurableScene {
  readonly root: string;
  readonly repo: string;
}

async function sceneWith(t: TestContext, coder: AgentFunction): Promise<Scene> {
  const root = join(temp, `${++scenes}`);
  const repo = join(root, 'shop');
  mkdirSync(repo, { recursive: true });
  git(repo, 'init', '--quiet');
  writeFileSync(join(repo, 'readme.md'), 'A shop.\n');
  git(repo, 'add', '.');
  git(repo, 'commit', '--quiet', '-m', 'Begin');
  const scene = await DurableScene.open(t, { agents: { coder }, loopRoots: new Map([['main', root]]) });
  return Object.assign(scene, { root, repo });
}

const input = (config: string, more: object = {}): object => ({
  workspace: 'main/shop',
  agent: 'coder',
  prompt: 'Count to two.',
  name: 'Count it',
  config: `claude_timeout_sec=0\nreviewer=no\n${config}`,
  ...more,
});

/** Writes one line for each call, and is done with the second. */
const counting: AgentFunction = ({ workspace }) => {
  const file = join(workspace as string, 'count.txt');
  appendFileSync(file, 'line\n');
  const lines = readFileSync(file, 'utf8').split('\n').length - 1;
  return `I wrote the line with the number ${lines} into count.txt${lines >= 2 ? `\n${TOKEN}` : ''}`;
};

async function run(scene: DurableScene, given: object): Promise<{ task: number; state: string; output: unknown }> {
  const task = await scene.start(LOOP, given);
  await scene.work();
  return { task, ...(await scene.end(task)) };
}

const log = (folder: string, branch: string): readonly string[] =>
  git(folder, 'log', '--topo-order', '--format=%s', branch).split('\n');

test('a run works in a worktree beside the repository, each implementation is a commit, and a merge makes its target', async (t) => {
  const scene = await sceneWith(t, counting);
  const before = git(scene.repo, 'rev-parse', 'main');
  const { state, output } = await run(scene, input('merge_strategy=merge\nmerge_target_branch=next'));
  assert.equal(state, 'completed', JSON.stringify(output));
  assert.deepEqual(log(scene.repo, 'run/count-it'), ['Implementation 2', 'Implementation 1', 'Begin']);
  assert.equal(log(scene.repo, 'next')[0], 'Merge run/count-it into next');
  assert.equal(git(scene.repo, 'show', 'next:count.txt'), 'line\nline');
  assert.equal(git(scene.repo, 'rev-parse', 'main'), before, 'the base is as it was');
  assert.ok(!existsSync(join(scene.repo, 'count.txt')), 'nothing was done in the folder of the repository');
  assert.ok(!existsSync(join(scene.root, 'shop.run-count-it')), 'the worktree is gone');
});

test('a squash is one commit, also on the branch that is checked out', async (t) => {
  const scene = await sceneWith(t, counting);
  const { state, output } = await run(scene, input('merge_strategy=squash'));
  assert.equal(state, 'completed', JSON.stringify(output));
  assert.deepEqual(log(scene.repo, 'main'), ['Squash run/count-it into main', 'Begin']);
  assert.equal(readFileSync(join(scene.repo, 'count.txt'), 'utf8'), 'line\nline\n');
  assert.equal(git(scene.repo, 'status', '--porcelain'), '');
});

test('without a strategy nothing is merged, and the worktree stays where that is asked for', async (t) => {
  const scene = await sceneWith(t, counting);
  const { state } = await run(scene, input('worktree_provider=git\nworktree_cleanup=no'));
  assert.equal(state, 'completed');
  assert.deepEqual(log(scene.repo, 'main'), ['Begin']);
  assert.equal(git(join(scene.root, 'shop.run-count-it'), 'symbolic-ref', '--short', 'HEAD'), 'run/count-it');
});

test('files that are not committed in the repository stop a run before its agent is asked', async (t) => {
  let asked = 0;
  const scene = await sceneWith(t, () => `${++asked}\n${TOKEN}`);
  writeFileSync(join(scene.repo, 'mine.txt'), 'mine');
  const { state, output } = await run(scene, input('merge_strategy=merge'));
  assert.deepEqual([state, asked], ['failed', 0]);
  assert.match(JSON.stringify(output), /mine\.txt/);
});

test('files that came meanwhile stop the merge, and a conflict names its files; the branch of the run is kept', async (t) => {
  const dirty = await sceneWith(t, (given, call) => {
    writeFileSync(join(dirty.repo, 'mine.txt'), 'mine');
    return counting(given, call);
  });
  const refused = await run(dirty, input('merge_strategy=merge'));
  assert.equal(refused.state, 'failed');
  assert.match(JSON.stringify(refused.output), /merge_failed: .*mine\.txt/);
  assert.deepEqual(log(dirty.repo, 'main'), ['Begin']);
  assert.equal(log(dirty.repo, 'run/count-it')[0], 'Implementation 2');

  const torn = await sceneWith(t, (given, call) => {
    const { repo } = torn;
    if (existsSync(join(repo, 'count.txt'))) return counting(given, call);
    writeFileSync(join(repo, 'count.txt'), 'another\n');
    git(repo, 'add', '.');
    git(repo, 'commit', '--quiet', '-m', 'Meanwhile');
    return counting(given, call);
  });
  const conflict = await run(torn, input('merge_strategy=merge'));
  assert.equal(conflict.state, 'failed');
  assert.match(JSON.stringify(conflict.output), /merge_failed: .*count\.txt.*run\/count-it is kept/);
  assert.deepEqual([log(torn.repo, 'main')[0], git(torn.repo, 'status', '--porcelain')], ['Meanwhile', '']);
});

test('a worktree on the wrong branch is told from the right one, before and after a phase', async (t) => {
  const scene = await sceneWith(t, counting);
  git(scene.repo, 'worktree', 'add', '--quiet', '-b', 'other', join(scene.root, 'shop.run-count-it'));
  const { state, output } = await run(scene, input('worktree_provider=git'));
  assert.equal(state, 'failed');
  assert.match(JSON.stringify(output), /run\/count-it.*other/);

  const leaving = await sceneWith(t, (given, call) => {
    git(given['workspace'] as string, 'checkout', '--quiet', '-b', 'elsewhere');
    return counting(given, call);
  });
  const left = await run(leaving, input('worktree_provider=git'));
  assert.equal(left.state, 'failed');
  assert.match(JSON.stringify(left.output), /implementation_failed: .*elsewhere/);
});

test('a folder with files of somebody is left alone', async (t) => {
  const scene = await sceneWith(t, counting);
  const place = join(scene.root, 'shop.run-count-it');
  mkdirSync(place);
  writeFileSync(join(place, 'thesis.txt'), 'years of work');
  const { state } = await run(scene, input('worktree_provider=git'));
  assert.equal(state, 'failed');
  assert.equal(readFileSync(join(place, 'thesis.txt'), 'utf8'), 'years of work');
});

test('auto works in the plain folder where there is no repository, and whoever asks for git is refused there', async (t) => {
  const scene = await sceneWith(t, counting);
  mkdirSync(join(scene.root, 'plain'));
  const plain = { workspace: 'main/plain' };
  const auto = await run(scene, input('worktree_provider=auto', plain));
  assert.equal(auto.state, 'completed');
  assert.ok(existsSync(join(scene.root, 'plain', 'count.txt')));
});

test('whoever asks for a merge of what is no repository is refused', async (t) => {
  const scene = await sceneWith(t, counting);
  const refused = await run(scene, input('merge_strategy=merge', { workspace: 'main/plain' }));
  assert.equal(refused.state, 'failed');
  assert.match(JSON.stringify(refused.output), /no repository/);
});

test('a crash after a commit leads to the same history', async (t) => {
  for (let crashAt = 2; ; crashAt += 3) {
    const scene = await sceneWith(t, counting);
    const task = await scene.start(LOOP, input('merge_strategy=squash\nverify_cmds=test -s count.txt'));
    await scene.work({ crashAt });
    const { state, output } = await scene.end(task);
    assert.equal(state, 'completed', `crash at ${crashAt}: ${JSON.stringify(output)}`);
    assert.deepEqual(log(scene.repo, 'main'), ['Squash run/count-it into main', 'Begin'], `crash at ${crashAt}`);
    assert.equal(git(scene.repo, 'status', '--porcelain'), '');
    if (scene.crashes === 0) break;
  }
});
