import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';

/** The official client, as somebody with this token. */
async function connect(t: TestContext, node: NodeScene, token: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(node.url('/mcp')), { requestInit: { headers } }));
  t.after(() => client.close());
  return client;
}

async function call(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<Record<string, unknown>> {
  const { structuredContent, content, isError } = await client.callTool({ name, arguments: args });
  assert.notEqual(isError, true, JSON.stringify(content));
  return structuredContent as Record<string, unknown>;
}

test('a model lists, pushes, explains, tails and cancels', async (t) => {
  const node = await nodeScene(t);
  const client = await connect(t, node, node.admin);
  const { id } = await call(client, 'push_task', { queue: 'papers', input: { page: 1 } });
  assert.match(id as string, /^task_/);
  const { tasks } = await call(client, 'list_tasks', { queue: 'papers', state: 'ready' });
  assert.deepEqual(
    (tasks as { id: string }[]).map((one) => one.id),
    [id],
  );
  assert.match((await call(client, 'explain_task', { id }))['summary'] as string, /worker/);
  assert.deepEqual(await call(client, 'tail_log', { id }), { state: 'ready', lines: [] });
  assert.equal((await call(client, 'cancel_task', { id }))['act'], 'cancelled');
  assert.equal((await call(client, 'show_task', { id }))['state'], 'cancelled');
  assert.equal((await call(client, 'retry_task', { id }))['act'], 'again');
});

test('a tail is the end of a log, however long that is', async (t) => {
  const node = await nodeScene(t, { duties: false });
  const { engine } = node;
  const client = await connect(t, node, node.admin);
  const { id, task } = await engine.push({ queue: 'q', handler: 'h' });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 1 });
  const [grant] = await engine.claim({ worker, max: 1, task });
  assert.ok(grant);
  const lines = Array.from({ length: 2500 }, (_, i) => ({
    seq: i + 1,
    at: 1,
    stream: 'stdout' as const,
    text: `line ${i + 1}`,
  }));
  for (let i = 0; i < lines.length; i += 500) await engine.logs.append(grant, lines.slice(i, i + 500));
  const tail = await call(client, 'tail_log', { id, lines: 2 });
  assert.deepEqual(
    (tail['lines'] as { text: string }[]).map(({ text }) => text),
    ['line 2499', 'line 2500'],
  );
});

test('a dry run of each tool that writes changes nothing', async (t) => {
  const node = await nodeScene(t);
  const client = await connect(t, node, node.admin);
  const { tools } = await client.listTools();
  const writes = tools.filter(({ annotations }) => annotations?.readOnlyHint === false);
  assert.deepEqual(
    writes.map(({ name }) => name),
    ['push_task', 'cancel_task', 'retry_task', 'pause_queue', 'resume_queue'],
  );
  for (const { name, inputSchema } of writes) {
    assert.ok('dry_run' in (inputSchema.properties ?? {}), `${name} takes dry_run`);
  }
  const { id } = await node.engine.push({ queue: 'q', handler: 'h' });
  const done = await node.engine.push({ queue: 'q', handler: 'h' });
  await node.engine.cancel(done.task);
  const before = (await node.ask('/api/v1/queues')).body;
  const dry = { dry_run: true };
  assert.equal((await call(client, 'push_task', { queue: 'q', ...dry }))['dry_run'], true);
  assert.equal((await call(client, 'cancel_task', { id, ...dry }))['act'], 'cancelled');
  assert.equal((await call(client, 'cancel_task', { id, tree: true, ...dry }))['dryRun'], true);
  assert.equal((await call(client, 'retry_task', { id: done.id, ...dry }))['act'], 'again');
  assert.equal((await call(client, 'pause_queue', { queue: 'q', ...dry }))['act'], 'pause');
  assert.equal((await call(client, 'resume_queue', { queue: 'q', ...dry }))['act'], 'resume');
  assert.deepEqual((await node.ask('/api/v1/queues')).body, before);
});

test('who may only read has no tool that writes', async (t) => {
  const node = await nodeScene(t);
  const reader = await connect(t, node, (await node.token('read')).token);
  const names = (await reader.listTools()).tools.map(({ name }) => name);
  assert.ok(names.includes('explain_task'));
  assert.ok(!names.some((name) => /push|cancel|retry|pause|resume/.test(name)), names.join());
  const refused = await reader
    .callTool({ name: 'push_task', arguments: { queue: 'q' } })
    .catch((error: Error) => error);
  assert.ok(refused instanceof Error || refused.isError === true);
  assert.deepEqual((await node.ask('/api/v1/tasks')).body.tasks, []);
});

test('what is refused is told to the model with what to do', async (t) => {
  const node = await nodeScene(t);
  const client = await connect(t, node, node.admin);
  for (const args of [{ id: 'task_nothing' }, { id: '' }]) {
    const { isError, content } = await client.callTool({ name: 'explain_task', arguments: args });
    assert.equal(isError, true);
    assert.match(JSON.stringify(content), /NOT_FOUND|INVALID/);
  }
  const dry = await client.callTool({ name: 'push_task', arguments: { queue: 'no such name!', dry_run: true } });
  assert.equal(dry.isError, true, 'a dry run refuses what a push would');
});

test('nobody speaks MCP without a token, and no worker does', async (t) => {
  const node = await nodeScene(t);
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  assert.equal((await node.ask('/mcp', { body, token: null })).status, 401);
  const { secret } = (await node.ask('/api/v1/workers', { body: { name: 'w' } })).body;
  assert.equal((await node.ask('/mcp', { body, token: secret })).status, 403);
});
