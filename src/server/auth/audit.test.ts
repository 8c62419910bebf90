import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';

/** A node, and what it has told of who did what: action, name, role, target, outcome. */
async function scene(t: TestContext): Promise<{ node: NodeScene; token: string; told: () => readonly string[] }> {
  const told: string[] = [];
  const info = (message: string, fields: Readonly<Record<string, unknown>> = {}): void => {
    if (message !== 'audit') return;
    const { action, by, role, target, outcome, request } = fields;
    assert.equal(typeof request, 'string');
    told.push([action, by, role, target, outcome].join(' '));
  };
  const node = await nodeScene(t, { log: { info, warn: () => {}, error: () => {} } });
  const { token } = await node.token('operator');
  return { node, token, told: () => told.splice(0).filter((line) => !line.startsWith('createToken')) };
}

async function waiting({ engine }: NodeScene): Promise<string> {
  return (await engine.push({ queue: 'q', handler: 'h' })).id;
}

test('what a model does is told as if it were done by a call, a dry run and a look are not', async (t) => {
  const { node, token, told } = await scene(t);
  const call = (name: string, input: object): Promise<unknown> =>
    node.ask('/mcp', {
      token,
      headers: { accept: 'application/json, text/event-stream' },
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } },
    });
  const id = await waiting(node);
  await call('pause_queue', { queue: 'q', dry_run: true });
  await call('show_task', { id });
  assert.deepEqual(told(), []);
  await call('pause_queue', { queue: 'q' });
  await call('resume_queue', { queue: 'q' });
  await call('cancel_task', { id });
  await call('retry_task', { id });
  await call('cancel_task', { id: '999999' });
  assert.deepEqual(told(), [
    'pauseQueue a operator operator q 200',
    'resumeQueue a operator operator q 200',
    `cancelTask a operator operator ${id} 200`,
    `retryTask a operator operator ${id} 200`,
    'cancelTask a operator operator 999999 404',
  ]);
});

test('what another agent cancels is told', async (t) => {
  const { node, token, told } = await scene(t);
  const { id } = await node.engine.push({ queue: 'a2a', handler: 'h', unique: 'a2a:talk:m' });
  const body = { jsonrpc: '2.0', id: 1, method: 'CancelTask', params: { id } };
  assert.equal((await node.ask('/a2a', { token, body })).status, 200);
  assert.deepEqual(told(), [`cancelTask a operator operator ${id} 200`]);
});

test('each call of a batch of JSON-RPC that changes what others have made is told', async (t) => {
  const { node, token, told } = await scene(t);
  const call = (method: string, params: object): object => ({ jsonrpc: '2.0', id: method, method, params });
  const body = [
    call('tasks.create', { id: 'one', name: 'h' }),
    call('tasks.update', { task_id: 'one', priority: 1 }),
    call('tasks.get', { task_id: 'one' }),
    call('tasks.delete', { id: 'one' }),
    call('tasks.execute', { tasks: [{ id: 'two', name: 'h' }] }),
    call('tasks.cancel', { task_id: 'two' }),
    call('tasks.delete', { task_id: 'two' }),
    call('tasks.delete', { task_id: 'nobody' }),
  ];
  assert.equal((await node.ask('/rpc', { token, body })).status, 200);
  assert.deepEqual(told(), [
    'editTask a operator operator one 200',
    'deleteTask a operator operator one 200',
    'cancelTask a operator operator two 200',
    'deleteTask a operator operator two 409',
    'deleteTask a operator operator nobody 404',
  ]);
});

test('ends of pauses, retries of whole queues and roles of nodes are told', async (t) => {
  const { node, token, told } = await scene(t);
  await node.engine.limits.set('some', { concurrent: 1 });
  await node.engine.cancel((await node.engine.push({ queue: 'q', handler: 'h' })).task);
  await node.ask('/api/v1/limits/some/pause', { token, body: { for: '1h' } });
  await node.ask('/api/v1/limits/some/resume', { token, body: {} });
  await node.ask('/api/v1/queues/q/retry', { token, body: { state: 'cancelled', expected: 1 } });
  await node.ask('/api/v1/cluster/nodes/nobody', { token, method: 'PATCH', body: { role: 'worker' } });
  const said = told().map((line) => line.replace(/ a operator operator/, '').split(' '));
  assert.deepEqual(
    said.map(([action, target]) => `${action} ${target}`),
    ['pauseLimit some', 'resumeLimit some', 'retryQueue q', 'editNode nobody'],
  );
});
