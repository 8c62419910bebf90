import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gitServer } from '../../test/support/git/git-server.ts';
import { commit, git, scratchRepository, TIMERS, writeFiles } from '../../test/support/git/scratch.ts';
import type { WorkspaceSpec } from '../core/workspace/workspace.ts';
import { tempFolder } from '../store/conformance/kit/temp-folder.ts';
import { type ResolverOptions, WorkspaceResolver } from './resolver.ts';

const temp = realpathSync(tempFolder('resolver'));
const server = await gitServer(join(temp, 'server'));
let number = 0;

function worker(options: Partial<ResolverOptions> = {}): WorkspaceResolver & { readonly folder: string } {
  number += 1;
  const folder = join(temp, `worker${number}`);
  const resolver = new WorkspaceResolver({
    folder,
    roots: new Map(),
    protocols: ['http'],
    clock: { wall: () => Date.now() },
    timers: TIMERS,
    ...options,
  });
  return Object.assign(resolver, { folder });
}

function remote(files?: Readonly<Record<string, string>>) {
  number += 1;
  const folder = scratchRepository(join(temp, `source${number}`), files);
  const url = server.publish(`shop${number}`, folder);
  return { folder, url, bare: join(server.folder, `shop${number}.git`) };
}

test('a repository is checked out at its default branch, and the second time from the cache', async () => {
  const { url, folder } = remote();
  const own = worker();
  const first = await own.prepare({ source: 'git', repo: url }, { task: 't1', attempt: 1 });
  assert.deepEqual([first.warm, first.branch, first.commit], [false, undefined, git(folder, 'rev-parse', 'HEAD')]);
  assert.equal(readFileSync(join(first.path, 'README.md'), 'utf8'), 'shop\n');
  assert.equal(realpathSync(first.path), first.path);
  await first.close('completed');
  assert.ok(!existsSync(first.path));
  const asked = server.requests.length;
  const again = await own.prepare({ source: 'git', repo: url, commit: first.commit }, { task: 't2', attempt: 1 });
  assert.deepEqual(
    [again.warm, again.commit, server.requests.length],
    [true, first.commit, asked],
    'an exact commit that is there asks nobody',
  );
  await again.close('completed');
  assert.deepEqual(await own.orphans(), []);
});

for (const how of ['push', 'bundle'] as const) {
  test(`steps of a run that change between two workers by ${how} end with the right history`, async () => {
    const { url, bare, folder } = remote();
    const workers = [worker(), worker()];
    let [bundle, expected]: [string | undefined, string | undefined] = [undefined, undefined];
    for (let step = 1; step <= 5; step += 1) {
      const own = workers[step % 2] as WorkspaceResolver;
      const spec: WorkspaceSpec = { source: 'git', repo: url, branch: 'run/a', publish: how, commit: expected };
      const workspace = await own.prepare(spec, { task: `t${step}`, attempt: 1, run: 'r1', bundle });
      assert.equal(readdirSync(workspace.path).filter((name) => name.startsWith('step')).length, step - 1);
      writeFiles(workspace.path, { [`step${step}`]: 'done\n' });
      const made = await workspace.commitAll(`Step ${step}`);
      const published = await workspace.publish();
      assert.deepEqual([published.how, published.commit], [how === 'push' ? 'pushed' : 'bundled', made]);
      expected = made;
      if (published.bundle !== undefined) {
        bundle = join(temp, `${how}-${step}.bundle`);
        renameSync(published.bundle, bundle);
      }
      await workspace.close('completed');
    }
    if (how === 'push')
      assert.equal(
        git(bare, 'log', '--format=%s', 'run/a'),
        ['Step 5', 'Step 4', 'Step 3', 'Step 2', 'Step 1', 'Begin'].join('\n'),
      );
    else {
      assert.throws(() => git(bare, 'rev-parse', '--verify', 'run/a'), 'the repository was not written to');
      git(folder, 'fetch', '--quiet', bundle as string, 'refs/leasehold/run/a:refs/heads/run/a');
      assert.equal(git(folder, 'rev-list', '--count', 'run/a'), '6');
    }
  });
}

test('a repository that takes no push gets its commits out as a bundle', async () => {
  const { url, bare } = remote();
  git(bare, 'config', 'http.receivepack', 'false');
  const workspace = await worker().prepare({ source: 'git', repo: url, branch: 'run/a' }, { task: 't', attempt: 1 });
  assert.equal((await workspace.publish()).how, 'none', 'nothing was committed');
  writeFiles(workspace.path, { a: 'a' });
  await workspace.commitAll('A');
  assert.equal((await workspace.publish()).how, 'bundled');
  await workspace.close('completed');
});

