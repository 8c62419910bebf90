/** What lies on the disk: another user of the host reads nothing of it, and who has read a store is nobody all the same. */
import assert from 'node:assert/strict';
import { createHmac, createSecretKey, randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { COOKIE } from '../../src/server/ui/cookie.ts';
import { tempFolder } from '../../src/store/conformance/kit/temp-folder.ts';
import { BIN, run, temporaryFolder } from '../support/leasehold.ts';
import type { NodeScene } from '../support/node-scene.ts';
import { asNobody, notRoot } from './nobody.ts';
import { hire, target } from './scene.ts';

/** A folder that everybody may look into, and a node in it that was started with a umask that takes nothing away. */
async function laxNode(t: TestContext, before: (folder: string) => void = () => {}): Promise<string> {
  const folder = temporaryFolder(t);
  chmodSync(folder, 0o755);
  before(folder);
  const line = `umask 000; exec "${process.execPath}" "${BIN}" up --port 0 --no-worker`;
  const node = run(t, ['-c', line], { cwd: folder, command: '/bin/sh' });
  await node.address();
  const done = async (...args: readonly string[]): Promise<void> => {
    const command = `umask 000; exec "${process.execPath}" "${BIN}" "$@"`;
    const { code } = await run(t, ['-c', command, 'sh', ...args], { cwd: folder, command: '/bin/sh' }).ended;
    assert.equal(code, 0, args.join(' '));
  };
  await done('push', 'echo', '{"card":"4711"}');
  await done('backup', '.leasehold/inside.db');
  await done('backup', 'outside.db');
  return folder;
}

const NAMES = [
  'leasehold.db',
  'leasehold.db-wal',
  'leasehold.db-shm',
  'token',
  'node.json',
  'cluster-secret',
  'inside.db',
];

/** Nobody can list the data folder or read a file in it, or a backup beside it. */
function readsNothing(folder: string): void {
  const data = join(folder, '.leasehold');
  assert.equal(asNobody(`ls "${folder}"`).status, 0, 'the folder around it is open');
  assert.notEqual(asNobody(`ls "${data}"`).status, 0);
  for (const path of [...NAMES.map((name) => join(data, name)), join(folder, 'outside.db')]) {
    assert.ok(existsSync(path), path);
    const read = asNobody(`cat "${path}"`);
    assert.notEqual(read.status, 0, path);
    assert.match(read.out, /Permission denied/, path);
  }
  // Not only because of the folder: each of them has its own mode.
  chmodSync(data, 0o755);
  for (const name of readdirSync(data)) {
    const read = asNobody(`cat "${join(data, name)}"`);
    assert.notEqual(read.status, 0, name);
  }
  chmodSync(data, 0o700);
}

describe('another user of the same host', { skip: notRoot }, () => {
  test('reads nothing of a data folder, whatever the umask of the node was', async (t) => {
    readsNothing(await laxNode(t));
  });

  test('reads nothing of a data folder that an older version left open', async (t) => {
    const folder = await laxNode(t, (here) => {
      const data = join(here, '.leasehold');
      mkdirSync(data);
      chmodSync(data, 0o777);
      for (const name of ['leasehold.db', 'token', 'older.db']) {
        writeFileSync(join(data, name), name === 'token' ? 'a-token-of-an-older-version' : '');
        chmodSync(join(data, name), 0o666);
      }
    });
    readsNothing(folder);
  });
});

/** Everything that a store has in its `meta`, as somebody who has read the file knows it. */
function readStore(file: string): {
  readonly values: readonly string[];
  readonly sessions: readonly { readonly hash: string; readonly admin: string | null }[];
  readonly tokens: readonly { readonly id: number; readonly name: string; readonly hash: string }[];
} {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const values = db.prepare('SELECT value FROM meta').all() as unknown as { value: string }[];
    return {
      values: values.flatMap(({ value }) => [value, ...value.split(' ')]),
      sessions: db.prepare('SELECT hash, admin FROM browser_session').all() as never,
      tokens: db.prepare('SELECT id, name, hash FROM entry_token').all() as never,
    };
  } finally {
    db.close();
  }
}

/** Keys that somebody can make of what is in the store, by the ways of older versions and by guessing. */
function keysFrom(values: readonly string[], purposes: readonly string[]): readonly Buffer[] {
  const derived = (value: string, purpose: string): Buffer => createHmac('sha256', value).update(purpose).digest();
  return values.flatMap((value) => [
    Buffer.from(value),
    Buffer.from(value, 'hex'),
    ...purposes.map((purpose) => derived(value, purpose)),
  ]);
}

