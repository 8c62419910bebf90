import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Message, Role, type StreamResponse, type Task, TaskState } from '@a2a-js/sdk';
import { type Client, ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client';
import { type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import { task } from '../../worker/define/task.ts';

/** A node with a worker, and the official client of A2A, which knows its address and a token. */
async function scene(
  t: TestContext,
): Promise<{ node: NodeScene; client: Client; clientFor: (token: string) => Promise<Client> }> {
  const node = await nodeScene(t);
  const worker = node.service.app.worker({
    name: 'w',
    slots: 4,
    tasks: [
      task('double', { run: ({ n }: { n: number }) => ({ doubled: 2 * n }) }),
      task('greet', { run: ({ text }: { text: string }) => `Hello, ${text}!` }),
      task('breaks', { maxAttempts: 1, run: () => Promise.reject(new Error('it is broken')) }),
      task('asks', {
        run: async (_input: unknown, ctx) => {
          const { value } = await ctx.wait('release', { approval: { title: 'Release it?', actions: ['yes', 'no'] } });
          return { decided: value.action };
        },
      }),
      task('forever', {
        run: (_input: unknown, ctx) =>
          new Promise((_resolve, reject) =>
            ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error)),
          ),
      }),
    ] as never,
  });
  await worker.start();
  t.after(() => worker.stop({ drain: false }));
  const clientFor = (token: string): Promise<Client> => {
    const fetchImpl: typeof fetch = (input, init) => {
      const headers = new Headers(init?.headers);
      headers.set('authorization', `Bearer ${token}`);
      return fetch(input, { ...init, headers });
    };
    const factory = new ClientFactory({
      transports: [new JsonRpcTransportFactory({ fetchImpl })],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl: fetch }),
    });
    return factory.createFromUrl(node.service.address);
  };
  return { node, client: await clientFor(node.admin), clientFor };
}

let messages = 0;

function message(handler: string, content: Message['parts'][number]['content'], more: Partial<Message> = {}): Message {
  return {
    messageId: `m-${++messages}`,
    contextId: '',
    taskId: '',
    role: Role.ROLE_USER,
    parts: [{ content, metadata: undefined, filename: '', mediaType: '' }],
    metadata: { handler },
    extensions: [],
    referenceTaskIds: [],
    ...more,
  };
}

const data = (value: unknown): Message['parts'][number]['content'] => ({ $case: 'data', value });
const text = (value: string): Message['parts'][number]['content'] => ({ $case: 'text', value });

function request(one: Message, options: { returnImmediately?: boolean } = {}) {
  const configuration = { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: false };
  return { tenant: '', message: one, configuration: { ...configuration, ...options }, metadata: undefined };
}

async function send(client: Client, one: Message, options: { returnImmediately?: boolean } = {}): Promise<Task> {
  const answer = await client.sendMessage(request(one, options));
  assert.ok('status' in answer, 'the answer is a task');
  return answer;
}

const resultOf = ({ artifacts }: Task): unknown => artifacts[0]?.parts[0]?.content?.value;

test('the card names each handler of a worker that is there as a skill, to anybody', async (t) => {
  const { node, client } = await scene(t);
  const card = await client.getAgentCard();
  assert.deepEqual(
    card.skills.map(({ id }) => id),
    ['asks', 'breaks', 'double', 'forever', 'greet'],
  );
  assert.equal(card.supportedInterfaces[0]?.url, `${node.service.address}/a2a`);
  assert.equal((await node.ask('/.well-known/agent-card.json', { token: null })).status, 200);
});

test('a message to a handler becomes a task, and its result a data part', async (t) => {
  const { node, client } = await scene(t);
  const done = await send(client, message('double', data({ n: 21 }), { contextId: 'talk-1' }));
  assert.equal(done.status?.state, TaskState.TASK_STATE_COMPLETED);
  assert.equal(done.contextId, 'talk-1');
  assert.deepEqual(resultOf(done), { doubled: 42 });
  const shown = await node.call('getTask', `/api/v1/tasks/${done.id}`);
  assert.deepEqual([shown.queue, shown.handler, shown.state], ['a2a', 'double', 'completed']);
  assert.equal(resultOf(await send(client, message('greet', text('Ada')))), 'Hello, Ada!');
});

test('a message that is sent again leads to the same task', async (t) => {
  const { client } = await scene(t);
  const one = message('double', data({ n: 1 }), { contextId: 'talk-2' });
  const first = await send(client, one);
  assert.equal((await send(client, one)).id, first.id);
});

