/** What a loop has changed is looked at, merged and scrapped from the command line: on a store that a worker serves, and on a node. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { machines, open } from '../../../src/index.ts';
import { run } from '../../support/leasehold.ts';
import { place } from './cli-calls.ts';

const IDENTITY = ['-c', 'user.name=t', '-c', 'user.email=t@localhost', '-c', 'init.defaultBranch=main'];
const AGENT = 'cat > /dev/null; echo line >> done.txt; echo "<promise>COMPLETE</promise>"';

function repositoryIn(cwd: string): { readonly root: string; readonly git: (...args: readonly string[]) => string } {
  const root = join(cwd, 'work');
  const folder = join(root, 'shop');
  mkdirSync(folder, { recursive: true });
  mkdirSync(join(root, 'plain'));
  const git = (...args: readonly string[]): string =>
    execFileSync('git', [...IDENTITY, ...args], { cwd: folder, encoding: 'utf8' }).trim();
  git('init', '--quiet');
  writeFileSync(join(folder, 'readme.md'), 'A shop.\n');
  git('add', '.');
  git('commit', '--quiet', '-m', 'Begin');
  return { root, git };
}

const inputOf = (name: string, more: object = {}) => ({
  workspace: 'main/shop',
  prompt: 'Write a line.',
  name,
  worktree_provider: 'git',
  agent: { type: 'command', config: { command: ['sh', '-c', AGENT], output: 'text' } },
  config: 'reviewer=false',
  ...more,
});

/** A program of somebody's own with roots for loops, and the runs that it has ended. */
async function scene(t: TestContext) {
  const { cwd, call, url } = place(t);
  mkdirSync(join(cwd, '.leasehold'), { recursive: true });
  const app = await open(url as `sqlite:${string}`);
  t.after(() => app.close({ drainMs: 0 }));
  const { root, git } = repositoryIn(cwd);
  const worker = app.worker({ tasks: [machines({ loopRoots: { main: root }, programs: true })], slots: 4 });
  await worker.start();
  t.after(() => worker.stop({ drain: false }));
  const ended = async (name: string, more: object = {}): Promise<string> => {
    const started = await app.runs.start({ machine: 'loop', input: inputOf(name, more), name });
    const tail = await call(['runs', 'tail', started.id]);
    assert.equal(tail.code, 0, tail.stdout);
    return started.id;
  };
  return { cwd, call, url, git, root, ended };
}

test('on a store the branch of a loop is shown, merged and scrapped by a worker that serves it', async (t) => {
  const { call, git, ended } = await scene(t);
  const id = await ended('one');
  const patch = await call(['runs', 'diff', 'one']);
  assert.equal(patch.code, 0, patch.stderr);
  assert.match(patch.stdout, /^diff --git a\/done\.txt b\/done\.txt\n[^]*\+line\n$/);
  assert.deepEqual((await call(['runs', 'diff', id, '--stat'])).lines, [
    'added     +1 -0  done.txt',
    '1 file, +1 -0, 1 commit',
  ]);
  const [whole] = (await call(['runs', 'diff', 'one', '--json'])).objects();
  assert.deepEqual([whole?.['head_ref'], whole?.['truncated']], [git('rev-parse', 'run/one'), false]);

  const unasked = await call(['runs', 'merge', 'one']);
  assert.deepEqual([unasked.code, /Say --yes/.test(unasked.stderr)], [2, true], unasked.stderr);
  assert.equal(git('log', '--format=%s', 'main'), 'Begin', 'nothing was merged unasked');
  const [merged] = (await call(['runs', 'merge', 'one', '--yes', '--json'])).objects();
  assert.deepEqual(merged, { run: id, commit: git('rev-parse', 'main') });
  const late = await call(['runs', 'scrap', 'one', '--yes']);
  assert.deepEqual([late.code, /merged already/.test(late.stderr)], [1, true], late.stderr);

  await ended('two');
  assert.match(git('branch', '--list', 'run/two'), /run\/two/);
  const scrapped = await call(['runs', 'scrap', 'two', '--yes']);
  assert.deepEqual([scrapped.code, scrapped.lines], [0, ['Scrapped two: its worktree and its branch are gone.']]);
  assert.equal(git('branch', '--list', 'run/two'), '');
  const gone = await call(['runs', 'merge', 'two', '--yes']);
  assert.deepEqual([gone.code, /scrapped/.test(gone.stderr)], [1, true], gone.stderr);

  await ended('plain', { workspace: 'main/plain', worktree_provider: undefined });
  const plain = await call(['runs', 'diff', 'plain']);
  assert.deepEqual([plain.code, /plain folder/.test(plain.stderr)], [1, true], plain.stderr);
  assert.equal((await call(['runs', 'diff', 'nobody'])).code, 3);
});

test('on a node the worker that has joined it is asked', async (t) => {
  const { cwd, call } = place(t);
  const { root, git } = repositoryIn(cwd);
  const node = run(t, ['up', '--port', '0', '--no-worker', '--json'], {
    cwd,
    env: { LEASEHOLD_TOKEN: 'an-admin-token-of-a-test' },
  });
  const address = await node.address();
  const env = { LEASEHOLD_SERVER: address, LEASEHOLD_TOKEN: 'an-admin-token-of-a-test' };
  const there = (args: readonly string[]) => call(args, '', env);
  const [made] = (await there(['workers', 'create', 'box', '--tag', 'loop-root=main', '--json'])).objects();
  const flags = ['--join', address, '--name', 'box', '--allow', 'shell', '--loop-root', `main=${root}`, '--json'];
  const worker = run(t, ['worker', ...flags, '--data-dir', join(cwd, 'box')], {
    cwd,
    env: { LEASEHOLD_WORKER_SECRET: String(made?.['secret']) },
  });
  await worker.says(/"started"/);
  const started = await there([
    'run',
    '--machine',
    'loop',
    '--input',
    JSON.stringify(inputOf('far')),
    '--server',
    address,
  ]);
  assert.equal(started.code, 0, started.stderr);
  const far = String((await there(['runs', 'list', '--json'])).objects()[0]?.['id']);
  assert.deepEqual((await there(['runs', 'diff', far, '--stat'])).lines.at(-1), '1 file, +1 -0, 1 commit');
  const merged = await there(['runs', 'merge', far, '--yes']);
  assert.deepEqual([merged.code, merged.lines], [0, [`Merged ${far}: its target is at ${git('rev-parse', 'main')}.`]]);
  assert.equal(git('show', 'main:done.txt'), 'line');
});
