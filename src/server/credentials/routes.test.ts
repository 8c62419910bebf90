import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeScene } from '../../../test/support/node-scene.ts';

const PATH = '/api/v1/credentials';
const SECRET = 'hunter2-hunter2';

test('a credential is set, listed, given, taken away and removed, and its value never comes back', async (t) => {
  const scene = await nodeScene(t);
  const made = await scene.call('setCredential', PATH, {
    body: { name: 'db', value: SECRET, workers: ['box'], tags: ['ci'], level: 'file' },
  });
  const { createdAt, changedAt } = made;
  assert.deepEqual(made, {
    name: 'db',
    version: 1,
    kind: 'text',
    level: 'file',
    workers: ['box'],
    tags: ['ci'],
    createdAt,
    changedAt,
    holders: [{ worker: 'box', status: 'wanted', wanted: 1, askedAt: changedAt, changedAt }],
  });
  const body = { name: 'db', fields: { user: 'u', password: SECRET }, type: 'login' };
  const again = await scene.call('setCredential', PATH, { body });
  assert.deepEqual([again.version, again.kind, again.type, again.workers], [2, 'fields', 'login', ['box']]);
  const granted = await scene.call('grantCredential', `${PATH}/db/grant`, {
    body: { workers: ['other'], level: null },
  });
  assert.deepEqual([granted.workers, granted.level], [['box', 'other'], undefined]);
  const revoked = await scene.call('revokeCredential', `${PATH}/db/revoke`, {
    body: { workers: ['box'], tags: ['ci'] },
  });
  assert.deepEqual([revoked.workers, revoked.tags], [['other'], []]);
  assert.equal(revoked.holders[0].status, 'removing');
  const read = await scene.call('getCredential', `${PATH}/db`);
  assert.deepEqual((await scene.call('listCredentials', PATH)).credentials, [read]);
  assert.deepEqual(await scene.call('removeCredential', `${PATH}/db`), read);
  assert.deepEqual((await scene.call('listCredentials', PATH)).credentials, []);
  for (const [path, method] of [
    [`${PATH}/db`, 'GET'],
    [`${PATH}/db`, 'DELETE'],
  ] as const)
    assert.equal((await scene.ask(path, { method })).status, 404);
  assert.equal((await scene.ask(`${PATH}/db/grant`, { body: { workers: ['box'] } })).status, 404);
  assert.equal((await scene.call('setCredential', PATH, { body: { name: 'db', value: SECRET } })).version, 3);
  const audit = await scene.ask('/api/v1/audit');
  const actions = new Set(audit.body.entries.map(({ action }: { readonly action: string }) => action));
  for (const action of ['setCredential', 'grantCredential', 'revokeCredential', 'removeCredential'])
    assert.ok(actions.has(action), action);
  assert.ok(!JSON.stringify([made, again, granted, revoked, read, audit.body]).includes(SECRET));
});

test('only admins see and change credentials', async (t) => {
  const scene = await nodeScene(t);
  const { token } = await scene.token('operator');
  for (const ask of [{}, { body: { name: 'db', value: SECRET } }]) {
    assert.equal((await scene.ask(PATH, { ...ask, token })).status, 403);
    assert.equal((await scene.ask(PATH, { ...ask, token: null })).status, 401);
  }
  assert.deepEqual((await scene.call('listCredentials', PATH)).credentials, []);
});

test('an operator brings no worker to a credential, by no tag, name or secret', async (t) => {
  const scene = await nodeScene(t);
  const { token } = await scene.token('operator');
  const workers = '/api/v1/workers';
  await scene.call('setCredential', PATH, { body: { name: 'db', value: SECRET, workers: ['later'], tags: ['ci'] } });
  for (const name of ['mine', 'builder']) await scene.call('createWorker', workers, { token, body: { name } });
  await scene.call('editWorker', `${workers}/builder`, { body: { addTags: ['ci'] } });
  const tries: readonly (readonly [string, string, object])[] = [
    ['PATCH', `${workers}/mine`, { addTags: ['eu', 'ci'] }],
    ['POST', workers, { name: 'another', tags: ['ci'] }],
    ['POST', workers, { name: 'later' }],
    ['POST', `${workers}/builder/rotate`, {}],
  ];
  for (const [method, path, body] of tries) {
    const { status, body: answer } = await scene.ask(path, { method, token, body });
    assert.deepEqual([status, answer.error?.code ?? answer.code], [403, 'FORBIDDEN'], path);
    assert.match(JSON.stringify(answer), /the credential db/);
  }
  // Nor by another name of a tag that it may give.
  await scene.call('editWorker', `${workers}/mine`, { token, body: { addTags: ['eu'] } });
  assert.equal((await scene.ask('/api/v1/tags/eu', { method: 'PATCH', token, body: { name: 'ci' } })).status, 409);
  const { holders } = await scene.call('getCredential', `${PATH}/db`);
  assert.deepEqual(holders.map(({ worker }: { readonly worker: string }) => worker).sort(), ['builder', 'later']);
  // What brings nobody to it stays theirs, and an admin may do all of it.
  await scene.call('editWorker', `${workers}/builder`, { token, body: { addTags: ['ci'], enabled: false } });
  await scene.call('rotateWorker', `${workers}/mine/rotate`, { token, body: {} });
  await scene.call('removeWorker', `${workers}/builder`, { token });
  for (const [method, path, body] of tries.slice(0, 3))
    assert.ok((await scene.ask(path, { method, body })).status < 300, path);
});

test('what is no credential is refused with its field and without its value, and nothing is made', async (t) => {
  const scene = await nodeScene(t);
  for (const [body, field] of [
    [{ name: 'Not A Name', value: SECRET }, 'credential name'],
    [{ name: 'db' }, 'value'],
    [{ name: 'db', value: SECRET, fields: { a: SECRET } }, 'value'],
    [{ name: 'db', value: SECRET, type: 'login' }, 'type'],
    [{ name: 'db', value: '' }, 'value of the credential'],
    [{ name: 'db', value: 'x'.repeat(70_000) }, 'body.value'],
    [{ name: 'db', fields: {} }, 'value of the credential'],
    [{ name: 'db', value: SECRET, workers: ['a b'] }, 'workers'],
    [{ name: 'db', value: SECRET, level: SECRET }, 'body.level'],
  ] as const) {
    const answer = await scene.ask(PATH, { body });
    assert.equal(answer.status, 400, JSON.stringify(answer.body));
    assert.ok(!JSON.stringify(answer.body).includes(SECRET), JSON.stringify(answer.body));
    assert.match(JSON.stringify(answer.body), new RegExp(field), JSON.stringify(body).slice(0, 80));
  }
  assert.deepEqual((await scene.call('listCredentials', PATH)).credentials, []);
});