test('a bundle is believed no more than a server', async () => {
  const { url, folder } = remote();
  const spec: WorkspaceSpec = { source: 'git', repo: url, branch: 'run/a', publish: 'bundle' };
  const file = join(temp, 'bad.bundle');
  const refused = (code: string) =>
    assert.rejects(worker().prepare(spec, { task: 't', attempt: 1, bundle: file }), { code });
  writeFileSync(file, 'no bundle');
  await refused('WORKSPACE_FAILED');
  commit(folder, { a: 'a' });
  commit(folder, { b: 'b' });
  git(folder, 'bundle', 'create', '--quiet', '--version=2', file, 'main', '^main~1');
  await refused('WORKSPACE_MISMATCH');
  git(folder, 'bundle', 'create', '--quiet', '--version=2', file, 'main', '^main~2');
  const whole = readFileSync(file);
  writeFileSync(file, whole.with(whole.length - 40, (whole.at(-40) as number) ^ 1));
  await refused('WORKSPACE_FAILED');
  writeFileSync(file, whole);
  const workspace = await worker().prepare(spec, { task: 't', attempt: 1, bundle: file });
  assert.equal(workspace.commit, git(folder, 'rev-parse', 'main'));
  await workspace.close('completed');
});

test('commits that are not published stay on the worker, and its next task has them', async () => {
  const { url } = remote();
  const own = worker();
  const spec: WorkspaceSpec = { source: 'git', repo: url, branch: 'run/a', publish: 'none' };
  const first = await own.prepare(spec, { task: 't1', attempt: 1 });
  writeFiles(first.path, { a: 'a' });
  const made = await first.commitAll('A');
  assert.equal((await first.publish()).how, 'none');
  await first.close('completed');
  const second = await own.prepare(spec, { task: 't2', attempt: 1 });
  assert.equal(second.commit, made);
  await second.close('completed');
});

test('a commit that is not there, or a branch with another history, is a mismatch', async () => {
  const { url, folder, bare } = remote();
  const missing = '0123456789'.repeat(4);
  await assert.rejects(worker().prepare({ source: 'git', repo: url, commit: missing }, { task: 't', attempt: 1 }), {
    code: 'WORKSPACE_MISMATCH',
  });
  git(folder, 'checkout', '--quiet', '-b', 'run/a');
  const ours = commit(folder, { a: 'ours' });
  git(folder, 'push', '--quiet', bare, 'run/a', `${ours}:refs/heads/other`);
  git(folder, 'reset', '--quiet', '--hard', 'main');
  commit(folder, { a: 'theirs' });
  git(folder, 'push', '--quiet', '--force', bare, 'run/a');
  await assert.rejects(
    worker().prepare({ source: 'git', repo: url, branch: 'run/a', commit: ours }, { task: 't', attempt: 1 }),
    { code: 'WORKSPACE_MISMATCH' },
  );
});

test('commits that a dead attempt pushed and never told of are taken back by the next', async () => {
  const { url, bare } = remote();
  const [a, b] = [worker(), worker()];
  const spec = { source: 'git', repo: url, branch: 'run/a', publish: 'push' } as const;
  const first = await a.prepare(spec, { task: 't', attempt: 1 });
  writeFiles(first.path, { a: 'a' });
  await first.commitAll('Never told');
  await first.publish();
  const second = await b.prepare({ ...spec, commit: first.commit }, { task: 't', attempt: 2 });
  assert.equal(second.commit, first.commit);
  writeFiles(second.path, { b: 'b' });
  const told = await second.commitAll('Told');
  assert.equal((await second.publish()).how, 'pushed');
  assert.equal(git(bare, 'rev-parse', 'run/a'), told);
  writeFiles(first.path, { c: 'late' });
  await first.commitAll('Late');
  await assert.rejects(first.publish(), { code: 'WORKSPACE_MISMATCH' }, 'an attempt that is over writes over nobody');
  assert.equal(git(bare, 'rev-parse', 'run/a'), told);
});

