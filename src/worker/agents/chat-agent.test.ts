import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import {
  completion,
  json,
  type OpenAiServer,
  openAiServer,
  pieces,
  stream,
  toolCall,
} from '../../../test/support/agents/openai-server.ts';
import { realWorld } from '../../app/world.ts';
import { readAgent } from '../../flow/agent/read-agent.ts';
import type { AgentResult } from '../../flow/agent/result.ts';
import type { ValueMap } from '../../flow/expression/values.ts';
import { agentFailed } from './agent-failed.ts';
import { chatAgent } from './chat-agent.ts';
import type { AgentExecutor, CallOptions } from './executor.ts';
import { modelSettings } from './model-settings.ts';
import { reachOf } from './reach.ts';

interface Scene {
  readonly data?: ValueMap;
  readonly model?: ValueMap;
  readonly environment?: Readonly<Record<string, string>>;
  readonly allow?: readonly string[];
}

function agentAt(server: OpenAiServer, { data = {}, model = {}, environment = {}, allow }: Scene = {}): AgentExecutor {
  const { agent, problems } = readAgent({
    spec: 'flatagent',
    spec_version: '2.2.2',
    data: {
      name: 'poet',
      user: 'Write about {{ input.topic }}',
      ...data,
      model: { name: 'test-model', base_url: server.baseUrl, ...model },
    },
  });
  assert.ok(agent !== undefined, JSON.stringify(problems));
  return chatAgent(agent, { environment: () => environment, world: realWorld(), reach: reachOf(allow) });
}

const call = (more: Partial<CallOptions> = {}): CallOptions => ({
  context: {},
  sessionId: undefined,
  sessionName: undefined,
  key: 'run 1/s:000001',
  signal: new AbortController().signal,
  ...more,
});

const ask = (agent: AgentExecutor, more: Partial<CallOptions> = {}): Promise<AgentResult> =>
  agent.execute({ topic: 'leases' }, call(more));

const failure = async (
  t: TestContext,
  ...[answer, scene]: [Parameters<typeof openAiServer>[1], Scene?]
): Promise<AgentResult> => ask(agentAt(await openAiServer(t, answer), scene));

