import assert from 'node:assert/strict';
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { agents } from '../../../src/app/library/agents.ts';
import { type NodeUrl, open } from '../../../src/app/open.ts';
import type { WorkspaceSpec } from '../../../src/core/workspace/workspace.ts';
import { tempFolder } from '../../../src/store/conformance/kit/temp-folder.ts';
import type { AnyTask } from '../../../src/worker/define/definition.ts';
import { task } from '../../../src/worker/define/task.ts';
import { makeShell } from '../../../src/worker/handlers/shell.ts';
import { enterPlace } from '../../../src/workspace/place.ts';
import { gitServer } from '../../support/git/git-server.ts';
import { git, scratchRepository, until } from '../../support/git/scratch.ts';
import { run } from '../../support/leasehold.ts';
import { nodeScene } from '../../support/node-scene.ts';
import { mortalStep } from './mortal-steps.ts';
import { childStep, type StepInput, workspaceOf } from './steps-child.ts';

let scenes = 0;

/** A node, workers that have joined it, and a real server of git. */
async function scene(t: TestContext) {
  const folder = join(tempFolder('workspace-tasks'), String(++scenes));
  let close = (): Promise<void> => Promise.resolve();
  t.after(() => close());
  const node = await nodeScene(t, { durability: 'normal' });
  const app = await open(node.service.address as NodeUrl, { token: node.admin });
  close = () => app.close();
  const server = await gitServer(join(folder, 'server'));
  const repo = server.publish('shop', scratchRepository(join(folder, 'origin')));
  const bare = join(server.folder, 'shop.git');
  const host = async (name: string, tasks: readonly AnyTask[], more: object = {}) => {
    const place = join(folder, name);
    const worker = app.worker({
      name,
      tasks,
      slots: 1,
      workspaces: { folder: place, protocols: ['http'], ...more },
    });
    await worker.start();
    return { worker, place };
  };
  return { node, app, server, repo, bare, folder, host };
}

/** Folders of workspaces that are there. */
const left = (place: string): readonly string[] => {
  const work = join(place, '1/work');
  return existsSync(work) ? readdirSync(work) : [];
};

const step = task('step', {
  retry: { baseMs: 1 },
  workspace: workspaceOf,
  run: async (input, { workspace }) => {
    const { line } = input as StepInput;
    const file = join(workspace.path, 'work.txt');
    appendFileSync(file, `${line}\n`);
    const commit = await workspace.commitAll(`Add ${line}`);
    return { commit, began: workspace.commit, text: readFileSync(file, 'utf8'), cwd: process.cwd() };
  },
});

for (const publish of ['push', 'bundle'] as const)
  for (const own of [step, childStep] as readonly AnyTask[])
    test(`steps of one run that alternate between two hosts give one history: ${own.name}, by ${publish}`, async (t) => {
      const { app, repo, bare, host } = await scene(t);
      const [one, two] = [await host('one', [own]), await host('two', [own])];
      const results = [];
      const names = ['a', 'b', 'c', 'd'];
      const graph = await app.pushGraph(
        names.map((line, at) => ({
          name: line,
          task: own,
          input: { repo, branch: 'run/x', line, publish } satisfies StepInput,
          placement: { only: [at % 2 === 0 ? 'one' : 'two'] },
          ...(at === 0 ? {} : { after: [names[at - 1] as string] }),
        })),
      );
      for (const line of names)
        results.push((await graph[line]?.result()) as { commit: string; began: string; text: string; cwd: string });
      assert.deepEqual(
        results.map(({ text }) => text),
        ['a\n', 'a\nb\n', 'a\nb\nc\n', 'a\nb\nc\nd\n'],
      );
      assert.ok(
        results.every(({ cwd }) => cwd === process.cwd()),
        'the working directory stays',
      );
      for (const [at, { began }] of results.entries()) if (at > 0) assert.equal(began, results[at - 1]?.commit);
      const branches = git(bare, 'branch', '--format=%(refname:short)').split('\n');
      if (publish === 'push') {
        assert.equal(git(bare, 'log', '--format=%s', 'run/x'), 'Add d\nAdd c\nAdd b\nAdd a\nBegin');
        assert.equal(git(bare, 'rev-parse', 'run/x'), results[3]?.commit);
      } else {
        assert.deepEqual(branches, ['main'], 'nothing was pushed');
        const bundles = (await app.artifacts.list({ task: graph['d']?.id as string })).filter(
          ({ kind }) => kind === 'bundle',
        );
        assert.equal(bundles.length, 1);
      }
      assert.deepEqual([left(one.place), left(two.place)], [[], []], 'no folder stays');
    });