test('the branch of a repository of a root is made in that repository, and its folder goes at the end', async () => {
  const root = join(temp, 'root');
  const folder = scratchRepository(join(root, 'shop'));
  const own = worker({ roots: new Map([['main', root]]) });
  const spec: WorkspaceSpec = { source: 'git', repo: 'main/shop', branch: 'run/a' };
  const first = await own.prepare(spec, { task: 't', attempt: 1 });
  writeFiles(first.path, { a: 'a' });
  const made = await first.commitAll('A');
  assert.deepEqual(await first.publish(), { how: 'none', commit: made });
  await first.close('completed');
  assert.deepEqual([git(folder, 'rev-parse', 'run/a'), git(folder, 'worktree', 'list').split('\n').length], [made, 1]);
  const beside = await own.prepare(spec, {
    task: 't',
    attempt: 2,
    worktree: '../{{ repo }}.{{ run_branch | sanitize }}',
  });
  assert.deepEqual([beside.path, beside.commit], [join(root, 'shop.run-a'), made]);
  await beside.close('completed');
  assert.deepEqual(readdirSync(root), ['shop']);
  scratchRepository(join(temp, 'whole'));
  const whole = worker({ roots: new Map([['whole', join(temp, 'whole')]]) });
  const outside = whole.prepare({ ...spec, repo: 'whole' }, { task: 't', attempt: 1, worktree: '../{{ repo }}.x' });
  await assert.rejects(outside, { code: 'INVALID_INPUT' }, 'beside a root is outside of it');
});

test('a folder of somebody in the place of a worktree is left alone', async () => {
  const root = join(temp, 'taken');
  const folder = scratchRepository(join(root, 'shop'));
  const own = worker({ roots: new Map([['main', root]]) });
  const prepared = () =>
    own.prepare(
      { source: 'git', repo: 'main/shop', branch: 'run/a' },
      { task: 't', attempt: 1, worktree: '../{{ repo }}.{{ run_branch | sanitize }}' },
    );
  const place = join(root, 'shop.run-a');
  writeFiles(place, { 'thesis.txt': 'three years' });
  await assert.rejects(prepared(), { code: 'WORKSPACE_FAILED' });
  assert.equal(readFileSync(join(place, 'thesis.txt'), 'utf8'), 'three years');
  rmSync(place, { recursive: true });
  git(folder, 'worktree', 'add', '--quiet', '-b', 'mine', place);
  writeFiles(place, { 'thesis.txt': 'three years' });
  await assert.rejects(prepared(), { code: 'WORKSPACE_FAILED' }, 'a worktree of another branch');
  assert.equal(readFileSync(join(place, 'thesis.txt'), 'utf8'), 'three years');
  git(folder, 'worktree', 'remove', '--force', place);
  mkdirSync(place);
  await (await prepared()).close('completed');
});

test('an empty workspace is a fresh directory that only its owner reads', async () => {
  const own = worker();
  const first = await own.prepare({ source: 'empty', keep: 'keep' }, { task: 't', attempt: 1 });
  writeFileSync(join(first.path, 'x'), 'x');
  assert.equal(statSync(first.path).mode & 0o777, 0o700);
  await first.close('completed');
  assert.ok(existsSync(join(first.path, 'x')), 'it is kept');
  const second = await own.prepare({ source: 'empty' }, { task: 't', attempt: 2 });
  assert.deepEqual([second.path, readdirSync(second.path)], [first.path, []]);
  await assert.rejects(second.commitAll('x'), { code: 'INVALID_INPUT' });
  await second.close('failed');
  assert.ok(!existsSync(second.path));
});

test('what becomes of a folder is what its policy says', async () => {
  const own = worker();
  const end = async (
    keep: 'delete' | 'keep' | 'archive' | 'on-failure',
    outcome: 'completed' | 'failed',
    archive?: (file: string) => Promise<void>,
  ) => {
    number += 1;
    const workspace = await own.prepare({ source: 'empty', keep }, { task: `k${number}`, attempt: 1, archive });
    writeFiles(workspace.path, { 'a/b': 'text' });
    symlinkSync('/etc/passwd', join(workspace.path, 'link'));
    await workspace.close(outcome);
    return existsSync(workspace.path);
  };
  assert.deepEqual([await end('delete', 'failed'), await end('on-failure', 'completed')], [false, false]);
  assert.deepEqual([await end('keep', 'completed'), await end('on-failure', 'failed')], [true, true]);
  let packed: string | undefined;
  const take = async (file: string) => {
    packed = join(temp, 'packed.tar.gz');
    renameSync(file, packed);
  };
  assert.equal(await end('archive', 'completed', take), false);
  assert.ok(statSync(packed as string).size > 0);
  const fails = () => Promise.reject(new Error('the place is out of reach'));
  assert.equal(await end('archive', 'completed', fails), true, 'what could not be archived is not lost');
  assert.deepEqual((await own.orphans()).map(({ state }) => state ?? '').toSorted(), ['failed', 'kept', 'kept']);
  const keys = (await own.orphans()).map(({ key }) => key);
  assert.deepEqual(await own.clean([...keys, '../../etc', 'no-such']), [...keys, 'no-such']);
  assert.deepEqual([await own.orphans(), readdirSync(join(own.folder, 'work'))], [[], []]);
});

