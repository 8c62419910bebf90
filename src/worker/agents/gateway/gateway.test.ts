import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import {
  type GatewayOptions,
  type GatewayScript,
  type GatewayServer,
  gatewayServer,
  saying,
  text,
} from '../../../../test/support/agents/gateway-server.ts';
import { machines } from '../../../app/library/machines.ts';
import { runMachine } from '../../../app/machines.ts';
import { open } from '../../../app/open.ts';
import { realWorld } from '../../../app/world.ts';
import { HooksRegistry } from '../../machine/hooks-registry.ts';
import { runInline } from '../../machine/inline-driver.ts';
import { loadMachine } from '../../machine/load-machine.ts';
import { LocalSignals } from '../../machine/signals.ts';
import { AgentLoader } from '../load-agent.ts';
import { AgentRegistry } from '../registry.ts';

const machineWith = (config: object, state: object = {}, agent: object = {}): object => ({
  spec: 'flatmachine',
  spec_version: '4.2.1',
  data: {
    agents: { helper: { type: 'gateway', config, ...agent } },
    states: {
      ask: {
        agent: 'helper',
        input: { prompt: 'Sum up {{ input.what }}' },
        output_to_context: { said: '{{ output.content }}' },
        on_error: 'end',
        transitions: [{ to: 'end' }],
        ...state,
      },
      end: {
        type: 'final',
        output: {
          said: '{{ context.said }}',
          failed: '{{ context.last_error_type }}',
          why: '{{ context.last_error }}',
          calls: '{{ context.machine.total_api_calls }}',
        },
      },
    },
  },
});

interface Ended {
  readonly said: string | null;
  readonly failed: string | null;
  readonly why: string | null;
  readonly calls: number;
}

const run = (
  config: object,
  more: { readonly state?: object; readonly id?: string; readonly onEvent?: (event: object) => void } = {},
) =>
  runMachine({ value: machineWith(config, more.state), folder: '/', name: 'test' }, {
    input: { what: 'the book' },
    ...(more.id === undefined ? {} : { executionId: more.id }),
    ...(more.onEvent === undefined
      ? {}
      : { hooks: [{ onAgentStreamEvent: (_state: string, event: object) => more.onEvent?.(event) }] }),
  } as object) as Promise<unknown> as Promise<Ended>;

const iteration = (n: number, tokens: number): object => ({
  type: 'iteration_end',
  data: { iteration: n, tool_calls_count: 1, tokens_used: tokens },
});
const call = { type: 'tool_call', data: { id: 't1', name: 'search', input: { q: 'x' } } };

async function gateway(t: TestContext, script: GatewayScript, options?: GatewayOptions): Promise<GatewayServer> {
  return gatewayServer(t, [script], options);
}

