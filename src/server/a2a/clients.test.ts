/** Every call of the official client, of both versions of A2A, at both addresses. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type AgentCard, type Message, Role, type StreamResponse, type Task, TaskState } from '@a2a-js/sdk';
import { JsonRpcTransportFactory, type Transport } from '@a2a-js/sdk/client';
import { isLegacyAgentCard, LegacyJsonRpcTransport } from '@a2a-js/sdk/compat/v0_3/client';
import { messagesOf, type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import { task } from '../../worker/define/task.ts';

async function scene(t: TestContext): Promise<NodeScene> {
  const node = await nodeScene(t);
  const worker = node.service.app.worker({
    name: 'w',
    slots: 4,
    tasks: [
      task('double', { run: ({ n }: { n: number }) => ({ doubled: 2 * n }) }),
      task('list', { run: () => [1, 2] }),
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
  return node;
}

type Client = Transport;
type Version = '1.0' | '0.3';

async function clientOf(node: NodeScene, version: Version, path: string, token = node.admin): Promise<Client> {
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set('authorization', `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
  const url = node.url(path);
  if (version === '0.3') return new LegacyJsonRpcTransport({ endpoint: url, fetchImpl });
  const supportedInterfaces = [{ url, protocolBinding: 'JSONRPC', tenant: '', protocolVersion: version }];
  return new JsonRpcTransportFactory({ fetchImpl }).create(url, { supportedInterfaces } as unknown as AgentCard);
}

let messages = 0;

function message(handler: string, content: Message['parts'][number]['content'], more: Partial<Message> = {}): Message {
  return {
    messageId: `m-${++messages}`,
    contextId: 'talk',
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

function request(one: Message, returnImmediately = false, historyLength?: number) {
  const configuration = {
    acceptedOutputModes: [],
    taskPushNotificationConfig: undefined,
    returnImmediately,
    ...(historyLength === undefined ? {} : { historyLength }),
  };
  return { tenant: '', message: one, configuration, metadata: undefined };
}

async function send(client: Client, one: Message, returnImmediately = false): Promise<Task> {
  const answer = await client.sendMessage(request(one, returnImmediately));
  assert.ok('status' in answer, 'the answer is a task');
  return answer;
}

const resultOf = ({ artifacts }: Task): unknown => artifacts[0]?.parts[0]?.content?.value;
const said = ({ history }: Task): readonly unknown[] =>
  history.map(({ role, parts }) => [role === Role.ROLE_USER ? 'user' : 'agent', parts[0]?.content?.value]);

const stateOf = ({ payload }: StreamResponse): TaskState | undefined =>
  payload?.$case === 'task' || payload?.$case === 'statusUpdate' ? payload.value.status?.state : undefined;

for (const version of ['1.0', '0.3'] as const) {
  for (const path of ['/a2a', '/']) {
    test(`a client of A2A ${version} is served at ${path}, call by call`, async (t) => {
      const node = await scene(t);
      const client = await clientOf(node, version, path);
      const named = { tenant: '', id: '' };

      const done = await send(client, message('double', data({ n: 21 })));
      assert.equal(done.status?.state, TaskState.TASK_STATE_COMPLETED);
      assert.deepEqual([resultOf(done), said(done)], [{ doubled: 42 }, [['user', { n: 21 }]]]);
      assert.deepEqual(resultOf(await send(client, message('list', data({})))), [1, 2]);

      const heard: StreamResponse[] = [];
      for await (const one of client.sendMessageStream(request(message('double', data({ n: 4 }))))) heard.push(one);
      assert.deepEqual(
        [heard[0]?.payload?.$case, heard.at(-2)?.payload?.$case],
        ['task', 'artifactUpdate'],
        JSON.stringify(heard),
      );
      assert.equal(stateOf(heard.at(-1) as StreamResponse), TaskState.TASK_STATE_COMPLETED);

      const asking = await send(client, message('asks', data({ of: 'whom' })));
      assert.equal(asking.status?.state, TaskState.TASK_STATE_INPUT_REQUIRED);
      const decision = { taskId: asking.id, metadata: undefined };
      const decided = await send(client, message('asks', { $case: 'text', value: 'yes' }, decision));
      assert.deepEqual(resultOf(decided), { decided: 'yes' });
      const talk = [
        ['user', { of: 'whom' }],
        ['agent', 'Release it?'],
        ['user', 'yes'],
      ];
      const shown = await client.getTask({ ...named, id: asking.id });
      assert.deepEqual([shown.status?.state, said(shown)], [TaskState.TASK_STATE_COMPLETED, talk]);
      assert.deepEqual(said(await client.getTask({ ...named, id: asking.id, historyLength: 1 })), talk.slice(-1));
      assert.deepEqual(said(await client.getTask({ ...named, id: asking.id, historyLength: 0 })), []);

      const begun = await send(client, message('forever', data({})), true);
      const states: (TaskState | undefined)[] = [];
      for await (const one of client.resubscribeTask({ ...named, id: begun.id })) {
        states.push(stateOf(one));
        if (states.at(-1) === TaskState.TASK_STATE_WORKING) {
          await client.cancelTask({ ...named, id: begun.id, metadata: undefined });
        }
      }
      assert.equal(states.at(-1), TaskState.TASK_STATE_CANCELED);

      const all = { ...named, contextId: 'talk', status: 0, pageToken: '', statusTimestampAfter: undefined };
      const later = { ...all, statusTimestampAfter: '2999-01-01T00:00:00Z' };
      if (version === '0.3') await assert.rejects(client.listTasks(all), /-32601|not found/i);
      else {
        assert.deepEqual((await client.listTasks(all)).tasks.length, 5);
        assert.deepEqual((await client.listTasks(later)).tasks, []);
      }

      // The errors of the protocol, by their names.
      const named2 = { ...named, id: begun.id };
      await assert.rejects(client.cancelTask({ ...named2, metadata: undefined }), { name: 'TaskNotCancelableError' });
      await assert.rejects(client.getTask({ ...named, id: 'task_none' }), { name: 'TaskNotFoundError' });
      await assert.rejects(client.resubscribeTask(named2).next(), /-32004/);
      await assert.rejects(client.getExtendedAgentCard({ tenant: '' }), {
        name: 'ExtendedAgentCardNotConfiguredError',
      });
      const config = { ...named, taskId: begun.id, url: 'http://x', token: '', authentication: undefined };
      const unsupported = { name: 'PushNotificationNotSupportedError' };
      await assert.rejects(client.createTaskPushNotificationConfig(config), unsupported);
      await assert.rejects(client.getTaskPushNotificationConfig(config), unsupported);
      await assert.rejects(client.deleteTaskPushNotificationConfig(config), unsupported);
      const list = { ...named, taskId: begun.id, pageSize: 1, pageToken: '' };
      await assert.rejects(client.listTaskPushNotificationConfig(list), unsupported);

      const reader = await clientOf(node, version, path, (await node.token('read')).token);
      assert.equal((await reader.getTask({ ...named, id: asking.id })).id, asking.id);
      await assert.rejects(send(reader, message('double', data({ n: 1 }))), /needs the role operator/);
    });
  }
}

test('the card serves clients of both versions', async (t) => {
  const node = await scene(t);
  const { body: card } = await node.ask('/.well-known/agent-card.json', { token: null });
  assert.equal(isLegacyAgentCard(card), false, 'a client of both takes the newer one');
  const versions = card.supportedInterfaces.map(({ protocolVersion }: { protocolVersion: string }) => protocolVersion);
  assert.deepEqual(versions, ['1.0', '0.3']);
  const { url, preferredTransport, protocolVersion } = card;
  assert.deepEqual([url, preferredTransport, protocolVersion], [node.url('/a2a'), 'JSONRPC', '0.3']);
  assert.deepEqual([card.security, card.securitySchemes.bearer.type], [[{ bearer: [] }], 'http']);
});

test('a call of 0.3 that is not well formed is refused as one, under its id', async (t) => {
  const node = await scene(t);
  const bad = [
    undefined,
    {},
    { message: null },
    { message: { messageId: 'm', parts: [null] } },
    { message: { parts: [] } },
  ];
  for (const path of ['/', '/a2a']) {
    for (const params of bad) {
      const body = { jsonrpc: '2.0', id: 'mine', method: 'message/send', params };
      const answer = await node.ask(path, { body });
      assert.deepEqual([answer.body.id, answer.body.error.code], ['mine', -32_602], JSON.stringify(params));
    }
    const unknown = await node.ask(path, { body: { jsonrpc: '2.0', id: 7, method: 'tasks/nothing', params: {} } });
    assert.deepEqual([unknown.body.id, unknown.body.error.code], [7, -32_601]);
  }
});

test('the last message of a stream of 0.3 is marked as final, also where the task asks for input', async (t) => {
  const node = await scene(t);
  for (const [handler, last] of [
    ['asks', 'input-required'],
    ['list', 'completed'],
  ]) {
    const one = { kind: 'message', messageId: `final-${handler}`, role: 'user', metadata: { handler } };
    const params = { message: { ...one, parts: [{ kind: 'data', data: {} }] } };
    const body = { jsonrpc: '2.0', id: 1, method: 'message/stream', params };
    const headers = node.headers({ body });
    const response = await fetch(node.url('/a2a'), { method: 'POST', headers, body: JSON.stringify(body) });
    const heard = (await Array.fromAsync(messagesOf(response))).map(({ data }) => data.result);
    const marks = heard
      .filter(({ kind }) => kind === 'status-update')
      .map(({ status, final }) => [status.state, final]);
    assert.deepEqual(marks.at(-1), [last, true], JSON.stringify(heard));
    assert.ok(marks.slice(0, -1).every(([, final]) => final === false));
  }
});