test('a stream tells of the task, then of each change, and the result before the end', async (t) => {
  const { client } = await scene(t);
  const heard: StreamResponse[] = [];
  for await (const one of client.sendMessageStream(request(message('double', data({ n: 4 }))))) heard.push(one);
  const kinds = heard.map(({ payload }) => payload?.$case);
  assert.equal(kinds[0], 'task');
  assert.deepEqual(kinds.slice(-2), ['artifactUpdate', 'statusUpdate']);
  const last = heard.at(-1)?.payload;
  assert.ok(last?.$case === 'statusUpdate');
  assert.equal(last.value.status?.state, TaskState.TASK_STATE_COMPLETED);
  const result = heard.at(-2)?.payload;
  assert.ok(result?.$case === 'artifactUpdate');
  assert.deepEqual(result.value.artifact?.parts[0]?.content?.value, { doubled: 8 });
});

test('what fails says why', async (t) => {
  const { client } = await scene(t);
  const failed = await send(client, message('breaks', data({})));
  assert.equal(failed.status?.state, TaskState.TASK_STATE_FAILED);
  assert.match(failed.status?.message?.parts[0]?.content?.value as string, /it is broken/);
});

test('a task that runs is cancelled, one that has ended is not', async (t) => {
  const { client } = await scene(t);
  const begun = await send(client, message('forever', data({})), { returnImmediately: true });
  const states: (TaskState | undefined)[] = [];
  for await (const { payload } of client.resubscribeTask({ tenant: '', id: begun.id })) {
    const state =
      payload?.$case === 'task' || payload?.$case === 'statusUpdate' ? payload.value.status?.state : undefined;
    states.push(state);
    if (state === TaskState.TASK_STATE_WORKING)
      await client.cancelTask({ tenant: '', id: begun.id, metadata: undefined });
  }
  assert.equal(states.at(-1), TaskState.TASK_STATE_CANCELED);
  await assert.rejects(client.cancelTask({ tenant: '', id: begun.id, metadata: undefined }), /cancel/i);
});

test('a task that waits for a decision asks for it, and a message to it decides', async (t) => {
  const { client } = await scene(t);
  const asking = await send(client, message('asks', data({}), { contextId: 'talk-3' }));
  assert.equal(asking.status?.state, TaskState.TASK_STATE_INPUT_REQUIRED);
  assert.match(asking.status?.message?.parts[0]?.content?.value as string, /Release it\? \(yes, no\)/);
  const said = { taskId: asking.id, contextId: 'talk-3', metadata: undefined };
  const done = await send(client, message('asks', text('yes'), said));
  assert.equal(done.status?.state, TaskState.TASK_STATE_COMPLETED);
  assert.deepEqual(resultOf(done), { decided: 'yes' });
  await assert.rejects(send(client, message('asks', text('no'), said)), /waits for no message/);
});

test('tasks of a context are listed, and no others', async (t) => {
  const { node, client } = await scene(t);
  await node.ask('/api/v1/tasks', { body: { queue: 'double', input: { n: 1 } } });
  for (const context of ['a', 'b', 'a']) await send(client, message('double', data({ n: 1 }), { contextId: context }));
  const listed = async (contextId: string): Promise<readonly string[]> => {
    const all = {
      tenant: '',
      status: TaskState.TASK_STATE_UNSPECIFIED,
      pageToken: '',
      statusTimestampAfter: undefined,
    };
    return (await client.listTasks({ ...all, contextId })).tasks.map((one) => one.contextId);
  };
  assert.deepEqual(await listed('a'), ['a', 'a']);
  assert.deepEqual(await listed(''), ['a', 'b', 'a']);
});

test('what is wrong is said', async (t) => {
  const { node, client, clientFor } = await scene(t);
  await assert.rejects(send(client, message('double', data({ n: 1 }), { metadata: undefined })), /handler/);
  await assert.rejects(send(client, message('double', undefined)), /part/);
  await assert.rejects(send(client, message('double', data(1), { messageId: 'x y' })), /messageId/);
  await assert.rejects(client.getTask({ tenant: '', id: 'task_nothing' }), /no task/);
  const { id } = (await node.ask('/api/v1/tasks', { body: { queue: 'q' } })).body;
  await assert.rejects(client.getTask({ tenant: '', id }), /no task/, 'only what a message has made');
  const reader = await clientFor((await node.token('read')).token);
  await assert.rejects(send(reader, message('double', data({ n: 1 }))), /operator|403/);
  await assert.rejects(send(await clientFor('nonsense'), message('double', data({ n: 1 }))), /401/);
});
