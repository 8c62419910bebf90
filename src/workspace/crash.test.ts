import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gitServer } from '../../test/support/git/git-server.ts';
import { git, scratchRepository, TIMERS, until } from '../../test/support/git/scratch.ts';
import type { WorkspaceSpec } from '../core/workspace/workspace.ts';
import { tempFolder } from '../store/conformance/kit/temp-folder.ts';
import { WorkspaceResolver } from './resolver.ts';

const temp = realpathSync(tempFolder('crash'));
const server = await gitServer(join(temp, 'server'));
const files = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`d${at % 30}/f${at}`, `${at}\n`.repeat(50)]));
const url = server.publish('shop', scratchRepository(join(temp, 'shop'), files));
const child = fileURLToPath(new URL('../../test/support/git/workspace-child.ts', import.meta.url));

function start(folder: string, spec: WorkspaceSpec): ChildProcess {
  const started = spawn(process.execPath, [child, JSON.stringify({ folder, spec, task: 't' })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  after(() => started.kill('SIGKILL'));
  return started;
}

async function kill(process: ChildProcess): Promise<void> {
  process.kill('SIGKILL');
  await once(process, 'exit');
}

/** Processes that were told of this folder, but the one that was started with it. */
function gitsBelow(folder: string): readonly string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`--git-dir=${folder}`);
    } catch {
      return false;
    }
  });
}

const again = (folder: string): WorkspaceResolver =>
  new WorkspaceResolver({
    folder,
    roots: new Map(),
    protocols: ['http'],
    clock: { wall: () => Date.now() },
    timers: TIMERS,
  });

test('a worker that is killed in the middle of a clone leaves no git behind, and the next attempt makes the workspace', {
  skip: !existsSync('/proc'),
}, async () => {
  const folder = join(temp, 'clone');
  const reached = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  server.hold = () => {
    reached.resolve();
    return held.promise;
  };
  const killed = start(folder, { source: 'git', repo: url });
  await reached.promise;
  assert.ok(gitsBelow(folder).length > 0);
  await kill(killed);
  await until('the end of every git of the worker', () => gitsBelow(folder).length === 0);
  server.hold = undefined;
  held.resolve();
  const resolver = again(folder);
  assert.deepEqual(
    (await resolver.orphans()).map(({ task, state }) => [task, state]),
    [['t', 'preparing']],
  );
  const workspace = await resolver.prepare({ source: 'git', repo: url }, { task: 't', attempt: 2 });
  assert.deepEqual([workspace.warm, git(workspace.path, 'status', '--porcelain')], [false, '']);
  await workspace.close('completed');
  assert.deepEqual([await resolver.orphans(), globSync('cache/**/tmp_*', { cwd: folder })], [[], []]);
});

test('a worker that is killed in the middle of a checkout leaves an orphan that the next attempt repairs', async () => {
  for (let round = 1; ; round += 1) {
    const folder = join(temp, `checkout${round}`);
    const spec: WorkspaceSpec = { source: 'git', repo: url, branch: 'run/a' };
    const killed = start(folder, spec);
    const tree = () => globSync('work/*/tree/d*', { cwd: folder }).length;
    await until('the first files', () => tree() > 0);
    await kill(killed);
    await until('the end of every git of the worker', () => !existsSync('/proc') || gitsBelow(folder).length === 0);
    const half = globSync('work/*/tree/d*/f*', { cwd: folder }).length < 3000;
    const resolver = again(folder);
    assert.equal((await resolver.orphans()).length, 1);
    const workspace = await resolver.prepare(spec, { task: 't', attempt: 2 });
    assert.deepEqual([workspace.branch, git(workspace.path, 'status', '--porcelain')], ['run/a', '']);
    assert.equal(globSync('d*/f*', { cwd: workspace.path }).length, 3000);
    await workspace.close('completed');
    assert.deepEqual(await resolver.orphans(), []);
    if (half) return;
    assert.ok(round < 5, 'no checkout was caught half done');
  }
});

test('a prepare that is aborted ends its git', async () => {
  const folder = join(temp, 'abort');
  const abort = new AbortController();
  server.hold = () => {
    abort.abort(new Error('stopped'));
    return new Promise(() => {});
  };
  await assert.rejects(
    again(folder).prepare({ source: 'git', repo: url }, { task: 't', attempt: 1, signal: abort.signal }),
    /stopped/,
  );
  server.hold = undefined;
  await until('the end of every git', () => !existsSync('/proc') || gitsBelow(folder).length === 0);
});

test('a server that never ends is given up in time', async () => {
  server.hold = () => new Promise(() => {});
  const folder = join(temp, 'slow');
  const resolver = new WorkspaceResolver({
    folder,
    roots: new Map(),
    protocols: ['http'],
    caps: { fetchMs: 1500 },
    clock: { wall: () => Date.now() },
    timers: TIMERS,
  });
  await assert.rejects(resolver.prepare({ source: 'git', repo: url }, { task: 't', attempt: 1 }), {
    code: 'WORKSPACE_FAILED',
    message: /longer than it may/,
  });
  server.hold = undefined;
});
