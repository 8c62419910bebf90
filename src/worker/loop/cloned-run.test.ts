/** The machine `loop` in clones of a repository of a real server, in virtual time: two workers that share no disk, whose agents are functions. */
import assert from 'node:assert/strict';
import { appendFileSync, existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type GitServer, gitServer } from '../../../test/support/git/git-server.ts';
import { commit, git, scratchRepository, TIMERS } from '../../../test/support/git/scratch.ts';
import { DurableScene } from '../../../test/support/runs/durable-scene.ts';
import { COMPLETION_TOKEN as TOKEN } from '../../flow/loop/completion.ts';
import type { Assignment } from '../../protocol/link.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { WorkspaceResolver } from '../../workspace/resolver.ts';
import type { AgentFunction } from '../agents/registry.ts';
import { AttemptArtifacts, artifactStock } from '../artifacts/attempt-artifacts.ts';
import { readMachineFile } from '../machine/load-machine.ts';
import { AttemptWorkspace } from '../workspace/attempt-workspace.ts';
import { reviewWork } from './loop-git.ts';

const LOOP = await readMachineFile(join(import.meta.dirname, '../../../machines/loop.yml'));
const temp = realpathSync(tempFolder('cloned-run'));
let scenes = 0;

interface Scene extends DurableScene {
  readonly server: GitServer;
  readonly folder: string;
  readonly url: string;
  readonly bare: string;
  readonly log: (branch: string) => readonly string[];
  readonly workspace: (task: string, attempt: number) => AttemptWorkspace;
  /** Folders of runs that are left on the two workers. */
  readonly left: () => readonly string[];
}

/** Each attempt is made by the other worker. */
async function sceneWith(t: TestContext, coder: AgentFunction): Promise<Scene> {
  const folder = join(temp, `${++scenes}`);
  const server = await gitServer(join(folder, 'server'));
  const url = server.publish('shop', scratchRepository(join(folder, 'source'), { 'readme.md': 'A shop.\n' }));
  const bare = join(server.folder, 'shop.git');
  const worker = (attempt: number): string => join(folder, `worker${attempt % 2}`);
  const workspace = (task: string, attempt: number): AttemptWorkspace => {
    const resolver = new WorkspaceResolver({
      folder: worker(attempt),
      roots: new Map(),
      protocols: ['http'],
      clock: { wall: () => Date.now() },
      timers: TIMERS,
    });
    const lease = { id: task, attempt } as Assignment;
    return new AttemptWorkspace({
      stock: { resolver: () => Promise.resolve(resolver), tidy: () => {} },
      task,
      attempt,
      clock: { monotonic: () => performance.now() },
      // There is no place for them: nothing is bundled.
      artifacts: () => new AttemptArtifacts({ link: undefined, lease, stock: artifactStock(), onLost: () => {} }),
      credentials: undefined,
      log: () => {},
    });
  };
  const scene = await DurableScene.open(t, {
    agents: { coder },
    workspaces: ({ id, attempt }) => workspace(id, attempt),
  });
  return Object.assign(scene, {
    server,
    folder,
    url,
    bare,
    workspace,
    log: (branch: string) => git(bare, 'log', '--topo-order', '--format=%s', branch).split('\n'),
    left: () =>
      [worker(0), worker(1)].flatMap((one) => {
        const work = join(one, 'work');
        return existsSync(work) ? readdirSync(work) : [];
      }),
  });
}

