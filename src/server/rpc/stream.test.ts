import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messagesOf, type Wire } from '../../../test/support/node-scene.ts';
import { type RpcScene, rpcScene } from '../../../test/support/rpc-scene.ts';

async function stream(it: RpcScene, params: object): Promise<Response> {
  const body = { jsonrpc: '2.0', id: 1, method: 'tasks.execute', params: { use_streaming: true, ...params } };
  return fetch(it.node.url('/tasks'), {
    method: 'POST',
    headers: it.node.headers({ body }),
    body: JSON.stringify(body),
  });
}

/** All messages until the stream ends. */
async function all(response: Response): Promise<readonly Wire[]> {
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  const data: Wire[] = [];
  for await (const message of messagesOf(response)) data.push(message.data);
  return data;
}

test('an execution is told as it goes, from its start to the end of its last task', async (t) => {
  const it = await rpcScene(t);
  await it.register();
  await it.call('tasks.create', [
    { id: 'r', name: 'echo' },
    { id: 'a', name: 'echo', parent_id: 'r' },
    { id: 'b', name: 'echo', parent_id: 'r', dependencies: ['a'] },
  ]);
  const response = await stream(it, { task_id: 'r' });
  const told = all(response);
  await it.work(({ id }) => {
    if (id === 'b') throw new Error('b is broken');
    return { from: id };
  });
  const messages = await told;
  const brief = messages
    .filter(({ type }) => type !== 'progress')
    .map(({ type, task_id, status }) => [type, task_id, status].filter(Boolean).join(' '));
  assert.deepEqual(brief, [
    'task_start a in_progress',
    'task_completed a completed',
    'task_start b in_progress',
    'task_failed b failed',
    'task_start r in_progress',
    'task_completed r completed',
    'final r completed',
    'stream_end',
  ]);
  const [first] = messages;
  assert.deepEqual([first.type, first.status, first.streaming, first.total], ['progress', 'started', true, 3]);
  const progress = messages.filter(({ type }) => type === 'progress').map(({ completed = 0 }) => completed);
  assert.deepEqual(progress, [0, 1, 2, 3]);
  assert.equal(messages.find(({ type }) => type === 'task_failed').error, 'b is broken');
  assert.deepEqual(messages.at(-2).result, { from: 'r' });
});

test('what cannot be started is refused as any call is, and is no stream', async (t) => {
  const it = await rpcScene(t);
  await it.call('tasks.create', { id: 'r', name: 'echo' });
  const none = await stream(it, { task_id: 'none' });
  assert.match(none.headers.get('content-type') ?? '', /json/);
  assert.equal(((await none.json()) as Wire).error.code, -32001);
  const call = { jsonrpc: '2.0', id: 1, method: 'tasks.execute', params: { task_id: 'r', use_streaming: true } };
  const batch = await it.send([call]);
  assert.equal(batch.body[0].error.code, -32602, 'a batch has no place for a stream');
  const { id: _, ...notification } = call;
  assert.equal((await it.send(notification)).status, 204);
  assert.equal(await it.status('r'), 'pending', 'and nobody hears a notification');
});

test('a task that is cancelled ends its stream too', async (t) => {
  const it = await rpcScene(t);
  await it.call('tasks.create', { id: 'r', name: 'echo' });
  const told = all(await stream(it, { task_id: 'r' }));
  await it.call('tasks.cancel', { task_id: 'r' });
  const messages = await told;
  assert.deepEqual(
    messages.map(({ type, status }) => `${type} ${status ?? ''}`.trim()),
    ['progress started', 'task_failed cancelled', 'progress', 'final cancelled', 'stream_end'],
  );
});
