/** Who may only read reads by every door; what they may not do is refused in the words of the door, under the id of the call. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeScene } from '../support/node-scene.ts';
import { STORES, target, until } from './scene.ts';

const CLUSTER = {
  leaderLeaseMs: 30_000,
  leaderRenewMs: 10_000,
  silence: { staleMs: 30_000, deadMs: 120_000 },
} as const;

const rpc = (method: string, params: unknown = {}, id: unknown = 'mine') => ({ jsonrpc: '2.0', id, method, params });

/** MCP answers as a stream of server-sent events or as JSON. */
async function mcp(node: NodeScene, body: object, token: string) {
  const headers = { accept: 'application/json, text/event-stream' };
  const answer = await node.ask('/mcp', { body, token, headers });
  const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
  return { status: answer.status, body: JSON.parse(text.slice(text.indexOf('{'))) };
}

const READS: readonly (readonly [string, object])[] = [
  ['/rpc', rpc('tasks.list')],
  ['/', rpc('tasks.count')],
  ['/tasks', rpc('system.health')],
  ['/system', rpc('system.executors')],
  ['/a2a', rpc('ListTasks')],
  ['/', rpc('ListTasks')],
];

const A2A_WRITES = [
  'SendMessage',
  'SendStreamingMessage',
  'CancelTask',
  'message/send',
  'message/stream',
  'tasks/cancel',
];
const RPC_WRITES = [
  rpc('tasks.create', { name: 'x' }),
  rpc('tasks.cancel', { task_id: 'x' }),
  rpc('register_node', { node_id: 'n', executor_types: ['x'] }),
  rpc('recover_stale_leases'),
];

async function reads(node: NodeScene, token: string): Promise<void> {
  for (const [path, body] of READS) {
    const answer = await node.ask(path, { body, token });
    assert.deepEqual([answer.status, answer.body.id, answer.body.error], [200, 'mine', undefined], path);
  }
  const tools = await mcp(node, rpc('tools/call', { name: 'list_queues', arguments: {} }), token);
  assert.equal(tools.body.result?.isError ?? false, false, JSON.stringify(tools.body));
  const found = await node.ask('/a2a', { body: rpc('GetTask', { id: 'task_none' }), token });
  assert.deepEqual([found.body.id, found.body.error.code], ['mine', -32_001]);
}

for (const [kind, store] of Object.entries(STORES)) {
  test(`a token that may only read reads by every door, and no more (${kind})`, async (t) => {
    const { node } = await target(t, { store: await store() });
    const { token } = await node.token('read');
    await reads(node, token);
    for (const path of ['/rpc', '/']) {
      for (const body of RPC_WRITES) {
        const { status, body: answer } = await node.ask(path, { body, token });
        assert.deepEqual([status, answer.id, answer.error.code], [403, 'mine', -32_004], JSON.stringify(answer));
      }
    }
    for (const path of ['/a2a', '/']) {
      for (const method of A2A_WRITES) {
        const { status, body: answer } = await node.ask(path, { body: rpc(method, {}, 7), token });
        assert.deepEqual(
          [status, answer.id, answer.error.code, answer.error.data.code],
          [403, 7, -32_000, 'FORBIDDEN'],
        );
      }
    }
    const push = await mcp(node, rpc('tools/call', { name: 'push_task', arguments: { queue: 'q' } }), token);
    assert.ok(
      push.body.id === 'mine' && (push.body.error !== undefined || push.body.result.isError),
      JSON.stringify(push),
    );
    assert.equal((await node.engine.list({ limit: 1 })).length, 0);
  });

  test(`a node that only observes answers reads at every door, and refuses the rest (${kind})`, async (t) => {
    const cluster = { id: 'watcher', role: 'observer', ...CLUSTER } as const;
    const { node } = await target(t, { store: await store(), cluster });
    await until(async () => (await node.ask('/readyz')).status === 503);
    await reads(node, node.admin);
    for (const body of RPC_WRITES) {
      const { status, body: answer } = await node.ask('/rpc', { body });
      assert.deepEqual([status, answer.id, answer.error.code], [403, 'mine', -32_004]);
      assert.equal(answer.error.data.code, 'READ_ONLY');
    }
    const batch = await node.ask('/rpc', { body: [rpc('tasks.count', {}, 1), { ...RPC_WRITES[0], id: 2 }] });
    assert.deepEqual(
      batch.body.map(({ id, error }: { id: number; error?: { code: number } }) => [id, error?.code]),
      [
        [1, undefined],
        [2, -32_004],
      ],
    );
    for (const path of ['/a2a', '/']) {
      for (const method of A2A_WRITES) {
        const { status, body: answer } = await node.ask(path, { body: rpc(method) });
        assert.deepEqual(
          [status, answer.id, answer.error.code, answer.error.data.code],
          [403, 'mine', -32_004, 'READ_ONLY'],
        );
      }
    }
    const push = { name: 'push_task', arguments: { queue: 'q', dry_run: false } };
    const refused = await mcp(node, rpc('tools/call', push), node.admin);
    assert.deepEqual([refused.body.id, refused.body.result.isError], ['mine', true]);
    assert.match(refused.body.result.content[0].text, /READ_ONLY/);
    const dry = { name: 'push_task', arguments: { queue: 'q', dry_run: true } };
    assert.equal((await mcp(node, rpc('tools/call', dry), node.admin)).body.result.structuredContent.dry_run, true);
    assert.equal((await node.engine.list({ limit: 1 })).length, 0);
  });
}

test('the secret of a worker is refused by the doors of agents, under the id of the call', async (t) => {
  const { node } = await target(t);
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'w' } });
  for (const path of ['/a2a', '/', '/mcp']) {
    const { status, body } = await node.ask(path, { body: rpc('GetTask', { id: 'x' }), token: secret });
    assert.deepEqual([status, body.id, body.error.data.code], [403, 'mine', 'FORBIDDEN'], path);
  }
});
