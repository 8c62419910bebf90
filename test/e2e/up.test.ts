import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { openNode } from '../../src/index.ts';
import { ROOT, run, temporaryFolder } from '../support/leasehold.ts';

const UP = ['up', '--port', '0'];

test('up makes its store, answers /healthz at the address that it prints, and SIGINT ends it with 0', async (t) => {
  const cwd = temporaryFolder(t);
  const node = run(t, UP, { cwd });
  const response = await fetch(`${await node.address()}/healthz`);
  assert.equal(response.status, 200);
  assert.deepEqual(await response.json(), { status: 'ok' });
  assert.ok(existsSync(join(cwd, '.leasehold/leasehold.db')));
  node.child.kill('SIGINT');
  assert.deepEqual(await node.ended, { code: 0, signal: null });
  assert.match(node.stdout, /\nStopped after \d+s\. Everything acknowledged is in \.leasehold\/leasehold\.db\.\n$/);
  assert.equal(node.stderr, '');
});

test('SIGTERM ends it with 0, and the store is left complete in one file', async (t) => {
  const cwd = temporaryFolder(t);
  const node = run(t, UP, { cwd });
  await node.address();
  node.child.kill('SIGTERM');
  assert.deepEqual(await node.ended, { code: 0, signal: null });
  assert.equal(existsSync(join(cwd, '.leasehold/leasehold.db-wal')), false);
});

/** Holds the write lock of the store, so that a node which stops has to wait with giving its duties back. */
function lockStore(cwd: string): DatabaseSync {
  const db = new DatabaseSync(join(cwd, '.leasehold/leasehold.db'), { timeout: 5000 });
  db.exec('BEGIN IMMEDIATE');
  return db;
}

test('two signals within a few milliseconds count as one: the node still stops in order', async (t) => {
  const cwd = temporaryFolder(t);
  const node = run(t, UP, { cwd });
  await node.says(/duties: stager, reaper, cron, pruner, auditor/);
  const lock = lockStore(cwd);
  node.child.kill('SIGINT');
  node.child.kill('SIGTERM');
  await node.says(/Still stopping/);
  lock.exec('ROLLBACK');
  lock.close();
  assert.deepEqual(await node.ended, { code: 0, signal: null });
  assert.match(node.stdout, /Stopped after/);
});

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  test(`a second ${signal} after 300 ms ends it at once with ${code}`, async (t) => {
    const cwd = temporaryFolder(t);
    const node = run(t, UP, { cwd });
    await node.says(/duties: stager, reaper, cron, pruner, auditor/);
    const lock = lockStore(cwd);
    t.after(() => lock.close());
    node.child.kill('SIGINT');
    await node.says(/Still stopping/);
    node.child.kill(signal);
    assert.deepEqual(await node.ended, { code, signal: null });
    assert.doesNotMatch(node.stdout, /Stopped after/);
  });
}

test('with --json every line is an object, and the figures follow what another process does', async (t) => {
  const cwd = temporaryFolder(t);
  const up = run(t, [...UP, '--json'], { cwd });
  await up.address();
  const other = await openNode(`sqlite:${join(cwd, '.leasehold/leasehold.db')}`, { duties: false });
  t.after(() => other.close());
  await other.engine.push({ queue: 'emails', handler: 'send' });
  await up.says(/"name":"emails","paused":false,"ready":1,/);
  up.child.kill('SIGINT');
  assert.deepEqual(await up.ended, { code: 0, signal: null });
  const events = up.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: string; pid?: number; duties?: string[] });
  assert.equal(events[0]?.event, 'started');
  assert.equal(events[0]?.pid, up.child.pid);
  assert.ok(events.some(({ event, duties }) => event === 'figures' && duties?.length === 7));
  assert.deepEqual(
    events
      .map(({ event }) => event)
      .filter((event) => event !== 'still-stopping')
      .slice(-2),
    ['stopping', 'stopped'],
  );
});

test('a second node on the same store leaves the duties to the first', async (t) => {
  const cwd = temporaryFolder(t);
  const first = run(t, UP, { cwd });
  await first.says(/duties: stager, reaper, cron, pruner, auditor/);
  const second = run(t, UP, { cwd });
  await second.says(/duties: none here \(another process holds them\)/);
  second.child.kill('SIGINT');
  first.child.kill('SIGINT');
  assert.equal((await second.ended).code, 0);
  assert.equal((await first.ended).code, 0);
});

test('a wrong flag, a wrong value and a wrong command are wrong usage: status 2 and the word that was meant', async (t) => {
  const cwd = temporaryFolder(t);
  for (const [args, says] of [
    [['up', '--prot', '1'], /^There is no option --prot\.\nDid you mean --port\?\n$/],
    [['up', '--port', 'x'], /^The --port is not valid: "x" is not a whole number/],
    [['up', '--host', '0.0.0.0'], /not a loopback address.*\n.*--tls-cert/],
    [['up', '--store', 'mysql://x'], /mysql: is not a store that this version knows/],
    [['upp'], /Did you mean "leasehold up"\?/],
    [[], /^leasehold COMMAND \[OPTIONS\]\n/],
  ] as const) {
    const node = run(t, args, { cwd });
    assert.deepEqual(await node.ended, { code: 2, signal: null }, args.join(' '));
    assert.match(node.stderr, says);
    assert.equal(node.stdout, '');
  }
  assert.equal(existsSync(join(cwd, '.leasehold')), false, 'none of them left anything behind');
});

test('a store that cannot be opened is a failure: status 1, what is wrong and what to do', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'junk.db'), 'this is not a database, and it is long enough to be looked at'.repeat(100));
  const broken = run(t, [...UP, '--store', 'sqlite:junk.db'], { cwd });
  assert.equal((await broken.ended).code, 1);
  assert.match(broken.stderr, /^The store holds data that cannot be right.*\n.*restore the last good backup\.\n$/);

  // A file where a folder should be stops even root, which permissions do not.
  const unwritable = run(t, [...UP, '--store', 'sqlite:junk.db/leasehold.db', '--json'], { cwd });
  assert.equal((await unwritable.ended).code, 1);
  const { error } = JSON.parse(unwritable.stderr) as { error: { code: string; hint: string } };
  assert.equal(error.code, 'STORE_UNAVAILABLE');
  assert.match(error.hint, /Make the folder .*junk\.db writable/);
});

test('a port in use is a failure that names --port', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(() => taken.close());
  const { port } = taken.address() as { port: number };
  const node = run(t, ['up', '--port', String(port)], { cwd: temporaryFolder(t) });
  assert.equal((await node.ended).code, 1);
  assert.match(node.stderr, new RegExp(`port ${port} of 127.0.0.1 is already in use.*\\n.*--port`));
});

test('when its reader goes away it stops in order', async (t) => {
  const node = run(t, [...UP, '--json'], { cwd: temporaryFolder(t) });
  await node.address();
  node.child.stdout.destroy();
  assert.deepEqual(await node.ended, { code: 0, signal: null });
});

test('one Ctrl-C ends "npm start" with 0, although it reaches the node twice', async (t) => {
  const cwd = temporaryFolder(t);
  const npm = run(t, ['start', '--', '--port', '0', '--data-dir', cwd], { cwd: ROOT, command: 'npm', group: true });
  await npm.address();
  // As a terminal does it: to everything in the foreground group, npm included, which passes it on.
  process.kill(-(npm.child.pid as number), 'SIGINT');
  assert.equal((await npm.ended).code, 0);
  assert.match(npm.stdout, /Stopped after/);
});
