import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { run, temporaryFolder } from '../../support/leasehold.ts';
import { type Place, place } from './cli-calls.ts';

/** A node without a worker of its own, and where it answers. */
async function node(t: TestContext, { cwd }: Place): Promise<string> {
  return run(t, ['up', '--port', '0', '--no-worker'], { cwd }).address();
}

test('a worker joins by a code, runs what it may, and joins again by what it has kept', async (t) => {
  const here = place(t);
  const url = await node(t, here);
  const made = await here.call(['workers', 'create', 'box', '--tag', 'gpu', '--code', '--json']);
  assert.equal(made.code, 0, made.stderr);
  const [{ code, secret, tags }] = made.objects() as [{ code: string; secret?: string; tags: string[] }];
  assert.deepEqual([tags, secret], [['gpu'], undefined]);

  const there = temporaryFolder(t);
  const first = run(t, ['worker', '--join', url, '--code', code], { cwd: there });
  await first.says(/Worker box runs agent, aggregate, echo, graph, http, machine from http:/);
  const pushed = await here.call(['push', 'echo', '{"a":1}', '--require', 'gpu', '--follow']);
  assert.equal(pushed.code, 0, pushed.stderr);
  assert.match(pushed.stdout, /\{"a":1\}/);
  await first.says(/✓ task_.* echo +completed/);
  first.child.kill('SIGINT');
  assert.deepEqual(await first.ended, { code: 0, signal: null });

  assert.equal(statSync(join(there, '.leasehold/worker.json')).mode & 0o777, 0o600);
  const again = await here.call(['worker', '--join', url, '--code', code]);
  assert.equal(again.code, 4, 'a code is good once');
  assert.match(again.stderr, /The code was used/);
  await here.call(['push', 'echo', '{"b":2}']);
  const second = run(t, ['worker', '--join', url, '--once'], { cwd: there });
  assert.deepEqual(await second.ended, { code: 0, signal: null });
  assert.match(second.stdout, /✓ task_.* echo +completed/);
});

test('a worker is let in by its own secret only, with no more tags than it was given, and to the end of the secret', async (t) => {
  const here = place(t);
  const url = await node(t, here);
  const [{ secret }] = (await here.call(['workers', 'create', 'box', '--json'])).objects() as [{ secret: string }];
  const twice = await here.call(['workers', 'create', 'box']);
  assert.equal(twice.code, 1);
  assert.match(twice.stderr, /there is a worker box already/);
  const join = (name: string, ...more: string[]) =>
    here.call(['worker', '--join', url, '--name', name, '--idle-exit', '1s', ...more]);
  assert.equal((await join('box', '--secret', 'lh_wrk_wrong')).code, 4);
  assert.equal((await join('other', '--secret', secret)).code, 4);
  const tagged = await join('box', '--secret', secret, '--tag', 'gpu');
  assert.equal(tagged.code, 4);
  assert.match(tagged.stderr, /the tag gpu was not given to the worker box/);
  const none = await here.call(['worker', '--join', url, '--name', 'box']);
  assert.equal(none.code, 4);
  assert.match(none.stderr, /workers create/);

  const worker = run(t, ['worker', '--join', url, '--name', 'box', '--secret', secret], { cwd: here.cwd });
  await worker.says(/Worker box runs/);
  assert.equal((await here.call(['workers', 'rotate', 'box'])).code, 0);
  assert.equal((await worker.ended).code, 4, 'the old secret is good no more');
  const asked = await here.call(['workers', 'remove', 'box']);
  assert.equal(asked.code, 2);
  assert.match(asked.stderr, /--yes/);
  const dry = await here.call(['workers', 'remove', 'box', '--dry-run']);
  assert.match(dry.stdout, /^Would remove box, which has no task\. Nothing was changed\.\n$/);
  const removed = await here.call(['workers', 'remove', 'box', '--yes']);
  assert.deepEqual([removed.code, removed.stdout], [0, 'box is removed.\n']);
  assert.equal((await here.call(['workers', 'remove', 'box', '--yes'])).code, 3);
});

test('a worker joins over plain HTTP, and its status says how the one task went that it ran', async (t) => {
  const here = place(t);
  const url = await node(t, here);
  const [{ secret }] = (await here.call(['workers', 'create', 'box', '--json'])).objects() as [{ secret: string }];
  const once = (...more: string[]) =>
    here.call(['worker', '--join', url, '--http', '--name', 'box', '--secret', secret, '--once', ...more]);
  await here.call(['push', 'echo', '{"a":1}']);
  const done = await once();
  assert.deepEqual([done.code, done.stderr], [0, '']);
  assert.match(done.stdout, /✓ task_.* echo +completed/);
  await here.call(['push', 'echo', '{"fail":true}', '--max-attempts', '1']);
  const failed = await once();
  assert.equal(failed.code, 1, failed.stdout);
  assert.match(failed.stdout, /✗ task_.* echo +failed/);
  const idle = await once('--idle-exit', '200ms');
  assert.deepEqual([idle.code, idle.stdout.split('\n').at(-2)], [0, 'Stopped. No task was run.']);
});

test('a worker that has never reached its node ends at once when it is told to', async (t) => {
  const here = place(t);
  // Nobody listens on the port of a server that is gone.
  const url = await new Promise<string>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(`http://127.0.0.1:${port}`));
    });
  });
  for (const way of [[], ['--http']]) {
    const args = ['worker', '--join', url, '--name', 'box', '--secret', 'lh_wrk_x', ...way];
    const worker = run(t, args, { cwd: here.cwd });
    await worker.says(/cannot be reached; trying again/);
    worker.child.kill('SIGINT');
    assert.deepEqual(await worker.ended, { code: 0, signal: null }, worker.stderr);
    assert.match(worker.stdout, /Stopped\. No task was run\./);
  }
});

test('a secret is not sent in the clear beyond this machine, unless that is said', async (t) => {
  const here = place(t);
  for (const how of [
    ['--name', 'box', '--secret', 'lh_wrk_x'],
    ['--code', 'lh_enr_x'],
  ]) {
    const refused = await here.call(['worker', '--join', 'http://192.0.2.1:7420', ...how]);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /would travel to 192\.0\.2\.1 in the clear[\s\S]*--insecure/);
  }
});

test('secrets are in no file of the node', async (t) => {
  const here = place(t);
  const url = await node(t, here);
  const [{ secret }] = (await here.call(['workers', 'create', 'box', '--json'])).objects() as [{ secret: string }];
  const worker = run(t, ['worker', '--join', url, '--name', 'box', '--secret', secret], { cwd: temporaryFolder(t) });
  await worker.says(/Worker box runs/);
  for (const file of ['leasehold.db', 'leasehold.db-wal']) {
    assert.ok(!readFileSync(join(here.cwd, '.leasehold', file)).includes(secret), file);
  }
});
