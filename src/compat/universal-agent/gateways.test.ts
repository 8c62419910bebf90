import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type GatewayScript, gatewayServer, saying, text } from '../../../test/support/agents/gateway-server.ts';
import { ExternalGateway, gatewayRunHandler, InProcessGateway } from './gateways.ts';
import { connectRuntimeDb, queueRun } from './run-functions.ts';

const call = { type: 'tool_call', data: { id: 't1', name: 'search', input: {} } };

test('an external gateway makes and resumes sessions, tells its events, and gives a result in both shapes', async (t) => {
  const server = await gatewayServer(t, [saying(text('A '), call, text('summary.'))], { token: 'a-long-secret' });
  const gateway = new ExternalGateway({ base_url: server.url, token: 'a-long-secret' });
  const session = await gateway.createSession({ user_id: 'ada', workspace_dir: '/w', session_id: 's1' });
  assert.deepEqual(session, { session_id: 's1', user_id: 'ada', workspace_dir: '/w', metadata: {} });
  const resumed = await gateway.resumeSession('s1');
  await assert.rejects(gateway.resumeSession('s2'), /no session s2/);
  const heard: string[] = [];
  const request = {
    user_input: 'Sum up',
    force_complex: true,
    metadata: { a: 1 },
    max_iterations: 3,
    context: { b: 2 },
  };
  const {
    events,
    execution_time: seconds,
    ...result
  } = await gateway.runQuery(resumed, request, {
    eventCallback: ({ type }) => heard.push(type),
  });
  assert.deepEqual(result, {
    session_id: 's1',
    success: true,
    response_text: 'A summary.',
    output: 'A summary.',
    tool_calls: 1,
    code_execution_used: false,
    trace_id: 'trace-1',
    metadata: {},
    error: null,
  });
  assert.ok(seconds >= 0);
  assert.deepEqual(heard, ['text', 'tool_call', 'text', 'query_complete']);
  assert.equal(events.length, 4);
  const { data } = server.asked[0] ?? assert.fail();
  const { idempotency_key: _, ...metadata } = data.metadata;
  assert.deepEqual(
    [data.user_input, data.force_complex, data.max_iterations, metadata],
    ['Sum up', true, 3, { a: 1, context: { b: 2 } }],
  );
  assert.equal(await gateway.healthCheck(), false);
});

test('a gateway that ends too early, is not there or says that it failed is a result that did not succeed', async (t) => {
  const failing: GatewayScript = (socket) =>
    socket.send(JSON.stringify({ type: 'error', data: { message: 'no model' } }));
  const server = await gatewayServer(t, [(socket) => socket.terminate(), failing]);
  const gateway = new ExternalGateway({ baseUrl: server.url });
  const session = await gateway.createSession({ user_id: 'ada', session_id: 's1' });
  const closed = await gateway.runQuery(session, { userInput: 'x' });
  assert.deepEqual(
    [closed.success, closed.error],
    [false, 'the gateway: it closed the connection before the request was done'],
  );
  const failed = await gateway.runQuery(session, { user_input: 'x' });
  assert.match(String(failed.error), /no model/);
  const nowhere = new ExternalGateway({ base_url: 'http://127.0.0.1:9' });
  await assert.rejects(nowhere.createSession({ user_id: 'ada' }));
  assert.equal(await nowhere.healthCheck(), false);
  await assert.rejects(gateway.runQuery(session, {}), /user_input/);
});

test('who stops listening ends the request', async (t) => {
  const server = await gatewayServer(t, [(socket) => socket.send(JSON.stringify(text('On and on')))]);
  const gateway = new ExternalGateway({ base_url: server.url });
  const session = await gateway.createSession({ user_id: 'ada', session_id: 's1' });
  for await (const event of gateway.execute(session, { user_input: 'x' })) {
    assert.equal(event.type, 'text');
    break;
  }
  while (server.open() > 0) await new Promise((resolve) => setImmediate(resolve));
});

test('a gateway within the process is a function of events, or of a whole answer', async () => {
  const whole = new InProcessGateway(({ user_input }, { session }) => `${user_input} in ${session.workspace_dir}`);
  const session = await whole.createSession({ user_id: 'ada', workspace_dir: '/w' });
  assert.equal((await whole.runQuery(session, { user_input: 'Go' })).response_text, 'Go in /w');
  assert.deepEqual(await whole.listSessions(), [session]);
  const events = new InProcessGateway(async function* () {
    yield text('one ');
    yield { type: 'query_complete', data: { output: 'unused', success: false, error: 'half done' } };
  });
  const result = await events.runQuery(session, { user_input: 'Go' });
  assert.deepEqual([result.response_text, result.success, result.error], ['one ', false, 'half done']);
  await whole.close();
  assert.equal((await whole.runQuery(session, { user_input: 'Go' })).success, false);
});

test('a run is handled over a gateway, in a session of its own name', async (t) => {
  const server = await gatewayServer(t, [saying(text('Done.')), (socket) => socket.terminate()]);
  const conn = await connectRuntimeDb('memory:');
  t.after(() => conn.close());
  await queueRun(conn, { run_id: 'job_1', prompt: 'Analyze', workspace_dir: '/w', max_iterations: 7 });
  const handler = gatewayRunHandler(conn, new ExternalGateway({ base_url: server.url }));
  assert.equal(await handler('job_1', '/w/other'), true);
  assert.deepEqual(
    [...server.sessions],
    [['job_1', { user_id: 'worker_job_1', workspace_dir: '/w/other', session_id: 'job_1' }]],
  );
  assert.deepEqual([server.asked[0]?.data.user_input, server.asked[0]?.data.max_iterations], ['Analyze', 7]);
  await assert.rejects(handler('job_1'), /closed the connection/);
  await assert.rejects(handler('job_2'), /no run job_2/);
});
