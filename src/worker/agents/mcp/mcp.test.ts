import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { mcpServer } from '../../../../test/support/agents/mcp-server.ts';
import {
  completion,
  type OpenAiServer,
  openAiServer,
  toolCall,
} from '../../../../test/support/agents/openai-server.ts';
import { runMachine } from '../../../app/machines.ts';
import { realWorld } from '../../../app/world.ts';
import { tempFolder } from '../../../store/conformance/kit/temp-folder.ts';
import { groupLives } from '../../handlers/process-group.ts';
import { HooksRegistry } from '../../machine/hooks-registry.ts';
import { runInline } from '../../machine/inline-driver.ts';
import { loadMachine } from '../../machine/load-machine.ts';
import { LocalSignals } from '../../machine/signals.ts';
import { AgentLoader } from '../load-agent.ts';
import { AgentRegistry } from '../registry.ts';

const CHILD = fileURLToPath(new URL('../../../../test/support/agents/mcp-server-child.ts', import.meta.url));
const folder = tempFolder('mcp');
let files = 0;
const newFile = (): string => join(folder, `${files++}`);
const program = (...args: readonly string[]): object => ({ command: process.execPath, args: [CHILD, ...args] });

/** A machine whose agent has these servers. */
const machineWith = (model: OpenAiServer, mcp: object, state: object = {}, data: object = {}): object => ({
  spec: 'flatmachine',
  spec_version: '2.2.2',
  data: {
    agents: {
      solver: {
        spec: 'flatagent',
        spec_version: '2.2.2',
        data: { model: { name: 'm', base_url: model.baseUrl }, user: 'Solve {{ input.what }}', mcp, ...data },
      },
    },
    states: {
      solve: {
        agent: 'solver',
        input: { what: 'it' },
        tool_loop: true,
        output_to_context: { said: '{{ output.content }}' },
        transitions: [{ to: 'end' }],
        ...state,
      },
      end: {
        type: 'final',
        output: {
          said: '{{ context.said }}',
          failed: '{{ context.last_error_type }}',
          why: '{{ context.last_error }}',
        },
      },
    },
  },
});

const source = (value: object): { value: unknown; folder: string; name: string } => ({ value, folder, name: 'test' });
const calling = (name: string, args: object): ReturnType<typeof completion> =>
  completion(null, { calls: [toolCall('c1', name, args)] });
/** What the model was told by the tool that it called first. */
const toldBy = ({ asked }: OpenAiServer): string =>
  asked[1]?.body.messages.findLast(({ role }) => role === 'tool')?.content ?? '';
const offered = ({ asked }: OpenAiServer, turn = 0): readonly string[] =>
  ((asked[turn]?.body.tools as readonly { readonly function: { readonly name: string } }[] | undefined) ?? []).map(
    (one) => one.function.name,
  );