describe('an agent behind a gateway', () => {
  test('is asked in a session of its own, and its texts are the answer', async (t) => {
    const server = await gateway(
      t,
      saying(
        { type: 'status', data: { message: 'planning' } },
        text('A '),
        call,
        iteration(1, 70),
        text('summary.'),
        iteration(2, 30),
      ),
    );
    const config = {
      url: server.url,
      user_id: 'ada',
      workspace_dir: '/w/1',
      max_iterations: 5,
      metadata: { team: 'a' },
    };
    const { said, failed, calls } = await run(config, { id: 'r1' });
    assert.deepEqual({ said, failed, calls }, { said: 'A summary.', failed: null, calls: 2 });
    const [[session, created] = []] = server.sessions;
    assert.match(String(session), /^leasehold-[0-9a-f]{32}$/);
    assert.deepEqual(created, { user_id: 'ada', session_id: session, workspace_dir: '/w/1' });
    assert.deepEqual(server.asked, [
      {
        session,
        data: {
          user_input: 'Sum up the book',
          force_complex: false,
          max_iterations: 5,
          metadata: { team: 'a', idempotency_key: 'r1/s:000001' },
        },
      },
    ]);
    await gone(server);
  });

  test('tells hooks what it does while it works', async (t) => {
    const heard: unknown[] = [];
    const { url } = await gateway(t, saying(text('Yes.'), call));
    await run({ url }, { onEvent: (event) => heard.push((event as { readonly type: string }).type) });
    assert.deepEqual(heard, ['text', 'tool_call', 'query_complete']);
  });

  test('goes on in the session of the step when the step is tried again elsewhere', async (t) => {
    const server = await gatewayServer(t, [(socket) => socket.terminate(), saying(text('Done.'))]);
    const first = await run({ url: server.url }, { id: 'r2' });
    assert.equal(first.why, 'Closed: the gateway: it closed the connection before the request was done');
    const second = await run({ url: server.url }, { id: 'r2' });
    assert.equal(second.said, 'Done.');
    assert.equal(server.sessions.size, 1);
    assert.equal(server.asked[0]?.session, server.asked[1]?.session);
  });

  test('is asked again where its state retries and it went away', async (t) => {
    const server = await gatewayServer(t, [(socket) => socket.terminate(), saying(text('Done.'))]);
    const retried = await run({ url: server.url }, { state: { execution: { type: 'retry', backoffs: [0.01] } } });
    assert.equal(retried.said, 'Done.');
  });

  test('sends its token to its gateway, and says it nowhere', async (t) => {
    const asked = async (config: object): Promise<Ended> => {
      const { agent } = new AgentLoader({
        registry: new AgentRegistry(),
        environment: () => ({ GATEWAY_TOKEN: 'a-long-secret' }),
        world: realWorld(),
        folder: '/',
      });
      const source = { value: machineWith(config), folder: '/', name: 'test' };
      const loaded = await loadMachine(source, { hooks: new HooksRegistry(), agent });
      const given = { executionId: 'run', input: { what: 'it' }, stop: new AbortController().signal };
      return (await runInline(loaded, given, { world: realWorld(), signals: new LocalSignals() })) as unknown as Ended;
    };
    const script = saying(text('Hello.'));
    const right = await gateway(t, script, { token: 'a-long-secret' });
    const config = { url: right.url, token_env: 'GATEWAY_TOKEN' };
    assert.equal((await asked(config)).said, 'Hello.');
    const other = await gateway(t, script, { token: 'another' });
    const refused = await asked({ ...config, url: other.url });
    assert.equal(refused.failed, 'AgentError');
    assert.equal(refused.why, 'HTTP_401: the gateway: it answered 401: not with Bearer [secret]');
  });

  for (const [what, script, why] of [
    ['an error that ends it', { type: 'error', data: { message: 'no model', code: 'E_MODEL' } }, /no model/],
    ['a question to a person', { type: 'input_required', data: { prompt: 'Which one?' } }, /Which one\?/],
    ['a login that it needs', { type: 'auth_required', data: {} }, /asks a person: auth_required/],
  ] as const) {
    test(`an answer that is an error of the state: ${what}`, async (t) => {
      const server = await gateway(t, (socket) => socket.send(JSON.stringify(script)));
      const ended = await run({ url: server.url });
      assert.equal(ended.failed, 'AgentError');
      assert.match(String(ended.why), why);
      await gone(server);
    });
  }

  test('an error from which it recovers is only told', async (t) => {
    const { url } = await gateway(
      t,
      saying({ type: 'error', data: { message: 'once more', recoverable: true } }, text('Done.')),
    );
    assert.equal((await run({ url })).said, 'Done.');
  });

  test('what it used counts in the budget of a durable run, also before it failed', async (t) => {
    const server = await gatewayServer(t, [
      (socket) => {
        socket.send(JSON.stringify(iteration(1, 40)));
        socket.send(JSON.stringify({ type: 'error', data: { message: 'no' } }));
      },
      saying(iteration(1, 60), iteration(2, 11), text('Done.')),
    ]);
    const app = await open('memory:');
    t.after(() => app.close());
    await app.worker({ tasks: [machines({ allowHttp: ['127.0.0.1:*'] })], name: 'w' }).start();
    const started = await app.runs.start({
      machine: machineWith({ url: server.url }, { execution: { type: 'retry', backoffs: [0.01] } }),
      input: { what: 'the book' },
      budgets: [{ unit: 'tokens', hard: 1_000 }],
    });
    assert.equal(((await app.handle(started.id).result()) as Ended).said, 'Done.');
    const { budgets = [] } = (await app.runs.get(started.id)) ?? {};
    assert.deepEqual(
      budgets.map(({ unit, spent }) => [unit, spent]),
      [['tokens', 111]],
    );
  });

  test('more iterations than it may have are an error', async (t) => {
    const { url } = await gateway(t, saying(iteration(1, 1), iteration(2, 1), iteration(3, 1)));
    assert.match(String((await run({ url, max_iterations: 2 })).why), /went on after max_iterations 2/);
  });

  for (const [what, script, why] of [
    ['a message that is no JSON', (socket) => socket.send('{'), /is not JSON/],
    ['a message that is a list', (socket) => socket.send('[]'), /is not JSON/],
    ['an answer without end', (socket) => flood(socket, 2_000_000), /more than 4194304 characters/],
    ['a message without end', (socket) => socket.send('x'.repeat(5 * 1024 * 1024)), /payload size exceeded/i],
    [
      'tokens that are none',
      (socket, asked) => saying({ type: 'iteration_end', data: { tokens_used: -1e300 } })(socket, asked),
      /null/,
    ],
  ] as const satisfies readonly (readonly [string, GatewayScript, RegExp])[]) {
    test(`a gateway that is broken or hostile is bounded: ${what}`, async (t) => {
      const server = await gateway(t, script);
      assert.match(String((await run({ url: server.url })).why), why);
      await gone(server);
    });
  }

  test('one that greets otherwise, or whose session has no name, is refused', async (t) => {
    const script = saying(text('Hello.'));
    const rude = await gateway(t, script, { greeting: JSON.stringify({ type: 'text', data: { text: 'hi' } }) });
    assert.match(String((await run({ url: rude.url })).why), /does not say "connected" first/);
    const nameless = await gateway(t, script, { create: (response) => response.end('{"session_id": "../../admin"}') });
    assert.match(String((await run({ url: nameless.url })).why), /has no session_id/);
  });

  test('a state that has no time left ends the connection', async (t) => {
    const server = await gateway(t, () => {});
    const ended = await run({ url: server.url }, { state: { timeout: 0.5 } });
    assert.equal(ended.failed, 'TimeoutError');
    await gone(server);
  });

  for (const [config, problem] of [
    [{}, /its url is not an http address/],
    [{ url: 'http://me:word@host' }, /its url is not an http address without a password/],
    [{ url: 'ftp://host' }, /its url is not an http address/],
    [{ url: 'http://host', maxIterations: 3 }, /no setting "maxIterations"/],
    [{ url: 'http://host', max_iterations: 0 }, /its max_iterations is not a number from 1/],
    [{ url: 'http://host', token_env: 'NO_SUCH_TOKEN_HERE' }, /NO_SUCH_TOKEN_HERE, which it names, is not set/],
  ] as const) {
    test(`settings that lead nowhere are told: ${JSON.stringify(config)}`, async () => {
      const { failed, why } = await run(config);
      assert.equal(failed, 'ValidationError');
      assert.match(String(why), problem);
    });
  }
});

/** Nobody holds a connection to it any more. */
async function gone(server: GatewayServer): Promise<void> {
  while (server.open() > 0) await new Promise((go) => setImmediate(go));
}

function flood(socket: Parameters<GatewayScript>[0], characters: number): void {
  for (let i = 0; i < 4; i++) socket.send(JSON.stringify(text('x'.repeat(characters))));
}
