import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Engine } from '../../engine/engine.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import { VirtualWorld } from '../../testing.ts';
import { EngineOperator } from '../engine-operator.ts';

async function scene(t: TestContext) {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  t.after(() => store.close());
  const operator = new EngineOperator(new Engine({ store, world }));
  const beat = (id: string, stand: 'leader' | 'worker' | 'observer') =>
    store.nodeBeat({ id, incarnation: `${id}1`, first: false, wish: 'auto', stand });
  const roles = async (): Promise<Readonly<Record<string, string>>> => {
    const { nodes } = await operator.call('getCluster');
    return Object.fromEntries(nodes.map(({ id, role }) => [id, role]));
  };
  const lead = (id: string) => store.dutyTake({ name: 'leader', holder: `${id}/${id}1`, ttlMs: 10_000 });
  return { world, store, operator, beat, roles, lead };
}

test('a leader that was deposed while it could not write is not shown as a second one', async (t) => {
  const { world, operator, beat, roles, lead } = await scene(t);
  await lead('a');
  await beat('a', 'leader');
  await beat('b', 'worker');
  assert.deepEqual(await roles(), { a: 'leader', b: 'worker' });
  await world.advance(10_001);
  assert.deepEqual(await roles(), { a: 'worker', b: 'worker' }, 'its term is over, and nobody leads yet');
  await lead('b');
  assert.deepEqual(await roles(), { a: 'worker', b: 'leader' }, 'the new leader has not written its role yet');
  const asked = await operator.call('editNode', { params: { id: 'a' }, body: { role: 'worker' } });
  assert.equal(asked.role, 'worker');
  await beat('b', 'leader');
  const { leader, nodes } = await operator.call('getCluster');
  assert.deepEqual([leader?.node, nodes.filter(({ role }) => role === 'leader').length], ['b', 1]);
});

test('since when a role is held is told when the node itself has written it', async (t) => {
  const { world, operator, beat, lead } = await scene(t);
  await beat('a', 'worker');
  const since = async () => (await operator.call('getCluster')).nodes[0]?.roleSince;
  assert.equal(await since(), world.clock.wall());
  await world.advance(500);
  await lead('a');
  assert.equal(await since(), undefined);
  await beat('a', 'leader');
  assert.equal(await since(), world.clock.wall());
});

test('a node that came by register_node is listed, and silence makes it stale and dead as others', async (t) => {
  const { world, store, operator, beat } = await scene(t);
  await beat('a', 'worker');
  const register = (name: string, incarnation: string) =>
    store.workerRegister({ name, incarnation, slots: 1, tags: [] });
  await register('plain', 'a worker');
  await register('calls', 'node:one');
  const worker = await register('calls', 'node:two');
  await store.workerBeat({ beats: [{ worker, state: 'online' }] });
  const states = async () =>
    (await operator.call('getCluster')).nodes.map(({ id, state, role, registered }) => [id, state, role, registered]);
  const now = async () => (await states())[1];
  assert.deepEqual(await states(), [
    ['a', 'healthy', 'worker', undefined],
    ['calls', 'healthy', 'worker', true],
  ]);
  await world.advance(30_001);
  assert.deepEqual(await now(), ['calls', 'stale', 'worker', true]);
  await world.advance(90_000);
  assert.deepEqual(await now(), ['calls', 'dead', 'worker', true]);
  await store.workerBeat({ beats: [{ worker, state: 'online' }] });
  assert.deepEqual(await now(), ['calls', 'healthy', 'worker', true]);
  await store.workerBeat({ beats: [{ worker, state: 'offline' }] });
  assert.deepEqual(await now(), ['calls', 'left', 'worker', true]);
});