describe('a chat completion', () => {
  test('asks with prompts, parameters and the key, and gives text, usage and where it came from', async (t) => {
    const server = await openAiServer(t, completion('A lease.'));
    const agent = agentAt(server, {
      data: { system: 'You are {{ input.topic }}.' },
      model: { temperature: 0.2, max_tokens: 50, top_k: 5, reasoning_effort: 'low', headers: { 'X-Team': 'a' } },
      environment: { OPENAI_API_KEY: 'sk-1' },
    });
    const result = await ask(agent);
    assert.deepEqual(result, {
      content: 'A lease.',
      usage: { input_tokens: 12, output_tokens: 3, total_tokens: 15, api_calls: 1 },
      finish_reason: 'stop',
      provider_data: { model: 'test-model', request_id: 'chatcmpl-1' },
    });
    const [asked] = server.asked;
    assert.equal(asked?.path, '/v1/chat/completions');
    assert.deepEqual(asked?.body, {
      model: 'test-model',
      temperature: 0.2,
      max_tokens: 50,
      top_k: 5,
      reasoning_effort: 'low',
      messages: [
        { role: 'system', content: 'You are leases.' },
        { role: 'user', content: 'Write about leases' },
      ],
    });
    const { authorization, 'x-team': team, 'idempotency-key': key } = asked?.headers ?? {};
    assert.deepEqual([authorization, team, key], ['Bearer sk-1', 'a', 'run%201%2Fs%3A000001']);
  });

  test('a key that the file holds is sent as a header, and never in the body', async (t) => {
    const server = await openAiServer(t, completion('x'));
    await ask(agentAt(server, { model: { api_key: 'sk-file' } }));
    assert.equal(server.asked[0]?.headers.authorization, 'Bearer sk-file');
    assert.doesNotMatch(JSON.stringify(server.asked[0]?.body), /sk-file|base_url/);
  });

  test('fields of "output" are asked for, and the answer is coerced to them', async (t) => {
    const server = await openAiServer(t, completion('```json\n{"title": "T", "stars": "4"}\n```'));
    const result = await ask(agentAt(server, { data: { output: { title: 'str', stars: 'int' } } }));
    assert.deepEqual(result.output, { title: 'T', stars: 4 });
    assert.deepEqual(server.asked[0]?.body['response_format'], { type: 'json_object' });
    assert.match(
      server.asked[0]?.body.messages[0]?.content ?? '',
      /fits this JSON schema:\n.*"stars":\{"type":"integer"\}/s,
    );
  });

  test('the schema itself is sent where the profile says so', async (t) => {
    const server = await openAiServer(t, completion('{"a": 1}'));
    await ask(agentAt(server, { data: { output: { a: 'int' } }, model: { response_format: 'json_schema' } }));
    assert.match(JSON.stringify(server.asked[0]?.body['response_format']), /"json_schema".*"a":\{"type":"integer"\}/);
  });

  test('an answer without those fields is an error that may pass', async (t) => {
    const { error } = await failure(t, completion('Sorry, no.'), { data: { output: { title: 'str' } } });
    assert.deepEqual(error, {
      code: 'invalid_output',
      type: 'AgentError',
      message: 'the answer is not what "output" asks for: it is not JSON',
      retryable: true,
    });
  });

  test('what it cost comes from the endpoint, else from the prices of the profile', async (t) => {
    const prices = { input: 2, output: 10, cache_read: 1 };
    const usage = {
      prompt_tokens: 1_000_000,
      completion_tokens: 100_000,
      prompt_tokens_details: { cached_tokens: 500_000 },
    };
    const priced = await failure(t, completion('x', { usage }), { model: { prices } });
    assert.deepEqual(priced.cost, { input: 1, output: 1, cache_read: 0.5, cache_write: 0, total: 2.5 });
    const said = await failure(t, completion('x', { usage: { ...usage, cost: 0.25 } }), { model: { prices } });
    assert.equal(said.cost, 0.25);
  });

  test('tools are called in the form of the protocol, and the first turn gives its prompt back', async (t) => {
    const server = await openAiServer(
      t,
      completion(null, { calls: [toolCall('c1', 'look', { at: 1 })] }),
      completion('done'),
    );
    const agent = agentAt(server);
    const tools = [{ type: 'function' as const, function: { name: 'look' } }];
    const first = await agent.executeWithTools?.({ topic: 'x' }, { tools, messages: undefined }, call());
    assert.deepEqual(
      [first?.finish_reason, first?.tool_calls, first?.rendered_user_prompt],
      ['tool_use', [{ id: 'c1', name: 'look', arguments: { at: 1 } }], 'Write about x'],
    );
    assert.deepEqual(server.asked[0]?.body.tools, tools);
    const messages = [{ role: 'user', content: 'so far' }];
    await agent.executeWithTools?.({}, { tools: [], messages }, call());
    assert.deepEqual(server.asked[1]?.body.messages.slice(1), messages);
    assert.equal('tools' in (server.asked[1]?.body ?? {}), false);
  });
});