test('a shell command and an agent that is a program work in the workspace, and what they changed is on the branch', async (t) => {
  const { app, repo, bare, host } = await scene(t);
  const tasks = [makeShell(), agents({ programs: true })];
  const { place } = await host('one', tasks, { roots: { main: tempFolder('workspace-root') } });
  const workspace = { source: 'git', repo, branch: 'run/x' } as const;
  const shell = await app.push(tasks[0] as ReturnType<typeof makeShell>, {
    command: 'pwd -P; echo hi >hi.txt',
    workspace,
    commit: 'Say hi',
  });
  const said = (await shell.result()) as { readonly stdout: string; readonly commit: string };
  assert.ok(said.stdout.startsWith(join(place, '1/work')), said.stdout);
  assert.equal(git(bare, 'rev-parse', 'run/x'), said.commit);
  const agent = await app.push(agents(), {
    gateway: { type: 'command', command: ['sh', '-c', 'cat hi.txt; echo more >>hi.txt'] },
    prompt: 'Go',
    workspace,
    commit: 'Say more',
  });
  assert.match(String(((await agent.result()) as { readonly text: string }).text), /^hi$/m);
  assert.equal(git(bare, 'log', '--format=%s', 'run/x'), 'Say more\nSay hi\nBegin');
  // An agent ends its task itself, and its folder goes after that.
  await until('no folder stays', () => left(place).length === 0);
  const empty = await app.push(tasks[0] as ReturnType<typeof makeShell>, {
    command: 'ls -a',
    workspace: { source: 'empty' },
  });
  assert.equal(((await empty.result()) as { readonly stdout: string }).stdout, '.\n..\n');
  const shared = await app.push(tasks[0] as ReturnType<typeof makeShell>, {
    command: 'pwd',
    workspace: { source: 'shared_fs', path: 'main/a' },
  });
  assert.match(((await shared.result()) as { readonly stdout: string }).stdout, /workspace-root.*\/a\n$/);
});

test('a worker without workspaces refuses such a task clearly', async (t) => {
  const { app, node } = await scene(t);
  const worker = app.worker({ name: 'plain', tasks: [agents({ programs: true })] });
  await worker.start();
  const input = { gateway: { type: 'command', command: ['true'] }, prompt: 'Go', workspace: { source: 'empty' } };
  const body = { queue: 'agent', handler: 'agent', maxAttempts: 1, input };
  const { id } = (await node.ask('/api/v1/tasks', { body })).body as { readonly id: string };
  await assert.rejects(app.handle(id).result(), /makes no workspaces/);
});

test('a worker that is killed in the middle of a step leaves nothing half, and another one brings the run to its end', async (t) => {
  const { app, node, repo, bare, folder, host } = await scene(t);
  const mark = join(folder, 'mark');
  const { secret } = await node.call('createWorker', '/api/v1/workers', {
    body: { name: 'mortal', tags: ['workspace=git'], handlers: null },
  });
  const mortal = run(
    t,
    [
      'worker',
      '--join',
      node.service.address,
      '--name',
      'mortal',
      '--handlers',
      new URL('./mortal-steps.ts', import.meta.url).pathname,
      '--workspace-folder',
      join(folder, 'mortal'),
      '--git-protocol',
      'http',
    ],
    { cwd: folder, env: { LEASEHOLD_WORKER_SECRET: secret, MARK: mark } },
  );
  const input = { repo, branch: 'run/x', line: 'a', publish: 'push' } satisfies StepInput;
  const handle = await app.push(mortalStep, input);
  await until('the step has committed', () => existsSync(mark), 60_000);
  mortal.child.kill('SIGKILL');
  await mortal.ended;
  assert.deepEqual(
    git(bare, 'branch', '--format=%(refname:short)'),
    'main',
    'what was not handed on is seen by nobody',
  );
  assert.equal(left(join(folder, 'mortal')).length, 1, 'its folder is known as an orphan');
  const cli = async (...args: readonly string[]) => {
    const said = run(t, ['workspaces', ...args, '--workspace-folder', join(folder, 'mortal'), '--json'], {
      cwd: folder,
    });
    let text = '';
    said.child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
    const { code } = await said.ended;
    return {
      code,
      rows: text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as { key: string; orphan: boolean; state: string }),
    };
  };
  const listed = await cli('list', '--orphans');
  assert.deepEqual(
    listed.rows.map(({ state, orphan }) => [state, orphan]),
    [['ready', true]],
  );
  const { key } = listed.rows[0] as { readonly key: string };
  assert.deepEqual((await cli('clean', key, '--dry-run')).rows.length, 1);
  assert.equal((await cli('clean', '1/other', '--yes')).code, 3);
  const leave = await enterPlace(join(folder, 'mortal/1'));
  assert.equal((await cli('clean', key, '--yes')).code, 1, 'a worker that lives may work in it');
  assert.deepEqual((await cli('clean', '--orphans', '--yes')).rows, []);
  leave?.();
  assert.deepEqual(
    (await cli('clean', '--orphans', '--yes')).rows.map((row) => row.key),
    [key],
  );
  assert.deepEqual([left(join(folder, 'mortal')), (await cli('list')).rows], [[], []]);
  writeFileSync(mark, 'go on');
  process.env['MARK'] = mark;
  t.after(() => delete process.env['MARK']);
  await host('two', [mortalStep]);
  assert.equal(((await handle.result()) as { readonly text: string }).text, 'a\n');
  assert.equal(git(bare, 'log', '--format=%s', 'run/x'), 'Add a\nBegin');
});