function signed(key: Buffer, content: object): string {
  const text = Buffer.from(JSON.stringify(content)).toString('base64url');
  return `${text}.${createHmac('sha256', createSecretKey(key)).update(text).digest('base64url')}`;
}

async function victim(t: TestContext): Promise<{ readonly node: NodeScene; readonly file: string }> {
  const file = join(tempFolder('disk'), 'work.db');
  const { node } = await target(t, { store: `sqlite:${file}` });
  return { node, file };
}

describe('who has read the whole store', () => {
  test('forges no session of a browser', async (t) => {
    const { node, file } = await victim(t);
    const { token } = await node.token('read');
    for (const proof of [{ token: node.admin }, { token }])
      assert.equal((await node.ask('/ui/login', { token: null, body: proof })).status, 200);
    const { values, sessions, tokens } = readStore(file);
    assert.equal(sessions.length, 2);
    const content = { id: randomUUID(), role: 'admin', name: 'admin', token: tokens[0]?.id, until: Date.now() + 1e7 };
    const forged = [
      ...keysFrom([...values, ...sessions.map(({ hash }) => hash)], ['browser sessions', 'sessions']).map((key) =>
        signed(key, content),
      ),
      ...sessions.flatMap(({ hash, admin }) => [hash, `lh_ses_${hash}`, admin ?? '']),
      ...values,
      ...tokens.map(({ hash }) => hash),
    ];
    assert.ok(forged.length > 30);
    for (const cookie of forged.filter((one) => one !== '' && !one.includes(';'))) {
      const headers = { cookie: `${COOKIE}=${cookie}` };
      assert.equal((await node.ask('/api/v1/me', { token: null, headers })).status, 401, cookie);
    }
    for (const token of [...values, ...tokens.map(({ hash }) => hash)].filter((one) => /^[\x21-\x7e]+$/.test(one)))
      assert.equal((await node.ask('/api/v1/me', { token })).status, 401, token);
  });

  test('forges no session of a worker', async (t) => {
    const { node, file } = await victim(t);
    const { worker } = await hire(node, 'box');
    t.after(() => worker.socket.terminate());
    const { values, tokens } = readStore(file);
    const session = {
      name: 'box',
      worker: randomUUID(),
      token: tokens.find(({ name }) => name === 'box')?.id,
      handlers: ['echo'],
      tags: [],
      slots: 1,
    };
    await node.engine.push({ queue: 'echo', handler: 'echo' });
    for (const key of keysFrom(values, ['sessions', 'worker sessions'])) {
      const headers = { 'x-session-token': signed(key, session) };
      const path = `/workers/${session.worker}/tasks`;
      const answer = await node.ask(path, { token: null, headers, body: { max: 1, waitMs: 0, n: 1, holding: [] } });
      assert.equal(answer.status, 401, JSON.stringify(answer.body));
    }
  });

  test('forges no token of a lease', async (t) => {
    const { node, file } = await victim(t);
    const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box' } });
    const { worker } = await hire(node, 'other');
    t.after(() => worker.socket.terminate());
    await node.engine.push({ queue: 'echo', handler: 'echo' });
    // The honest start of "box", over HTTP; somebody with its secret speaks for it over a socket.
    const incarnation = randomUUID();
    const joined = await node.call('joinWorker', '/workers/join', {
      token: secret,
      body: { name: 'box', incarnation, slots: 1, tags: [], handlers: ['echo'] },
    });
    const taken = await node.ask(`/workers/${joined.worker}/tasks`, {
      token: null,
      headers: { 'x-session-token': joined.session },
      body: { max: 1, waitMs: 1000, n: 1, holding: [] },
    });
    const [{ task, attempt, token }] = taken.body;
    // It goes without a word about the task; a name has one holder.
    await node.call('askNode', `/workers/${joined.worker}/ask`, {
      token: null,
      headers: { 'x-session-token': joined.session },
      body: { asked: [{ type: 'heartbeat', n: 1, state: 'offline' }] },
    });
    const { RawWorker } = await import('../support/raw-worker.ts');
    const thief = await RawWorker.dial(node.service.address);
    t.after(() => thief.socket.terminate());
    await thief.enter({ name: 'box', secret });
    for (const key of keysFrom(readStore(file).values, ['leases'])) {
      const digest = createHmac('sha256', createSecretKey(key))
        .update(`${task}/${attempt}/box/${incarnation}`)
        .digest();
      const forged = digest.subarray(0, 16).toString('base64url');
      assert.notEqual(forged, token);
      const lease = { task, attempt, token: forged, incarnation };
      assert.equal((await thief.denied('task_complete', { lease, result: '"stolen"' })).code, 'LEASE_LOST');
    }
    const lease = { task, attempt, token, incarnation };
    await thief.told('task_complete', { lease, result: '"right"' });
  });
});
