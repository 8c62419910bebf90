import assert from 'node:assert/strict';
import { test } from 'node:test';
import { left, running } from '../../../../test/support/files/artifact-scene.ts';
import { nodeScene } from '../../../../test/support/node-scene.ts';

test('artifacts are listed by task, by run and by name, the newest first, page by page', async (t) => {
  const node = await nodeScene(t);
  const one = await running(node.engine, 'one');
  const two = await running(node.engine, 'two');
  const ids: string[] = [];
  for (const [lease, name] of [
    [one, 'a.txt'],
    [one, 'b.txt'],
    [two, 'a.txt'],
  ] as const) {
    ids.push((await left(node, { lease, name, bytes: `${lease.id} ${name}` })).id);
  }
  const listed = async (query: string): Promise<readonly string[]> =>
    (await node.call('listArtifacts', `/api/v1/artifacts${query}`)).artifacts.map(({ id }: { id: string }) => id);
  assert.deepEqual(await listed(''), ids.toReversed());
  assert.deepEqual(await listed(`?task=${one.id}`), [ids[1], ids[0]]);
  assert.deepEqual(await listed(`?run=${two.id}`), [ids[2]]);
  assert.deepEqual(await listed('?name=a.txt'), [ids[2], ids[0]]);
  assert.deepEqual(await listed(`?task=${one.id}&name=a.txt`), [ids[0]]);
  const first = await node.call('listArtifacts', '/api/v1/artifacts?limit=2');
  const second = await node.call('listArtifacts', `/api/v1/artifacts?limit=2&cursor=${first.cursor}`);
  assert.deepEqual(
    [...first.artifacts, ...second.artifacts].map(({ id }) => id),
    ids.toReversed(),
  );
  assert.equal(second.cursor, undefined);
  assert.equal(first.artifacts[0].task, two.id, 'under the public id of its task');
  assert.equal((await node.ask(`/api/v1/artifacts?task=${one.id}&run=${two.id}`)).status, 400);
  assert.equal((await node.ask('/api/v1/artifacts?cursor=x')).status, 400);
  assert.equal((await node.ask('/api/v1/artifacts?run=never')).status, 404);
  assert.equal((await node.ask('/api/v1/artifacts?task=999')).status, 404);
});

test('a newer one of a name takes the place of the one before', async (t) => {
  const node = await nodeScene(t);
  const lease = await running(node.engine);
  const before = await left(node, { lease, bytes: 'before' });
  const after = await left(node, { lease, bytes: 'after' });
  const { artifacts } = await node.call('listArtifacts', `/api/v1/artifacts?task=${lease.id}`);
  assert.deepEqual(
    artifacts.map(({ id }: { id: string }) => id),
    [after.id],
  );
  assert.equal((await node.ask(`/api/v1/artifacts/${before.id}`)).status, 404);
});

test('an operator removes an artifact, a reader does not, and it is written down who did', async (t) => {
  const node = await nodeScene(t);
  const { id } = await left(node, { name: 'secret-plan.txt' });
  const path = `/api/v1/artifacts/${id}`;
  const reader = (await node.token('read')).token;
  assert.equal((await node.ask(path, { method: 'DELETE', token: reader })).status, 403);
  const would = await node.call('removeArtifact', `${path}?dryRun=1`);
  assert.equal(would.id, id);
  assert.equal((await node.ask(path)).status, 200, 'a dry run changes nothing');
  const { token } = await node.token('operator');
  assert.equal((await node.call('removeArtifact', path, { token })).name, 'secret-plan.txt');
  assert.equal((await node.ask(path)).status, 404);
  assert.equal((await node.ask(`${path}/content`)).status, 404);
  assert.equal((await node.ask(path, { method: 'DELETE', token })).status, 404);
  const { entries } = await node.call('listAudit', '/api/v1/audit?action=removeArtifact&outcome=done');
  assert.equal(entries[0].target, id);
  assert.equal(entries[0].actor, 'a operator');
});

test('the usage counts what is there and what is on its way', async (t) => {
  const node = await nodeScene(t);
  assert.deepEqual(await node.call('artifactUsage', '/api/v1/artifacts/usage'), { entries: 0, bytes: 0 });
  await left(node, { bytes: '12345' });
  assert.deepEqual(await node.call('artifactUsage', '/api/v1/artifacts/usage'), { entries: 1, bytes: 5 });
});
