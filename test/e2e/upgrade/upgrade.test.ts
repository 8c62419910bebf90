/** A worker that is installed by one line, and upgraded while tasks run. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { writeReleaseKey } from '../../../src/app/release/sign-release.ts';
import { completed, digest, pushNeeding, untilHeld } from '../../support/credentials/ground.ts';
import { BIN, temporaryFolder } from '../../support/leasehold.ts';
import { RealNode } from '../../support/real-node.ts';
import {
  anotherUser,
  assertInstalled,
  Host,
  putRelease,
  workerFiles,
} from '../../support/releases/installed-worker.ts';

const TERMS = { connectMs: 60_000, proveMs: 500, retryMs: 200, pinMs: 3_600_000 };
let files: Readonly<Record<string, string>>;
before(async () => {
  files = await workerFiles();
});

test('a worker is created and installed with one line each, gets tags and a credential, goes to a newer release under load without losing a task, and is cut off', async (t) => {
  const folder = temporaryFolder(t);
  const [served, keyFile] = [join(folder, 'release'), join(folder, 'release.pem')];
  const key = writeReleaseKey(keyFile);
  putRelease(served, { version: '0.1.0', files, keyFile });
  const node = await RealNode.start(t, ['--no-worker', '--release', served], folder);

  // One command here.
  const created = spawnSync(
    process.execPath,
    [BIN, 'workers', 'create', 'gpu-box', '--tag', 'gpu', '--any', '--install', node.url],
    { cwd: folder, encoding: 'utf8' },
  );
  assert.equal(created.status, 0, created.stderr);
  const [, args = ''] = /\| sh -s -- (.*)/.exec(created.stdout) ?? [];
  const [, code = ''] = /asks for the code: (\S+)/.exec(created.stdout) ?? [];
  assert.ok(args.includes(`--key ${key}`), created.stdout);

  // And one there: another home, and of another user if we may be that.
  const user = anotherUser();
  if (user === undefined) t.diagnostic('only root can be another user');
  const host = new Host(t, join(folder, 'elsewhere'), user);
  const script = await (await fetch(`${node.url}/install.sh`)).text();
  const options = [...args.split(' '), '--node', process.execPath, '--code-file', host.codeFile(code)];
  assertInstalled(await host.install(script, options));
  host.configure({ terms: TERMS, arguments: ['--slots', '2', '--allow', 'shell', '--vault-level', 'file'] });
  const updater = host.start();
  await updater.says(/Worker gpu-box runs/);
  assert.equal((await node.worker('gpu-box')).release.version, '0.1.0');
  if (user !== undefined) assert.equal(statSync(`/proc/${(await node.worker('gpu-box')).pid}`).uid, user);

  // It runs what needs both its tag and a credential, also after it was upgraded.
  await node.call('POST', '/credentials', { name: 'hub', value: 'the value of hub', workers: ['gpu-box'] });
  await untilHeld(node, 'hub', 'gpu-box', 1);
  const both = { placement: { requires: ['gpu'], credentials: ['hub'] } };
  const expected = { by: 'gpu-box', digest: digest('the value of hub') };
  assert.deepEqual(await completed(node, await pushNeeding(node, 'hub', both)), expected);

  const push = (delay_ms: number): Promise<string> =>
    node.push({ handler: 'echo', input: { delay_ms }, placement: { requires: ['gpu'] } });
  const tasks = await Promise.all(Array.from({ length: 30 }, (_, n) => push(n === 0 ? 3000 : 150)));

  putRelease(served, { version: '0.1.1', files, keyFile });
  await node.call('PATCH', '/upgrade', { target: '0.1.1' });
  await updater.says(/The node wants release 0\.1\.1: running tasks come to their end first/);
  await updater.says(/Worker gpu-box runs[\s\S]*Worker gpu-box runs/);
  await node.until(
    async () => host.state().trial === undefined && host.state().version === '0.1.1',
    'it runs the new one',
  );

  const ended = async (): Promise<boolean> => {
    const found = await Promise.all(tasks.map((id) => node.task(id)));
    return found.every(({ state }) => state === 'completed');
  };
  await node.until(ended, 'every task is completed');
  for (const id of tasks) {
    const { tries, attempt } = await node.task(id);
    assert.equal(tries, 1, `${id} was cut off (attempt ${attempt})`);
  }
  const { workers } = await node.call('GET', '/upgrade');
  assert.deepEqual(
    workers.map(({ name, version, wanted }: { name: string; version: string; wanted?: string }) => [
      name,
      version,
      wanted,
    ]),
    [['gpu-box', '0.1.1', undefined]],
  );
  assert.deepEqual(await completed(node, await pushNeeding(node, 'hub', both)), expected);

  // Removed: nothing of it counts any more, and it is gone within a second.
  const since = performance.now();
  await node.call('DELETE', '/workers/gpu-box');
  await node.until(async () => (await node.worker('gpu-box'))?.state !== 'online', 'it is cut off');
  const took = performance.now() - since;
  t.diagnostic(`cut off after ${Math.round(took)} ms`);
  const left = await node.push({ handler: 'echo', input: {}, placement: { requires: ['gpu'] } });
  assert.equal((await updater.ended).code, 4, 'the worker was refused, and its updater starts nothing more');
  assert.equal((await node.task(left)).state, 'ready');
  assert.deepEqual((await node.call('GET', '/credentials/hub')).holders, []);
});

test('a release that crashes at its start is left, and the old one goes on working; a refused one is told to go', async (t) => {
  const folder = temporaryFolder(t);
  const [served, keyFile] = [join(folder, 'release'), join(folder, 'release.pem')];
  const key = writeReleaseKey(keyFile);
  putRelease(served, { version: '0.1.0', files, keyFile });
  const node = await RealNode.start(t, ['--no-worker', '--release', served], folder);
  const { code } = await node.call('POST', '/workers', { name: 'box', handlers: null, code: true });
  const host = new Host(t, join(folder, 'elsewhere'));
  const script = await (await fetch(`${node.url}/install.sh`)).text();
  const args = ['--server', node.url, '--key', key, '--node', process.execPath, '--code-file', host.codeFile(code)];
  assertInstalled(await host.install(script, args));
  host.configure({ terms: { ...TERMS, retryMs: 600_000 } });
  const updater = host.start();
  await updater.says(/Worker box runs/);

  const broken = { 'dist/cli/main.js': 'process.exit(3);' };
  putRelease(served, { version: '0.1.1', files, keyFile, changes: broken });
  await node.call('PATCH', '/upgrade', { target: '0.1.1' });
  await updater.says(/Worker box runs[\s\S]*Worker box runs/);
  await node.until(async () => (await node.worker('box')).release?.updater?.state === 'waiting', 'the node is told');
  const { release } = await node.worker('box');
  assert.equal(release.version, '0.1.0');
  assert.equal(release.wanted, '0.1.1');
  assert.match(release.updater.problem, /release 0\.1\.1: it did not connect/);
  const id = await node.push({ handler: 'echo', input: { still: 1 } });
  await node.until(async () => (await node.task(id)).state === 'completed', 'it works');
  updater.child.kill('SIGTERM');
  await updater.ended;
});