async function httpServer(t: TestContext): Promise<{ readonly url: string; readonly asked: IncomingMessage[] }> {
  const handler = createMcpHandler(() => mcpServer());
  const asked: IncomingMessage[] = [];
  const answered = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    asked.push(request);
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const { method = 'GET', url = '/', headers } = request;
    const body = method === 'POST' ? { body: Buffer.concat(chunks).toString() } : {};
    const own = new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string]));
    const answer = await handler.fetch(new Request(`http://localhost${url}`, { method, headers: own, ...body }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  };
  const server = createServer((request, response) => void answered(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, asked };
}

describe('the MCP servers of an agent', () => {
  test('a program is connected, its tools are offered and called, and nothing of it is left when the run has ended', async (t) => {
    const pids = newFile();
    const notes = newFile();
    const model = await openAiServer(t, calling('note', { what: 'the answer' }), completion('It is done.'));
    const math = { ...program(notes, pids), env: { SECRET_WORD: 'xyzzy' } };
    const output = await runMachine(
      source(machineWith(model, { servers: { math }, tool_filter: { deny: ['math:d*'] } })),
    );
    assert.deepEqual(output, { said: 'It is done.', failed: null, why: null });
    assert.deepEqual(offered(model), ['add', 'note', 'big', 'broken', 'picture']);
    assert.equal(toldBy(model), 'noted, with xyzzy');
    assert.equal(readFileSync(notes, 'utf8'), 'the answer\n');
    const [pid] = readFileSync(pids, 'utf8').split('\n');
    assert.equal(await groupLives(Number(pid)), false);
  });

  test('a server behind an address is asked with the headers and the token of the agent', async (t) => {
    const { url, asked } = await httpServer(t);
    const model = await openAiServer(t, calling('add', { a: 2, b: 3 }), completion('Five.'));
    const math = { server_url: url, headers: { 'X-Team': 'a' } };
    const output = await runMachine(
      source(machineWith(model, { servers: { math }, tool_filter: { allow: ['math:add'] } })),
    );
    assert.deepEqual(output, { said: 'Five.', failed: null, why: null });
    assert.deepEqual(offered(model), ['add']);
    assert.equal(toldBy(model), '5');
    assert.ok(asked.length > 0 && asked.every(({ headers }) => headers['x-team'] === 'a'));
  });

  test('is one process for all states of a run', async (t) => {
    const pids = newFile();
    const model = await openAiServer(t, calling('add', { a: 1, b: 1 }), completion('Two.'));
    const value = machineWith(model, { servers: { math: program(newFile(), pids) } }, { foreach: '{{ [1, 2, 3] }}' });
    await runMachine(source(value));
    assert.equal(readFileSync(pids, 'utf8').trim().split('\n').length, 1);
  });

  test('prompts see its tools', async (t) => {
    const model = await openAiServer(t, completion('Yes.'));
    const mcp = {
      servers: { math: program() },
      tool_filter: { allow: ['math:add', 'broken'] },
      tool_prompt: '{% for tool in tools %}{{ tool.name }}: {{ tool.description }}; {% endfor %}',
    };
    const prompts = { system: 'You have {{ tools_prompt }}', user: '{{ tools | length }} of them' };
    await runMachine(source(machineWith(model, mcp, { tool_loop: false }, prompts)));
    assert.deepEqual(
      model.asked[0]?.body.messages.map(({ content }) => content),
      ['You have add: Adds two numbers; broken: Fails; ', '2 of them'],
    );
  });

  test('tools of one name on two servers have the name of their server before them', async (t) => {
    const model = await openAiServer(t, calling('b__add', { a: 2, b: 2 }), completion('Four.'));
    const mcp = { servers: { a: program(), b: program() }, tool_filter: { allow: ['*:add'] } };
    const output = await runMachine(source(machineWith(model, mcp, { tool_loop: { denied_tools: ['a:add'] } })));
    assert.deepEqual(offered(model), ['b__add']);
    assert.equal(toldBy(model), '4');
    assert.deepEqual(output, { said: 'Four.', failed: null, why: null });
  });

  test('what a tool gives is text, cut where it is too long; what it throws is told to the model', async (t) => {
    const told = async (name: string): Promise<string> => {
      const model = await openAiServer(t, calling(name, {}), completion('Done.'));
      await runMachine(source(machineWith(model, { servers: { math: program() } })));
      return toldBy(model);
    };
    const big = await told('big');
    assert.ok(big.endsWith('[cut off]') && big.length < 300_000);
    assert.match(await told('broken'), /it broke/);
    assert.equal(await told('picture'), 'a dot\n[image image/png, 3 bytes]');
  });

  test('one that dies is an error for the call, and is started again for the next state', async (t) => {
    const pids = newFile();
    const model = await openAiServer(t, calling('die', {}), completion('It died.'));
    const value = machineWith(model, { servers: { math: program(newFile(), pids) } }) as {
      data: { states: Record<string, { transitions: object[] }> };
    };
    const { solve } = value.data.states;
    Object.assign(value.data.states, { again: { ...solve }, solve: { ...solve, transitions: [{ to: 'again' }] } });
    assert.deepEqual(await runMachine(source(value)), { said: 'It died.', failed: null, why: null });
    assert.match(toldBy(model), /Error executing 'die'/);
    assert.equal(readFileSync(pids, 'utf8').trim().split('\n').length, 2);
  });

  test('one that cannot be used is an error of the state, with what it said', async (t) => {
    const model = await openAiServer(t, completion('Never.'));
    const failing = async (server: object): Promise<string> => {
      const value = machineWith(model, { servers: { math: server } }, { on_error: { AgentError: 'end' } });
      const { failed, why } = (await runMachine(source(value))) as { failed: string; why: string };
      assert.equal(failed, 'AgentError');
      return why;
    };
    assert.match(
      await failing({ command: 'no-such-program-here' }),
      /McpError: the MCP server "math" cannot be used: .*ENOENT/,
    );
    assert.match(await failing({ command: 'sh', args: ['-c', 'echo no key >&2; exit 1'] }), /no key/);
    assert.match(
      await failing({ server_url: 'http://127.0.0.1:9/mcp', token_env: 'NO_SUCH_TOKEN' }),
      /NO_SUCH_TOKEN is not set/,
    );
    assert.equal(model.asked.length, 0);
  });

  test('a worker that starts no programs starts none, and one that may not reach an address does not', async (t) => {
    const { url, asked } = await httpServer(t);
    const model = await openAiServer(t, completion('Yes.'));
    const allowed = `127.0.0.1:${new URL(model.baseUrl).port}`;
    const run = async (server: object): Promise<unknown> => {
      const { agent } = new AgentLoader({
        registry: new AgentRegistry(),
        environment: () => ({}),
        world: realWorld(),
        folder,
        programs: false,
        allowHttp: [allowed],
      });
      const value = machineWith(model, { servers: { math: server } }, { on_error: 'end' });
      const loaded = await loadMachine(source(value), { hooks: new HooksRegistry(), agent });
      const { signal } = new AbortController();
      const given = { executionId: 'run', input: {}, stop: signal };
      return runInline(loaded, given, { world: realWorld(), signals: new LocalSignals() });
    };
    const why = async (server: object): Promise<string> => ((await run(server)) as { why: string }).why;
    assert.match(await why(program()), /this worker starts none/);
    assert.match(await why({ server_url: url }), /it was not sent: port \d+ is not one that this worker may use/);
    assert.equal(asked.length, 0);
  });
});
