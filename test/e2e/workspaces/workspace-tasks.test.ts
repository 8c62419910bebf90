import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type NodeUrl, open } from '../../../src/app/open.ts';
import { tempFolder } from '../../../src/store/conformance/kit/temp-folder.ts';
import type { AnyTask } from '../../../src/worker/define/definition.ts';
import { task } from '../../../src/worker/define/task.ts';
import { gitServer } from '../../support/git/git-server.ts';
import { git, scratchRepository, until } from '../../support/git/scratch.ts';
import { nodeScene } from '../../support/node-scene.ts';
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
