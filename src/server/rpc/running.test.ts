import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Wire } from '../../../test/support/node-scene.ts';
import { rpcScene } from '../../../test/support/rpc-scene.ts';

const TREE = [
  { id: 'r', name: 'echo', user_id: 'ada' },
  { id: 'a', name: 'echo', parent_id: 'r', user_id: 'ada' },
  { id: 'b', name: 'echo', parent_id: 'r', user_id: 'eve' },
];

test('the detail of a task says who has it until when, and who had it last', async (t) => {
  const it = await rpcScene(t);
  await it.register('n1');
  await it.register('n2');
  await it.call('tasks.create', TREE);
  const held = async (): Promise<readonly unknown[]> => {
    const { status, lease_id, lease_expires_at, last_assigned_node, attempts } = await it.call('tasks.detail', {
      id: 'a',
    });
    const nodes = attempts.map(({ attempt, node_id, outcome }: Wire) => `${attempt} ${node_id} ${outcome}`);
    const left = lease_expires_at === null ? null : Date.parse(lease_expires_at) - Date.now();
    return [status, lease_id, left === null ? null : left > 0 && left <= 30_000, last_assigned_node, nodes];
  };
  assert.deepEqual(await held(), ['pending', null, null, null, []]);
  await it.call('tasks.execute', { id: 'r' });
  assert.deepEqual(await held(), ['pending', null, null, null, []]);
  const first = await it.call('acquire_lease', { task_id: 'a', node_id: 'n1' });
  const { lease_id: id } = await it.call('tasks.detail', { id: 'a' });
  assert.deepEqual(await held(), ['in_progress', id, true, 'n1', ['1 n1 running']]);
  assert.ok(first.lease_token.startsWith(`${id}.`), 'its node finds the lease by its token');
  assert.notEqual(first.lease_token, id, 'and nobody else learns the token');
  await it.call('release_lease', { task_id: 'a', lease_token: first.lease_token });
  assert.deepEqual(await held(), ['pending', null, null, 'n1', ['1 n1 released']]);
  const { lease_token } = await it.call('acquire_lease', { task_id: 'a', node_id: 'n2' });
  await it.call('report_completion', { task_id: 'a', node_id: 'n2', lease_token, result: 1 });
  assert.deepEqual(await held(), ['completed', null, null, 'n2', ['1 n1 released', '2 n2 completed']]);
});

test('what runs is listed and counted with its leases, the newest first, and nothing else is', async (t) => {
  const it = await rpcScene(t);
  await it.register('n1', ['echo'], { max_parallel_tasks: 30 });
  const list = async (params: object = {}): Promise<readonly string[]> =>
    (await it.call('tasks.running.list', params)).map(({ id }: Wire) => id);
  assert.deepEqual(await list(), []);
  await it.call('tasks.create', TREE);
  await it.call('tasks.create', { id: 'alone', name: 'echo' });
  await it.call('tasks.execute', { id: 'r' });
  await it.call('tasks.execute', { id: 'alone' });
  assert.deepEqual(await list(), [], 'nobody has begun one');
  const lease: Record<string, Wire> = {};
  for (const id of ['a', 'b', 'alone']) lease[id] = await it.call('acquire_lease', { task_id: id, node_id: 'n1' });
  // A task of the engine that is no document runs too, and more of them than one read has.
  for (let n = 0; n < 21; n++) {
    const { id } = await it.engine.push({ queue: 'q', handler: 'echo' });
    await it.call('acquire_lease', { task_id: id, node_id: 'n1' });
  }
  assert.deepEqual(await list(), ['alone', 'b', 'a']);
  assert.deepEqual(await list({ root_only: true }), ['alone']);
  assert.deepEqual(await list({ user_id: 'ada' }), ['a']);
  assert.deepEqual(await list({ limit: 1, offset: 1 }), ['b']);
  assert.deepEqual(await it.call('tasks.running.count'), { count: 3 });
  assert.deepEqual(await it.call('tasks.running.count', { user_id: 'eve' }), { count: 1, user_id: 'eve' });
  assert.deepEqual(await it.call('tasks.running.count', { root_only: true }), { count: 1 });
  const [alone] = await it.call('tasks.running.list', { limit: 1 });
  assert.deepEqual([alone.status, alone.last_assigned_node], ['in_progress', 'n1']);
  assert.ok(lease['alone'].lease_token.startsWith(`${alone.lease_id}.`));
  assert.ok(Date.parse(alone.lease_expires_at) > Date.parse(alone.started_at));
  const { lease_token } = lease['b'];
  await it.call('report_completion', { task_id: 'b', node_id: 'n1', lease_token, error: 'broken' });
  assert.deepEqual(await list(), ['alone', 'a']);
  assert.deepEqual(await it.call('tasks.count'), {
    total: 4,
    pending: 1,
    in_progress: 2,
    completed: 0,
    failed: 1,
    cancelled: 0,
  });
});

test('how tasks stand is told of each in its place, also of one that there is not', async (t) => {
  const it = await rpcScene(t);
  await it.register('n1');
  await it.call('tasks.create', TREE);
  await it.call('tasks.execute', { id: 'r' });
  const { lease_token } = await it.call('acquire_lease', { task_id: 'b', node_id: 'n1' });
  await it.call('report_completion', { task_id: 'b', node_id: 'n1', lease_token, error: 'broken' });
  await it.call('acquire_lease', { task_id: 'a', node_id: 'n1' });
  const asked = ['none', 'a', 'b', 'r'];
  const told = await it.call('tasks.running.status', { task_ids: asked });
  assert.deepEqual(
    told.map(({ task_id, context_id, status, is_running, error, last_assigned_node: node }: Wire) => [
      [task_id, context_id].join(),
      status,
      is_running,
      error,
      node,
    ]),
    [
      ['none,none', 'not_found', false, null, null],
      ['a,a', 'in_progress', true, null, 'n1'],
      ['b,b', 'failed', false, 'broken', 'n1'],
      ['r,r', 'pending', false, null, null],
    ],
  );
  const again = await it.call('tasks.running.status', { context_ids: asked });
  const brief = ({ task_id, status, lease_id }: Wire): unknown => [task_id, status, lease_id];
  assert.deepEqual(again.map(brief), told.map(brief), 'by its other spelling');
  for (const params of [
    {},
    { task_ids: [] },
    { task_ids: ['a'], context_ids: ['a'] },
    { task_ids: Array(101).fill('a') },
  ]) {
    assert.equal(await it.refusal('tasks.running.status', params), -32602, JSON.stringify(params).slice(0, 60));
  }
});

test('running tasks are cancelled as others are, each with an answer of its own', async (t) => {
  const it = await rpcScene(t);
  await it.register('n1');
  await it.call('tasks.create', TREE);
  await it.call('tasks.execute', { id: 'r' });
  const { lease_token } = await it.call('acquire_lease', { task_id: 'a', node_id: 'n1' });
  const answers = await it.call('tasks.running.cancel', { task_ids: ['r', 'none', 'b'] });
  assert.deepEqual(
    answers.map(({ task_id, status, cancelled, requested }: Wire) => [task_id, status, cancelled, requested]),
    [
      ['r', 'cancelling', ['r', 'b'], ['a']],
      ['none', 'failed', undefined, undefined],
      ['b', 'failed', undefined, undefined],
    ],
  );
  const beat = await it.call('heartbeat', { node_id: 'n1', leases: [lease_token] });
  assert.deepEqual(beat.cancel, [lease_token]);
});