describe('a stream', () => {
  const text = pieces({ role: 'assistant' }, { content: 'Grüße ' }, { content: '🌍' });
  const calling = pieces(
    { tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '' } }] },
    { tool_calls: [{ index: 1, id: 'b', function: { name: 'g', arguments: '{"y"' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{"x": ' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '1}' } }] },
    { tool_calls: [{ index: 1, function: { arguments: ': 2}' } }] },
  );

  for (const bytes of [1, 3, 17, 100_000]) {
    test(`is put together from packets of ${bytes} bytes`, async (t) => {
      const server = await openAiServer(t, stream(text, bytes), stream(calling, bytes));
      const agent = agentAt(server, { model: { stream: true } });
      const events: ValueMap[] = [];
      const said = await ask(agent, { onEvent: (event) => events.push(event) });
      assert.deepEqual(
        [said.content, said.finish_reason, said.usage],
        ['Grüße 🌍', 'stop', { input_tokens: 7, output_tokens: 2, total_tokens: 9, api_calls: 1 }],
      );
      assert.equal(events.length, text.length - 1);
      assert.deepEqual(server.asked[0]?.body['stream_options'], { include_usage: true });
      const called = await ask(agent);
      assert.deepEqual(called.tool_calls, [
        { id: 'a', name: 'f', arguments: { x: 1 } },
        { id: 'b', name: 'g', arguments: { y: 2 } },
      ]);
    });
  }

  test('one that breaks off, brings an error or is no JSON is an error that may pass', async (t) => {
    const scene = { model: { stream: true } };
    const broken = await failure(t, stream([{ choices: [{ index: 0, delta: { content: 'A' } }] }], 100), scene);
    const inside = await failure(t, stream([{ error: { message: 'overloaded', type: 'server_error' } }], 100), scene);
    const garbage = await failure(t, stream(['{"choices": ['], 100), scene);
    assert.deepEqual(
      [broken, inside, garbage].map(({ error }) => [error?.code, error?.retryable, error?.message]),
      [
        ['server_error', true, 'the answer of the endpoint is no chat completion: the stream broke off'],
        ['server_error', true, 'overloaded'],
        ['server_error', true, 'the answer of the endpoint is no chat completion: a piece of the stream is not JSON'],
      ],
    );
  });
});

describe('an endpoint that does not help', () => {
  test('a limit is told with its time, and windows from headers', async (t) => {
    const headers = { 'Retry-After': '7', 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '7s' };
    const {
      error,
      rate_limit: limit,
      finish_reason: finish,
    } = await failure(t, json(429, { error: { message: 'slow down', type: 'requests' } }, headers));
    assert.deepEqual(error, {
      code: 'rate_limit',
      type: 'requests',
      message: 'slow down',
      status_code: 429,
      retryable: true,
    });
    assert.deepEqual(
      [limit?.limited, limit?.retry_after, limit?.windows?.[0]?.resets_in, finish],
      [true, 7, 7, 'error'],
    );
  });

  for (const [status, error, code, retryable] of [
    [429, { code: 'insufficient_quota' }, 'rate_limit', false],
    [401, {}, 'auth_error', false],
    [403, {}, 'auth_error', false],
    [400, { code: 'context_length_exceeded' }, 'context_length', false],
    [400, { code: 'content_filter' }, 'content_filter', false],
    [404, { code: 'model_not_found' }, 'model_unavailable', false],
    [422, {}, 'invalid_request', false],
    [408, {}, 'timeout', true],
    [500, {}, 'server_error', true],
    [503, {}, 'model_unavailable', true],
    [302, {}, 'invalid_request', false],
  ] as const) {
    test(`status ${status} ${JSON.stringify(error)} is ${code}`, async (t) => {
      const result = await failure(t, json(status, { error: { message: 'm', ...error } }));
      assert.deepEqual(
        [result.error?.code, result.error?.retryable, result.error?.status_code],
        [code, retryable, status],
      );
    });
  }

  test('garbage is an error that may pass', async (t) => {
    for (const body of ['<html>', '[]', '{}', '{"choices": []}', '{"choices": [{"message": 3}]}', '']) {
      const { error } = await failure(t, (response) => response.writeHead(200).end(body));
      assert.deepEqual([error?.code, error?.retryable], ['server_error', true], body);
    }
  });

  for (const type of ['application/json', 'text/event-stream']) {
    test(`an endless body of ${type} is cut off`, async (t) => {
      let sent = 0;
      const server = await openAiServer(t, (response) => {
        response.writeHead(200, { 'Content-Type': type });
        const chunk = Buffer.alloc(1024 * 1024, 'x');
        const more = (): void => {
          while (!response.destroyed && response.write(chunk)) sent++;
          sent++;
          if (!response.destroyed) response.once('drain', more);
        };
        more();
      });
      const { error } = await ask(agentAt(server, { model: { stream: true } }));
      assert.match(error?.message ?? '', /more than \d+/);
      assert.ok(sent < 64, `${sent} MiB were sent`);
    });
  }

  test('nobody there is an error that may pass', async (t) => {
    const server = await openAiServer(t, completion('x'));
    const { error } = await ask(agentAt({ ...server, baseUrl: 'http://127.0.0.1:1/v1' }));
    assert.deepEqual([error?.type, error?.retryable], ['ECONNREFUSED', true]);
  });

  test('one that never answers runs into the time of the profile', async (t) => {
    const server = await openAiServer(t, () => {});
    const { error } = await ask(agentAt(server, { model: { timeout: 0.05 } }));
    assert.deepEqual([error?.code, error?.retryable], ['timeout', true]);
  });

  test('a call that is no longer wanted ends, and its connection too', async (t) => {
    const stop = new AbortController();
    const closed = Promise.withResolvers<void>();
    const server = await openAiServer(t, (response) => {
      response.once('close', closed.resolve);
      stop.abort(new Error('enough'));
    });
    await assert.rejects(ask(agentAt(server), { signal: stop.signal }), /enough/);
    await closed.promise;
  });

  test('a worker only reaches what it is allowed to', async (t) => {
    const server = await openAiServer(t, completion('x'));
    const { port } = new URL(server.baseUrl);
    const refused = await ask(agentAt(server, { allow: [] }));
    assert.deepEqual([refused.error?.type, refused.error?.retryable, server.asked.length], ['REFUSED', false, 0]);
    assert.equal((await ask(agentAt(server, { allow: [`127.0.0.1:${port}`] }))).content, 'x');
  });
});

describe('an endpoint that means ill', () => {
  test('cannot bring the key into messages', async (t) => {
    const said = { error: { message: 'no such key: Bearer sk-12345678, team t-87654321', type: 'sk-12345678' } };
    for (const status of [200, 401]) {
      const { error } = await failure(t, json(status, said), {
        environment: { OPENAI_API_KEY: 'sk-12345678' },
        model: { headers: { 'X-Team': 't-87654321' } },
      });
      assert.equal(error?.message, 'no such key: Bearer [secret], team [secret]');
      assert.equal(error?.type, '[secret]');
    }
  });

  test('cannot name its errors so that the state gets no name for them', () => {
    for (const code of ['constructor', '__proto__', 'toString']) {
      assert.equal(agentFailed({ code, type: code, message: '', retryable: false }, '4', {}).type, 'AgentError');
    }
  });

  test('cannot count backwards, nor end for reasons that are names of JavaScript', async (t) => {
    const body = {
      choices: [{ message: { content: 'x' }, finish_reason: 'constructor' }],
      usage: { prompt_tokens: 5, prompt_tokens_details: { cached_tokens: -1e9, cache_write_tokens: 0.5 } },
    };
    const model = { prices: { input: 1, output: 1, cache_read: 1, cache_write: 1 } };
    const result = await failure(t, json(200, body), { model });
    assert.equal(result.finish_reason, 'stop');
    assert.deepEqual(result.usage, { input_tokens: 5, total_tokens: 5, api_calls: 1 });
  });
});

describe('the settings of a model', () => {
  const at = (config: ValueMap, environment = {}) => modelSettings({ name: 'm', ...config }, 'a', environment);

  test('a provider has an address and a variable for its key', () => {
    const { url, key, parameters } = at(
      { provider: 'cerebras', name: 'llama' },
      { CEREBRAS_API_KEY: 'c', OPENAI_API_KEY: 'o' },
    );
    assert.deepEqual(
      [url.href, key, parameters['model']],
      ['https://api.cerebras.ai/v1/chat/completions', 'c', 'llama'],
    );
    // The key of one is never sent to another.
    assert.equal(at({ provider: 'groq' }, { OPENAI_API_KEY: 'o' }).key, undefined);
  });

  test('a name may begin with its provider', () => {
    const { url, parameters } = at({ name: 'mistral/large' });
    assert.deepEqual([url.host, parameters['model']], ['api.mistral.ai', 'large']);
    assert.equal(at({ name: 'org/model', provider: 'openrouter' }).parameters['model'], 'org/model');
  });

  test('the variable that the profile names holds the key', () => {
    assert.equal(at({ api_key_env: 'MINE', base_url: 'https://h/v1/' }, { MINE: ' k ' }).key, 'k');
    assert.throws(() => at({ api_key_env: 'MINE' }), /the variable MINE, which its profile names, is not set/);
    assert.throws(() => at({ api_key_env: 'MINE' }, { MINE: 'a\nb' }), /characters that a header cannot carry/);
  });

  test('what leads nowhere is refused', () => {
    assert.throws(() => at({ name: '' }), /its model has no name/);
    for (const provider of ['nobody', 'constructor', '__proto__']) {
      assert.throws(() => at({ provider }), new RegExp(`nothing is known of the provider "${provider}"`));
    }
    assert.throws(() => at({ base_url: 'file:///etc' }), /not an http address/);
    assert.throws(() => at({ base_url: 'http://u:p@h/v1' }), /without a password/);
  });
});
