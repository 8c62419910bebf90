/** Credentials from the operator to the handler: a real node, workers over both links, on both stores. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  completed,
  digest,
  ground,
  holder,
  joinAs,
  node,
  pushNeeding,
  untilHeld,
  worker,
} from '../../support/credentials/ground.ts';
import { temporaryFolder } from '../../support/leasehold.ts';

const SETS = '/credentials';

for (const store of ['sqlite', 'postgres'] as const)
  test(`a credential goes to the worker that was chosen, is renewed, and is taken away again: ${store}`, async (t) => {
    const at = await ground(t, store);
    const hub = await node(t, at);
    await worker(t, hub, 'ws');
    const httpFolder = temporaryFolder(t);
    await worker(t, hub, 'calls', ['--http'], httpFolder);
    await worker(t, hub, 'other');
    const made = await hub.call('POST', SETS, { name: 'db', value: 'the first value', workers: ['ws'] });
    assert.deepEqual([made.name, made.version, made.kind, made.workers], ['db', 1, 'text', ['ws']]);
    assert.equal('value' in made, false);
    await untilHeld(hub, 'db', 'ws', 1);
    assert.ok((await hub.worker('ws')).tags.includes('credential:db'));
    for (let n = 0; n < 3; n++) {
      assert.deepEqual(await completed(hub, await pushNeeding(hub, 'db')), {
        by: 'ws',
        digest: digest('the first value'),
      });
    }
    // Over HTTP, and to both at once.
    await hub.call('POST', `${SETS}/db/grant`, { workers: ['calls'] });
    await untilHeld(hub, 'db', 'calls', 1);
    await hub.call('POST', SETS, { name: 'db', fields: { user: 'u', password: 'the second' }, type: 'login' });
    for (const name of ['ws', 'calls']) await untilHeld(hub, 'db', name, 2);
    const second = digest(JSON.stringify({ user: 'u', password: 'the second' }));
    for (const name of ['ws', 'calls']) {
      const id = await pushNeeding(hub, 'db', { placement: { credentials: ['db'], only: [name] } });
      assert.deepEqual(await completed(hub, id), { by: name, digest: second });
    }
    // Taken away: the label with the answer, the copy within a second over the WebSocket.
    const since = performance.now();
    const revoked = await hub.call('POST', `${SETS}/db/revoke`, { workers: ['ws'] });
    assert.deepEqual(revoked.workers, ['calls']);
    assert.ok(!(await hub.worker('ws')).tags.includes('credential:db'));
    await hub.until(async () => (await holder(hub, 'db', 'ws'))?.status === 'removed', 'ws has removed it');
    t.diagnostic(`removed after ${Math.round(performance.now() - since)} ms`);
    const waits = await pushNeeding(hub, 'db', { placement: { credentials: ['db'], only: ['ws', 'other'] } });
    const explained = await hub.call('GET', `/tasks/${waits}/explain`);
    const reasons = Object.fromEntries(
      explained.workers.map(({ name, reasons: why }: { name: string; reasons: string[] }) => [name, why.join('; ')]),
    );
    assert.equal(reasons.ws, 'lacks the credential db (it was taken away)');
    assert.match(reasons.other, /^lacks the credential db$/);
    await hub.call('DELETE', `${SETS}/db`);
    await hub.until(async () => !(await hub.worker('calls')).tags.includes('credential:db'), 'calls has no label');
    const folder = join(httpFolder, '.leasehold/vault/calls');
    const kept = (): readonly string[] => readdirSync(folder).filter((file) => file.startsWith('db'));
    await hub.until(
      async () => kept().length === 0 || !readdirSync(folder).some((file) => /^db.*v?2/.test(file)),
      'gone',
    );
    const again = await hub.call('POST', SETS, { name: 'db', value: 'the third', workers: ['other'] });
    assert.equal(again.version, 3);
    await untilHeld(hub, 'db', 'other', 3);
    assert.equal((await completed(hub, waits)).digest, digest('the third'));
  });

test('a node that is killed between a push and its acknowledgement loses neither, and another one goes on', async (t) => {
  const at = await ground(t, 'sqlite');
  const first = await node(t, at);
  const secret = await first.enrol('box', { handlers: ['shell', 'echo'] });
  const cwd = temporaryFolder(t);
  const box = joinAs(t, first.url, 'box', secret, [], cwd);
  await first.until(async () => (await first.worker('box'))?.state === 'online', 'it is online');
  // It is stopped, so that it can answer nothing that it is sent now.
  box.child.kill('SIGSTOP');
  await first.call('POST', SETS, { name: 'db', value: 'the first value', workers: ['box'] });
  assert.equal((await holder(first, 'db', 'box')).status, 'wanted');
  first.process.child.kill('SIGKILL');
  await first.process.ended;
  box.child.kill('SIGCONT');
  const port = new URL(first.url).port;
  const second = await node(t, at, ['--port', port]);
  await untilHeld(second, 'db', 'box', 1);
  assert.equal((await completed(second, await pushNeeding(second, 'db'))).digest, digest('the first value'));
  // What it held when it was killed it holds when it comes back, and what was taken away meanwhile goes then.
  box.child.kill('SIGKILL');
  await box.ended;
  await second.call('POST', SETS, { name: 'db', value: 'the second', workers: [] });
  await second.call('POST', SETS, { name: 'gone', value: 'never arrives', workers: ['box'] });
  await second.call('DELETE', `${SETS}/gone`);
  joinAs(t, second.url, 'box', secret, [], cwd);
  await untilHeld(second, 'db', 'box', 2);
});

test('a change made at one node reaches the worker at another', async (t) => {
  const at = await ground(t, 'sqlite');
  const [one, two] = [await node(t, at), await node(t, at)];
  await worker(t, two, 'box');
  await one.call('POST', SETS, { name: 'db', value: 'the first value', workers: ['box'] });
  await untilHeld(one, 'db', 'box', 1);
  await one.call('POST', `${SETS}/db/revoke`, { workers: ['box'] });
  await one.until(async () => (await holder(one, 'db', 'box')).status === 'removed', 'it is gone');
});

test('a level that a worker does not reach is refused with the reason', async (t) => {
  const hub = await node(t, await ground(t, 'sqlite'));
  await worker(t, hub, 'box');
  await hub.until(async () => (await hub.worker('box'))?.state === 'online', 'it is online');
  await hub.call('POST', SETS, { name: 'db', value: 'the value', workers: ['box'], level: 'systemd' });
  await hub.until(async () => (await holder(hub, 'db', 'box')).status === 'failed', 'it is refused');
  const waits = await pushNeeding(hub, 'db');
  const { workers } = await hub.call('GET', `/tasks/${waits}/explain`);
  assert.match(workers[0].reasons.join(), /keeps credentials by file, and systemd is demanded/);
  await hub.call('POST', `${SETS}/db/grant`, { level: null });
  assert.equal((await completed(hub, waits)).by, 'box');
});
