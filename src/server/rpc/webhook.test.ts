import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Wire } from '../../../test/support/node-scene.ts';
import { type RpcScene, rpcScene } from '../../../test/support/rpc-scene.ts';

const URL = 'https://hooks.example.org/ended?x=1';
const FINAL = { url: URL, events: ['final'] };
const TREE = [
  { id: 'r', name: 'echo' },
  { id: 'a', name: 'echo', parent_id: 'r' },
];

async function scene(t: Parameters<typeof rpcScene>[0]): Promise<RpcScene> {
  const it = await rpcScene(t);
  await it.register('n1', ['echo']);
  await it.register('hooks', ['http']);
  await it.call('tasks.create', TREE);
  return it;
}

/** The requests that a worker is to make now, which it answers to. */
async function deliveries(it: RpcScene): Promise<readonly Wire[]> {
  const made: Wire[] = [];
  for (;;) {
    const [found] = await it.call('find_executable_tasks', { node_id: 'hooks', limit: 1 });
    if (found === undefined) return made;
    const { lease_token, inputs } = await it.call('acquire_lease', { task_id: found.id, node_id: 'hooks' });
    made.push(inputs);
    await it.call('report_completion', { task_id: found.id, node_id: 'hooks', lease_token, result: { status: 204 } });
  }
}

test('the end of an execution is a task of the handler http, with what the execution has come to', async (t) => {
  const it = await scene(t);
  const webhook_config = { url: URL, headers: { 'X-Key': 'k' }, timeout: 2.5, max_retries: 5, events: ['final'] };
  const started = await it.call('tasks.execute', { task_id: 'r', webhook_config });
  assert.deepEqual(
    started.tasks.map(({ id }: Wire) => id),
    ['r', 'a'],
    'it is none of the tree',
  );
  assert.deepEqual(await deliveries(it), [], 'nothing has ended');
  assert.deepEqual(await it.work(), ['a', 'r']);
  const { completed_at } = await it.call('tasks.get', { id: 'r' });
  const [made, ...more] = await deliveries(it);
  assert.deepEqual(more, []);
  assert.deepEqual(made, {
    method: 'POST',
    url: URL,
    headers: { 'X-Key': 'k' },
    timeout_ms: 2500,
    body: {
      protocol: 'jsonrpc',
      type: 'final',
      final: true,
      root_task_id: 'r',
      task_id: 'r',
      execution: 1,
      status: 'completed',
      progress: 1,
      timestamp: completed_at,
      result: { from: 'r' },
      error: null,
    },
  });
  const [task] = await it.engine.list({ handlers: ['http'], limit: 1 });
  assert.equal(task?.maxTries, 5);
  assert.equal((await it.call('tasks.count')).total, 2);
});

test('a failure and a cancel are told too, and an execution that does not run its root again', async (t) => {
  const it = await scene(t);
  const execute = (): Promise<Wire> => it.call('tasks.execute', { task_id: 'r', webhook_config: FINAL });
  const told = async (): Promise<unknown> =>
    (await deliveries(it)).map(({ body }) => [body.status, body.execution, body.result, body.error]);
  await execute();
  await it.work(({ id }) => {
    if (id === 'a') throw new Error('out of paper');
    return id;
  });
  assert.deepEqual(await told(), [['completed', 1, 'r', null]], 'its children need not complete');
  await execute();
  assert.deepEqual(await told(), [], 'a has not ended');
  assert.deepEqual(await it.work(), ['a']);
  assert.deepEqual(await told(), [['completed', 1, 'r', null]]);
  await it.call('tasks.create', { id: 'x', name: 'echo' });
  await it.call('tasks.execute', { task_id: 'x', webhook_config: FINAL });
  await it.work(() => {
    throw new Error('out of ink');
  });
  await it.call('tasks.execute', { task_id: 'x', webhook_config: FINAL });
  assert.deepEqual(await told(), [['failed', 1, null, 'out of ink']], 'of the execution that it belongs to');
  await it.call('tasks.cancel', { task_id: 'x' });
  assert.deepEqual(await told(), [['cancelled', 2, null, null]]);
});

test('a webhook that is none is refused, and nothing is started', async (t) => {
  const it = await scene(t);
  for (const webhook_config of [
    {},
    false,
    'https://x',
    { url: 'ftp://x' },
    { url: 'x' },
    { url: 'https://user:word@x' },
    { url: URL, method: 'GET' },
    { url: URL, headers: { 'a b': 'x' } },
    { url: URL, headers: { a: 1 } },
    { url: URL, timeout: 0 },
    { url: URL, max_retries: 21 },
    { url: URL, secret: 'x' },
    { url: URL, secret_env: 'A-B' },
    { url: URL, events: [] },
    { url: URL, events: ['end'] },
  ]) {
    const code = await it.refusal('tasks.execute', { task_id: 'r', webhook_config });
    assert.equal(code, -32602, JSON.stringify(webhook_config));
  }
  assert.equal((await it.call('tasks.get', { id: 'r' })).execution, 0);
  await it.call('deregister_node', { node_id: 'hooks' });
  const { warnings } = await it.call('tasks.execute', { task_id: 'r', webhook_config: { url: URL } });
  assert.deepEqual(warnings, ['no worker that is online runs http']);
});

test('all that an execution tells is sent: starts and progress as they come, and every end', async (t) => {
  const it = await scene(t);
  const started = await it.call('tasks.execute', {
    task_id: 'r',
    webhook_config: { url: URL, secret_env: 'HOOK_KEY' },
  });
  assert.equal(started.warnings, undefined);
  await it.work(({ id }) => {
    if (id === 'a') throw new Error('out of paper');
    return id;
  });
  const made: Wire[] = [];
  while (made.length < 8) made.push(...(await deliveries(it)));
  assert.equal((await deliveries(it)).length, 0);
  assert.deepEqual([...new Set(made.map(({ sign_env }) => sign_env))], ['HOOK_KEY']);
  const told = made.map(({ body }) => [
    body.type,
    body.task_id,
    body.status ?? body.completed ?? body.progress,
    body.error ?? null,
  ]);
  const sorted = (list: unknown[][]): string[] => list.map((one) => JSON.stringify(one)).toSorted();
  assert.deepEqual(
    sorted(told),
    sorted([
      ['progress', 'r', 'started', null],
      ['task_start', 'a', 'in_progress', null],
      ['progress', 'r', 1, null],
      ['task_start', 'r', 'in_progress', null],
      ['progress', 'r', 2, null],
      ['task_failed', 'a', 'failed', 'out of paper'],
      ['task_completed', 'r', 'completed', null],
      ['final', 'r', 'completed', null],
    ]),
  );
  for (const { body } of made)
    assert.deepEqual([body.protocol, body.root_task_id, body.execution], ['jsonrpc', 'r', 1]);
});
