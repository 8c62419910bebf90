import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { realWorld } from '../../app/world.ts';
import { machineOf } from '../../flow/machine/test-driver.ts';
import { HookChain } from './hook-chain.ts';
import { runInline } from './inline-driver.ts';
import { MachineFailed } from './machine-failed.ts';
import type { MachineHooks } from './machine-hooks.ts';
import { LocalSignals } from './signals.ts';
import { webhookHooks } from './webhook-hooks.ts';

interface Call {
  readonly body: Record<string, unknown>;
  readonly headers: IncomingHttpHeaders;
  readonly path: string | undefined;
}

/** An endpoint on the loopback, which answers as the test says. */
async function endpoint(t: TestContext, answer: (call: Call, response: ServerResponse) => void) {
  const calls: Call[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Call['body'];
      const call = { body, headers: request.headers, path: request.url };
      calls.push(call);
      answer(call, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => (server.closeAllConnections(), server.close()));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/hook`, calls };
}

const json = (response: ServerResponse, body: unknown): void => void response.end(JSON.stringify(body));

test('each call is one POST with its event, and the answers change context, output and way', async (t) => {
  const { url, calls } = await endpoint(t, ({ body }, response) => {
    if (body['event'] === 'machine_start') json(response, { context: { n: 1 } });
    else if (body['event'] === 'action') json(response, { context: { n: 41 } });
    else if (body['event'] === 'transition' && body['from'] === 'a') json(response, { to_state: 'c' });
    else if (body['event'] === 'error') json(response, { recovery_state: 'd' });
    else if (body['event'] === 'machine_end') json(response, { output: { from: 'endpoint' } });
    else response.writeHead(204).end();
  });
  const machine = machineOf({
    states: {
      a: { action: 'go', transitions: [{ to: 'b' }] },
      b: { type: 'final' },
      c: { machine: 'missing', transitions: [{ to: 'b' }] },
      d: { type: 'final', output: { n: 'context.n' } },
    },
  });
  const world = realWorld();
  const output = await runInline(
    {
      machine,
      hooks: new HookChain([webhookHooks({ url, api_key: 'k' })], machine.specVersion),
      peer: () => Promise.reject(new MachineFailed('NotFound', 'no such machine', 'x')),
      agent: () => Promise.reject(new Error('none')),
    },
    { executionId: 'run', input: {}, stop: new AbortController().signal },
    { world, signals: new LocalSignals() },
  );
  assert.deepEqual(output, { from: 'endpoint' });
  assert.deepEqual(
    calls.map(({ body }) => body['event']),
    'machine_start state_enter action state_exit transition state_enter error state_enter state_exit machine_end'.split(
      ' ',
    ),
  );
  assert.deepEqual([calls[2]?.body['action'], calls[2]?.body['state']], ['go', 'a']);
  assert.deepEqual([calls[4]?.body['from'], calls[4]?.body['to']], ['a', 'b']);
  assert.deepEqual([calls[6]?.body['error_type'], calls[6]?.body['error']], ['NotFound', 'no such machine']);
  assert.deepEqual((calls[9]?.body['context'] as Record<string, unknown> | undefined)?.['n'], 41);
  assert.deepEqual(
    [calls[0]?.headers.authorization, calls[0]?.headers['content-type'], calls[0]?.path],
    ['Bearer k', 'application/json', '/hook'],
  );
});

test('tools and streams are told as well', async (t) => {
  const { url, calls } = await endpoint(t, (_, response) => json(response, { context: { seen: true } }));
  const hooks = new HookChain([webhookHooks({ endpoint: url })], '4.0.0');
  assert.deepEqual(await hooks.toolCalls('s', [{ name: 'x' }], {}), { seen: true });
  assert.deepEqual(await hooks.toolResult('s', { content: 'y' }, {}), { seen: true });
  await hooks.streamEvent('s', { type: 'text' }, { secret: 1 });
  assert.deepEqual(
    calls.map(({ body }) => body),
    [
      { event: 'tool_calls', state: 's', tool_calls: [{ name: 'x' }], context: {} },
      { event: 'tool_result', state: 's', tool_result: { content: 'y' }, context: {} },
      { event: 'agent_stream_event', state: 's', stream_event: { type: 'text' } },
    ],
  );
});

/** What each of them must leave as it was. */
const misbehaving: Readonly<Record<string, readonly [answer: (response: ServerResponse) => void, failure: RegExp]>> = {
  'is slow': [() => {}, /timeout|aborted/i],
  'begins to answer and does not go on': [(response) => void response.write('{"context":'), /timeout|aborted/i],
  'answers with 500': [(response) => void response.writeHead(500).end('{"context":{"n":2}}'), /status 500/],
  'answers with 404': [(response) => void response.writeHead(404).end('{"context":{"n":2}}'), /status 404/],
  'sends elsewhere': [(response) => void response.writeHead(307, { location: '/other' }).end(), /status 307/],
  'answers with garbage': [(response) => void response.end('{"context": {'), /JSON/],
  'answers with a list': [(response) => json(response, [{ context: { n: 2 } }]), /not a map/],
  'answers with too much': [
    (response) => void response.end(`{"context":{"n":"${'x'.repeat(2_000_000)}"}}`),
    /longer than 1048576/,
  ],
  'answers with what is too deep': [
    (response) => void response.end(`{"context":{"n":${'['.repeat(500_000)}${']'.repeat(500_000)}}}`),
    /nested more than 64|longer than/,
  ],
  'hangs up': [(response) => void response.socket?.destroy(), /./],
};

for (const [name, [answer, failure]] of Object.entries(misbehaving)) {
  test(`an endpoint that ${name} changes nothing`, async (t) => {
    const failures: string[] = [];
    const { url, calls } = await endpoint(t, (_, response) => answer(response));
    const hooks = webhookHooks({ url, timeout: 0.2 }, { onFailure: (text) => failures.push(text) });
    const context = { n: 1 };
    const chain = new HookChain([hooks], '1.0.0');
    assert.deepEqual(await chain.act('a', 'x', context), { value: { n: 1 }, same: true });
    assert.equal(failures.length, 1);
    assert.match(failures.join(), failure);
    assert.deepEqual(
      calls.map(({ path }) => path),
      ['/hook'],
    );
  });
}

test('an answer of the wrong kind changes nothing', async (t) => {
  const { url } = await endpoint(t, (_, response) =>
    json(response, { context: 'text', to_state: 7, recovery_state: {} }),
  );
  const chain = new HookChain([webhookHooks({ url })], '4.0.0');
  assert.deepEqual(await chain.call({ do: 'hook', hook: 'on_machine_start', context: { n: 1 } }), { n: 1 });
  assert.equal(await chain.call({ do: 'hook', hook: 'on_transition', from: 'a', to: 'b', context: {} }), 'b');
  assert.equal(
    await chain.call({ do: 'hook', hook: 'on_error', state: 'a', type: 'E', message: 'm', context: {} }),
    null,
  );
});

test('keys that JavaScript knows are only keys', async (t) => {
  const { url } = await endpoint(t, (_, response) => void response.end('{"context":{"__proto__":{"polluted":1}}}'));
  const chain = new HookChain([webhookHooks({ url })], '4.0.0');
  const context = await chain.call({ do: 'hook', hook: 'on_machine_start', context: {} });
  assert.deepEqual(Object.keys(context as object), ['__proto__']);
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
});

test('on a worker the destinations that are allowed decide', async (t) => {
  const { url, calls } = await endpoint(t, (_, response) => json(response, { context: { n: 2 } }));
  const failures: string[] = [];
  const asked = (allow: readonly string[]): Promise<unknown> => {
    const hooks: MachineHooks = webhookHooks({ url }, { allow, onFailure: (text) => failures.push(text) });
    return new HookChain([hooks], '4.0.0').call({ do: 'hook', hook: 'on_machine_start', context: { n: 1 } });
  };
  assert.deepEqual(await asked([]), { n: 1 });
  assert.match(failures.join(), /worker may (?:not reach|use)/);
  assert.equal(calls.length, 0);
  assert.deepEqual(await asked(['127.0.0.1:*']), { n: 2 });
});

test('an address that is none is refused before anything runs', () => {
  for (const url of [undefined, '', 'not a url', 'file:///etc/passwd', 'ftp://x/']) {
    assert.throws(() => webhookHooks({ url }), /http or https address/);
  }
  assert.throws(() => webhookHooks({ url: 'http://x/', timeout: -1 }), /expected seconds/);
});