test('an orphan is what belongs to no attempt that lives, known or not', async () => {
  const own = worker();
  const open = await own.prepare({ source: 'empty' }, { task: 'a', attempt: 1 });
  const before = new WorkspaceResolver({
    folder: own.folder,
    roots: new Map(),
    clock: { wall: () => 0 },
    timers: TIMERS,
  });
  mkdirSync(join(own.folder, 'work', 'stranger'));
  assert.deepEqual((await before.orphans()).map(({ task, key }) => task ?? key).toSorted(), ['a', 'stranger']);
  assert.deepEqual(
    (await before.orphans(({ task }) => task === 'a')).map(({ key }) => key),
    ['stranger'],
  );
  assert.deepEqual(
    (await own.orphans()).map(({ key }) => key),
    ['stranger'],
    'its own are in use',
  );
  const [mine] = await before.orphans();
  assert.deepEqual(await own.clean([mine?.key as string]), mine?.task === 'a' ? [] : ['stranger']);
  await open.close('completed');
});

test('a folder in use is given to no other attempt', async () => {
  const own = worker();
  const first = await own.prepare({ source: 'empty' }, { task: 'a', attempt: 1 });
  await assert.rejects(own.prepare({ source: 'empty' }, { task: 'a', attempt: 2 }), { code: 'WORKSPACE_FAILED' });
  await first.close('lost');
  await (await own.prepare({ source: 'empty' }, { task: 'a', attempt: 2 })).close('completed');
});

test('a folder below a root is handed out as it is, and stays', async () => {
  const root = join(temp, 'shared');
  mkdirSync(root);
  const own = worker({ roots: new Map([['main', root]]) });
  const workspace = await own.prepare({ source: 'shared_fs', path: 'main/a/b' }, { task: 'a', attempt: 1 });
  assert.deepEqual([workspace.path, await workspace.publish()], [join(root, 'a', 'b'), { how: 'none' }]);
  assert.deepEqual((await workspace.diff()).files, []);
  await workspace.close('completed');
  assert.ok(existsSync(workspace.path));
  symlinkSync(temp, join(root, 'out'));
  for (const path of ['main/out', 'main/out/server'])
    await assert.rejects(own.prepare({ source: 'shared_fs', path }, { task: 'a', attempt: 1 }), /leads out/);
  await assert.rejects(own.prepare({ source: 'git', repo: 'main/out' }, { task: 'a', attempt: 1 }), /leads out/);
});

test('the cache gives up what is old or too much, and nothing that somebody borrows from', async () => {
  const [a, b] = [remote(), remote()];
  let now = Date.now();
  const own = worker({ clock: { wall: () => now }, caps: { cacheMs: 1000, cacheBytes: 1024 ** 3 } });
  const open = await own.prepare({ source: 'git', repo: a.url }, { task: 'a', attempt: 1 });
  await (await own.prepare({ source: 'git', repo: b.url }, { task: 'b', attempt: 1 })).close('completed');
  assert.equal(await own.pruneCache(), 0);
  now += 2000;
  assert.equal(await own.pruneCache(), 1);
  assert.equal(git(open.path, 'log', '--format=%s'), 'Begin');
  await open.close('completed');
  assert.equal(await own.pruneCache(), 1);
  const cold = await own.prepare({ source: 'git', repo: a.url }, { task: 'c', attempt: 1 });
  assert.equal(cold.warm, false);
  await cold.close('completed');
});

test('a workspace whose record or folder is broken is made again', async () => {
  const { url } = remote();
  const own = worker();
  const spec: WorkspaceSpec = { source: 'git', repo: url, branch: 'run/a', keep: 'keep' };
  const first = await own.prepare(spec, { task: 'a', attempt: 1 });
  await first.close('completed');
  rmSync(join(first.path, '.git'));
  writeFileSync(join(first.path, 'junk'), 'x');
  const [record] = readdirSync(join(own.folder, 'records'));
  writeFileSync(join(own.folder, 'records', record as string), '{');
  assert.equal((await own.orphans()).length, 1, 'it is listed all the same');
  const second = await own.prepare(spec, { task: 'a', attempt: 2 });
  assert.deepEqual([second.path, readdirSync(second.path).toSorted()], [first.path, ['.git', 'README.md']]);
  await second.close('completed');
});