test('policies, refusals and lines of the log', async (t) => {
  const { app, node, repo, host } = await scene(t);
  const plain = task('plain', {
    maxAttempts: 1,
    workspace: (input) => (input as { readonly workspace?: WorkspaceSpec }).workspace,
    run: (input, ctx) => {
      if ((input as { readonly workspace?: WorkspaceSpec }).workspace === undefined) return ctx.workspace.path;
      writeFileSync(join(ctx.workspace.path, 'left.txt'), 'left');
      if ((input as { readonly fails?: boolean }).fails === true) throw new Error('as asked');
      return ctx.workspace.path;
    },
  });
  const { place } = await host('one', [plain], { hosts: ['127.0.0.1', 'localhost:1'] });
  const push = (workspace: object | undefined, more: object = {}) => app.push(plain, { workspace, ...more });
  // Kept where it failed, and only there.
  const policy = { source: 'empty', keep: 'on-failure' };
  await (await push(policy)).result();
  assert.deepEqual(left(place), []);
  await assert.rejects((await push(policy, { fails: true })).result(), /as asked/);
  assert.equal(left(place).length, 1);
  // Packed and handed on.
  const packed = await push({ source: 'empty', keep: 'archive' });
  await packed.result();
  const [archive] = await app.artifacts.list({ task: packed.id });
  assert.deepEqual([archive?.name, archive?.kind], ['workspace.tar.gz', 'file']);
  assert.equal(left(place).length, 1);
  // A task that asks for none has none.
  await assert.rejects((await push(undefined)).result(), /asks for none/);
  // What cannot be, is told.
  const refused = async (workspace: object, why: RegExp) => assert.rejects((await push(workspace)).result(), why);
  await refused({ source: 'git', repo, ref: 'nowhere' }, /no branch, tag or commit "nowhere"/);
  await refused({ source: 'git', repo, commit: 'a'.repeat(40) }, /aaaaaaaa/);
  await refused({ source: 'git', repo: 'http://elsewhere.example/x' }, /asks no repository of the host/);
  await refused({ source: 'git', repo, credential: 'forge' }, /placement of the task does not name it/);
  await assert.rejects(app.push(plain, { workspace: { source: 'git', repo: 'https://a:b@c/d' } }), /password/);
  const { lines } = (await node.ask(`/api/v1/tasks/${packed.id}/logs`)).body;
  const texts = lines.map(({ text }: { readonly text: string }) => text);
  assert.match(texts[0], /^workspace: preparing an empty folder$/);
  assert.match(texts[1], /^workspace: ready after \d+\.\d s$/);
  assert.match(texts[2], /^workspace: archived as art_/);
  // The placement of a task says what its workspace needs.
  const pushed = await app.push(
    plain,
    { workspace: { source: 'git', repo, branch: 'run/y' } },
    { placement: { requires: ['gpu'] } },
  );
  const { placement } = (await app.get(pushed.id)) as {
    readonly placement?: { readonly requires: readonly string[]; readonly affinity: string };
  };
  assert.deepEqual([placement?.requires, placement?.affinity], [['gpu', 'workspace=git'], `${repo}#run/y`]);
  await pushed.cancel();
  // A stop ends what is being prepared.
});
