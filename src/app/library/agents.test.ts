import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { gatewayServer, saying, text } from '../../../test/support/agents/gateway-server.ts';
import { completion, openAiServer, pieces, stream, toolCall } from '../../../test/support/agents/openai-server.ts';
import { isEngineError } from '../../core/errors.ts';
import { graphs } from '../graphs/graph-handler.ts';
import { type App, open } from '../open.ts';
import { type AgentsOptions, agentHandler, agents } from './agents.ts';

const LOOPBACK = ['127.0.0.1:*'];

async function working(t: TestContext, options: AgentsOptions = {}): Promise<App> {
  const app = await open('memory:');
  t.after(() => app.close({ drainMs: 0 }));
  const worker = app.worker({ tasks: [agents({ allowHttp: LOOPBACK, ...options })], name: 'mine' });
  await worker.start();
  return app;
}

const run = (app: App, input: object): Promise<Record<string, unknown>> =>
  app.push(agents(), input as never).then((handle) => handle.result() as Promise<Record<string, unknown>>);

const failing = async (app: App, input: object): Promise<string> => {
  const error: unknown = await run(app, input).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error, 'it did not fail');
  return inspect(error, { depth: 9 });
};

async function linesOf(handle: {
  logs(): AsyncIterable<{ readonly stream: string; readonly text: string }>;
}): Promise<string[]> {
  const lines: string[] = [];
  for await (const { stream, text: line } of handle.logs()) if (stream === 'log') lines.push(line);
  return lines;
}