const input = (scene: Scene, config: string, more: object = {}): object => ({
  agent: 'coder',
  prompt: 'Count to two.',
  name: 'Count it',
  workspace_source: 'git',
  repo_url: scene.url,
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

async function run(scene: Scene, given: object): Promise<{ state: string; output: unknown }> {
  const task = await scene.start(LOOP, given);
  await scene.work();
  return scene.end(task);
}

test('a run works in a clone, each implementation is pushed before it counts, and a merge is pushed to its target', async (t) => {
  const seen: string[] = [];
  const scene: Scene = await sceneWith(t, (given, call) => {
    seen.push(scene.log('run/count-it')[0] as string);
    return counting(given, call);
  });
  const before = git(scene.bare, 'rev-parse', 'main');
  const { state, output } = await run(scene, input(scene, 'merge_strategy=merge\nmerge_target_branch=next'));
  assert.equal(state, 'completed', JSON.stringify(output));
  assert.deepEqual(seen, ['Begin', 'Implementation 1']);
  assert.deepEqual(scene.log('run/count-it'), ['Implementation 2', 'Implementation 1', 'Begin']);
  assert.equal(scene.log('next')[0], 'Merge run/count-it into next');
  assert.equal(git(scene.bare, 'show', 'next:count.txt'), 'line\nline');
  assert.equal(git(scene.bare, 'rev-parse', 'main'), before, 'the base is as it was');
  assert.deepEqual(scene.left(), []);
});

test('a squash is one commit, a base that is a tag goes to the default branch, and files of a verification belong to it', async (t) => {
  const scene = await sceneWith(t, counting);
  git(scene.bare, 'tag', 'v1', 'main');
  const config = 'merge_strategy=squash\nrepo_ref=v1\nverify_cmds=date > verified.txt';
  const { state, output } = await run(scene, input(scene, config));
  assert.equal(state, 'completed', JSON.stringify(output));
  assert.deepEqual(scene.log('main'), ['Squash run/count-it into main', 'Begin']);
  assert.equal(git(scene.bare, 'ls-tree', '--name-only', 'main'), 'count.txt\nreadme.md\nverified.txt');
});

/** `crashBefore` 1, 4, 10 and 16: the branch, a phase or the merge was pushed, and nobody has heard of it. */
for (const [how, first, step] of [
  ['crashAt', 2, 5],
  ['crashBefore', 1, 3],
] as const)
  test(`after a crash the other worker goes on, and the history at the server is the same: ${how}`, async (t) => {
    for (let n = first; ; n += step) {
      const scene = await sceneWith(t, counting);
      const config = 'merge_strategy=merge\nverify_cmds=test -s count.txt';
      const task = await scene.start(LOOP, input(scene, config, { plan_path: 'readme.md' }));
      await scene.work({ [how]: n });
      const { state, output } = await scene.end(task);
      assert.equal(state, 'completed', `${how} ${n}: ${JSON.stringify(output)}`);
      assert.deepEqual(
        [scene.log('main')[0], scene.log('run/count-it'), git(scene.bare, 'show', 'main:count.txt')],
        ['Merge run/count-it into main', ['Implementation 2', 'Implementation 1', 'Begin'], 'line\nline'],
        `${how} ${n}`,
      );
      assert.equal(scene.log('main').filter((line) => line.startsWith('Merge')).length, 1, `${how} ${n}`);
      if (scene.crashes === 0) break;
    }
  });

test('a server that takes no push refuses the run before its agent is asked', async (t) => {
  let asked = 0;
  const scene = await sceneWith(t, () => `${++asked}\n${TOKEN}`);
  git(scene.bare, 'config', 'http.receivepack', 'false');
  const { state, output } = await run(scene, input(scene, ''));
  assert.deepEqual([state, asked], ['failed', 0]);
  assert.match(JSON.stringify(output), /git push/);
});

test('somebody else who moves the branch of the run stops it, and keeps what is there', async (t) => {
  const scene: Scene = await sceneWith(t, (given, call) => {
    git(scene.bare, 'update-ref', 'refs/heads/run/count-it', mine);
    return counting(given, call);
  });
  const mine = git(scene.bare, 'commit-tree', 'main^{tree}', '-p', 'main', '-m', 'Mine');
  const { state, output } = await run(scene, input(scene, ''));
  assert.equal(state, 'failed');
  assert.match(JSON.stringify(output), /implementation_failed: .*another commit on the branch/);
  assert.deepEqual(scene.log('run/count-it'), ['Mine', 'Begin']);
});

test('an agent that leaves its branch fails its phase, and nothing of it is pushed', async (t) => {
  const scene: Scene = await sceneWith(t, (given, call) => {
    git(given['workspace'] as string, 'checkout', '--quiet', '-b', 'elsewhere');
    return counting(given, call);
  });
  const { state, output } = await run(scene, input(scene, ''));
  assert.equal(state, 'failed');
  assert.match(JSON.stringify(output), /implementation_failed: .*elsewhere/);
  assert.deepEqual(git(scene.bare, 'branch', '--format=%(refname:short)').split('\n'), ['main', 'run/count-it']);
  assert.deepEqual(scene.log('run/count-it'), ['Begin']);
});

test('a conflict at the server names its files, and the branch of the run is kept', async (t) => {
  const scene: Scene = await sceneWith(t, (given, call) => {
    const source = join(scene.folder, 'source');
    if (!existsSync(join(source, 'count.txt'))) {
      commit(source, { 'count.txt': 'another\n' }, 'Meanwhile');
      git(source, 'push', '--quiet', scene.bare, 'main');
    }
    return counting(given, call);
  });
  const { state, output } = await run(scene, input(scene, 'merge_strategy=merge'));
  assert.equal(state, 'failed');
  assert.match(JSON.stringify(output), /merge_failed: .*count\.txt.*run\/count-it is kept/);
  assert.deepEqual([scene.log('main')[0], scene.log('run/count-it')[0]], ['Meanwhile', 'Implementation 2']);
});

test('a folder that cannot go fails no run, and one that is to stay stays', async (t) => {
  const scene = await sceneWith(t, counting);
  const { state } = await run(scene, input(scene, 'worktree_cleanup=no'));
  assert.deepEqual([state, scene.left().length], ['completed', 1]);
});

test('a worker that makes no workspaces says so, before the agent is asked', async (t) => {
  const scene = await sceneWith(t, counting);
  const bare = await DurableScene.open(t, { agents: { coder: counting } });
  const task = await bare.start(LOOP, input(scene, ''));
  await bare.work();
  const { state, output } = await bare.end(task);
  assert.equal(state, 'failed');
  assert.match(JSON.stringify(output), /workspace_source/);
});

test('who reviews a run sees its diff, merges it, and scraps its branch, but never the one that others go into', async (t) => {
  const scene = await sceneWith(t, counting);
  const { state } = await run(scene, input(scene, ''));
  assert.equal(state, 'completed');
  const [head, begin] = [git(scene.bare, 'rev-parse', 'run/count-it'), git(scene.bare, 'rev-parse', 'main')];
  const tree = { url: scene.url, branch: 'run/count-it', base: 'main', target: 'main', strategy: 'squash' };
  const review = (act: string, more: object = {}): Promise<unknown> => {
    const worktree = { ...tree, base_commit: begin, commit: head, ...more };
    const workspace = scene.workspace(act, 1);
    return reviewWork({ roots: new Map() }, { act, worktree }, new AbortController().signal, workspace);
  };
  const diff = (await review('diff')) as { readonly files: readonly { readonly path: string }[] };
  assert.deepEqual(
    diff.files.map(({ path }) => path),
    ['count.txt'],
  );
  const merged = (await review('merge')) as { readonly commit: string };
  assert.deepEqual(
    [merged.commit, scene.log('main')],
    [git(scene.bare, 'rev-parse', 'main'), ['Squash run/count-it into main', 'Begin']],
  );
  await assert.rejects(review('scrap', { branch: 'main', target: 'next', base: 'next' }), { code: 'CONFLICT' });
  await assert.rejects(review('remove'), { code: 'CONFLICT' });
  assert.deepEqual(await review('scrap'), { branch: 'run/count-it', commit: head });
  assert.equal(git(scene.bare, 'branch', '--list', 'run/*'), '');
  await assert.rejects(review('diff'), { code: 'NOT_FOUND' });
});