describe('an agent run', () => {
  test('is done by a function of the program, which keeps effects and checkpoints', async (t) => {
    const app = await working(t, {
      agents: {
        writer: async ({ prompt, workspace, context }, call) => {
          await call.memory?.keep({ at: 1 });
          const sent = await call.receipts?.once(
            'send',
            { to: 'ada' },
            ({ key }) => `sent ${key.split('/')[0] !== ''}`,
          );
          call.onEvent?.({ type: 'text', data: { text: 'Hello\nworld' } });
          return {
            content: `${String(prompt)} in ${String(workspace)}: ${JSON.stringify(context)} ${String(sent)}`,
            usage: { total_tokens: 7 },
          };
        },
      },
    });
    const handle = await app.push(agents(), {
      gateway: 'writer',
      prompt: 'Write {{ 1 + 1 }}',
      workspace: '/w',
      context: { n: 1 },
    });
    const { usage, ...result } = (await handle.result()) as { readonly usage: Record<string, unknown> };
    assert.deepEqual(result, {
      text: 'Write {{ 1 + 1 }} in /w: {"n":1} sent true',
      stop: 'complete',
      iterations: 0,
      tool_calls: 0,
    });
    assert.deepEqual({ tokens: usage['tokens'], calls: usage['calls'] }, { tokens: 7, calls: 1 });
  });

  test('is a loop over an endpoint, with tools, tokens in the log and progress', async (t) => {
    const server = await openAiServer(
      t,
      stream(
        pieces({ content: 'Let me see.' }, { tool_calls: [{ index: 0, ...toolCall('c1', 'look', { q: 'x' }) }] }),
        40,
      ),
      stream(pieces({ content: 'It is ' }, { content: '42.' }), 40),
    );
    const app = await working(t, { tools: { look: { replay: 'repeat', run: ({ q }) => `found ${String(q)}` } } });
    const handle = await app.push(agents(), {
      gateway: { type: 'llm', name: 'm', base_url: server.baseUrl },
      prompt: 'What?',
      system: 'Be brief.',
    });
    const result = (await handle.result()) as Record<string, unknown>;
    assert.deepEqual(
      [result['text'], result['stop'], result['iterations'], result['tool_calls']],
      ['It is 42.', 'complete', 2, 1],
    );
    assert.deepEqual(server.asked[0]?.body.messages[0], { role: 'system', content: 'Be brief.' });
    assert.deepEqual(await linesOf(handle), ['Let me see.', '→ look {"q":"x"}', '← found x', 'It is 42.']);
  });

  test('fails with a clear end when its iterations are used up, unless that completes it', async (t) => {
    const server = await openAiServer(
      t,
      completion(null, { calls: [toolCall('c1', 'look', { q: 'x' })] }),
      completion('So far: nothing.'),
    );
    const app = await working(t, { tools: { look: { replay: 'repeat', run: () => 'found' } } });
    const input = {
      gateway: { type: 'llm', name: 'm', base_url: server.baseUrl },
      prompt: 'What?',
      max_iterations: 1,
    };
    assert.match(await failing(app, input), /MAX_ITERATIONS|not done after max_iterations 1/);
    const again = await openAiServer(
      t,
      completion(null, { calls: [toolCall('c1', 'look', { q: 'x' })] }),
      completion('So far: nothing.'),
    );
    const result = await run(app, {
      ...input,
      gateway: { ...input.gateway, base_url: again.baseUrl },
      on_max_iterations: 'complete',
    });
    assert.deepEqual([result['stop'], result['text']], ['max_iterations', 'So far: nothing.']);
  });

  test('is asked behind a gateway by its address', async (t) => {
    const server = await gatewayServer(t, [
      saying(text('Done.'), { type: 'iteration_end', data: { iteration: 1, tool_calls_count: 0, tokens_used: 9 } }),
    ]);
    const app = await working(t);
    const result = await run(app, { gateway: server.url, prompt: 'Go', workspace: '/w/1', max_iterations: 3 });
    assert.deepEqual(
      [result['text'], result['iterations'], (result['usage'] as Record<string, unknown>)['tokens']],
      ['Done.', 1, 9],
    );
    assert.equal(server.asked[0]?.data.max_iterations, 3);
    assert.deepEqual([...server.sessions.values()][0]?.['workspace_dir'], '/w/1');
  });

  test('goes on in the session of a gateway that closed early, with what is left of its iterations', async (t) => {
    const iteration = { type: 'iteration_end', data: { tool_calls_count: 1, tokens_used: 10 } };
    const server = await gatewayServer(t, [
      (socket) => {
        for (const event of [iteration, iteration]) socket.send(JSON.stringify(event));
        setTimeout(() => socket.terminate(), 50);
      },
      saying(text('Done.'), iteration),
    ]);
    const app = await working(t);
    const result = await run(app, { gateway: server.url, prompt: 'Go', max_iterations: 3, backoffs: [0] });
    const [first, second] = server.asked;
    assert.deepEqual([first?.session, server.sessions.size], [second?.session, 1]);
    assert.deepEqual([first?.data.max_iterations, second?.data.max_iterations], [3, 1]);
    assert.deepEqual([first?.data.metadata['resume'], second?.data.metadata['resume']], [undefined, true]);
    assert.match(String(second?.data.user_input), /^The connection was cut off .*\n\nGo$/s);
    assert.deepEqual(
      [result['text'], result['iterations'], (result['usage'] as Record<string, unknown>)['tokens']],
      ['Done.', 3, 30],
    );
  });

  test('says back no value of a variable that it may send: not in rows, results or lines', async (t) => {
    const secret = 'sk-very-secret-value';
    const server = await openAiServer(
      t,
      completion(null, { calls: [toolCall('c1', 'leak', { word: secret })] }),
      completion(`I know ${secret}`),
    );
    const app = await open('memory:');
    t.after(() => app.close({ drainMs: 0 }));
    const runs = agentHandler({
      tools: { leak: { replay: 'repeat', run: () => `it is ${secret}` } },
      allowHttp: LOOPBACK,
      sendable: new Set(['MODEL_KEY']),
      environment: () => ({ MODEL_KEY: secret }),
    });
    await app.worker({ tasks: [runs], name: 'mine' }).start();
    const gateway = { type: 'llm', name: 'm', base_url: server.baseUrl, api_key_env: 'MODEL_KEY' };
    const handle = await app.push(agents(), { gateway, prompt: 'What?' });
    assert.equal((await handle.result()).text, 'I know [secret]');
    assert.equal(server.asked[0]?.headers.authorization, `Bearer ${secret}`);
    const kept = JSON.stringify([await app.engine.journal(handle.task), await linesOf(handle)]);
    assert.ok(!kept.includes(secret) && kept.includes('[secret]'), kept);
    // A variable that the worker does not allow is not sent.
    const other = { ...gateway, api_key_env: 'PATH' };
    assert.match(await failing(app, { gateway: other, prompt: 'x' }), /PATH/);
  });

  test('goes on where the value of a variable is a word or a number of its own', async (t) => {
    const app = await open('memory:');
    t.after(() => app.close({ drainMs: 0 }));
    const own = { A_API_KEY: 'complete', B_API_KEY: '12345678' };
    const counter = () => ({ content: 'complete', usage: { total_tokens: 12345678 } });
    await app.worker({ tasks: [agentHandler({ functions: { counter }, environment: () => own })] }).start();
    const { text: said, stop, usage } = await run(app, { gateway: 'counter', prompt: 'Count' });
    assert.deepEqual([said, stop, (usage as { tokens: number }).tokens], ['[secret]', '[secret]', 12345678]);
  });

  test('with more to say than can be kept fails with a clear end, and asks nobody again', async (t) => {
    const long = 'x'.repeat(1_100_000);
    let asked = 0;
    const app = await working(t, { agents: { talker: () => (asked++, long) } });
    assert.match(
      await failing(app, { gateway: 'talker', prompt: 'Talk', backoffs: [] }),
      /TOO_LARGE|too large|more than/,
    );
    assert.equal(asked, 1);
    const endpoint = await openAiServer(t, completion(long));
    const gateway = { type: 'llm', name: 'm', base_url: endpoint.baseUrl, stream: false };
    assert.match(await failing(app, { gateway, prompt: 'Talk', backoffs: [] }), /TOO_LARGE|too large|more than/);
    assert.equal(endpoint.asked.length, 1);
  });

  test('ends soon after a cancel, though its endpoint never answers', async (t) => {
    const called = Promise.withResolvers<void>();
    const server = await openAiServer(t, () => called.resolve());
    const app = await working(t);
    const gateway = { type: 'llm', name: 'm', base_url: server.baseUrl };
    const handle = await app.push(agents(), { gateway, prompt: 'What?' });
    await called.promise;
    await handle.cancel();
    await assert.rejects(handle.result());
    assert.equal(await handle.state(), 'cancelled');
    const late = { ...gateway, timeout: 0.05 };
    assert.match(await failing(app, { gateway: late, prompt: 'What?', backoffs: [] }), /TimeoutError/);
    assert.equal(server.open(), 0);
  });

  test('is a node of a graph like any other handler', async (t) => {
    const app = await open('memory:');
    t.after(() => app.close({ drainMs: 0 }));
    const writer = ({ prompt }: Readonly<Record<string, unknown>>): string => `on ${String(prompt)}`;
    await app.worker({ tasks: [graphs(), agents({ agents: { writer } })], slots: 2, name: 'mine' }).start();
    const graph = {
      name: 'notes',
      nodes: [
        { id: 'start', typeId: 'core/start' },
        { id: 'write', typeId: 'agent', data: { gateway: 'writer', prompt: '{{ $.start.what }}' } },
      ],
      connections: [{ id: 'c1', sourceNodeId: 'start', targetNodeId: 'write' }],
    };
    const started = await app.runs.start({ graph, input: { what: 'bees' } });
    assert.match(JSON.stringify(await app.handle(started.id).result()), /"text":"on bees"/);
  });

  test('starts no program unless the worker allows programs', async (t) => {
    const input = { gateway: { type: 'command', command: ['echo', 'hi'] }, prompt: 'Go' };
    assert.match(await failing(await working(t), input), /starts no programs/);
    const result = await run(await working(t, { programs: true }), { ...input, workspace: '/tmp' });
    assert.equal(result['text'], 'hi');
  });

  test('tells all that is wrong with its input, and keeps no keys', async (t) => {
    const app = await working(t);
    const problem = await app
      .push(agents(), {
        gateway: { type: 'llm', api_key: 'sk-1', headers: { Authorization: 'Bearer x' } },
        max_iterations: 0,
        promt: 'x',
      } as never)
      .then(
        (handle) => handle.result().then(String, (error: unknown) => inspect(error, { depth: 9 })),
        (error: unknown) => inspect(error, { depth: 9 }),
      );
    for (const word of ['api_key', 'Authorization', 'max_iterations', 'promt', 'prompt: is missing']) {
      assert.ok(problem.includes(word), `${word}: ${problem}`);
    }
    await assert.rejects(
      app.push(agents(), { gateway: 'writer', prompt: 'x', policies: { send: 'maybe' } }),
      /policies\.send: must be one of repeat, exact, relaunch/,
    );
    assert.throws(
      () => agents({ agent: {} } as never),
      (error) => isEngineError(error, 'UNKNOWN_OPTION'),
    );
  });
});
