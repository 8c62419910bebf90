import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { completion, json, openAiServer, toolCall } from '../../../test/support/agents/openai-server.ts';
import { realWorld } from '../../app/world.ts';
import { readProfiles } from '../../flow/agent/profiles.ts';
import { readAgent } from '../../flow/agent/read-agent.ts';
import type { ValueMap } from '../../flow/expression/values.ts';
import type { Command } from '../../flow/machine/commands.ts';
import { Problems } from '../../flow/machine/problems.ts';
import { readMachine } from '../../flow/machine/read-machine.ts';
import type { Snapshot } from '../../flow/machine/snapshot.ts';
import { parseMachineText } from '../../flow/machine/text/machine-text.ts';
import { HooksRegistry } from '../machine/hooks-registry.ts';
import { runInline } from '../machine/inline-driver.ts';
import { loadMachine, readMachineFile } from '../machine/load-machine.ts';
import { MachineFailed } from '../machine/machine-failed.ts';
import type { MachineHooks } from '../machine/machine-hooks.ts';
import { LocalSignals } from '../machine/signals.ts';
import { PRESETS } from './command-presets.ts';
import { AgentLoader } from './load-agent.ts';
import { AgentRegistry } from './registry.ts';

async function filesIn(t: TestContext, files: Readonly<Record<string, object>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agents-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  for (const [name, value] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), JSON.stringify(value));
  }
  return folder;
}

interface Scene {
  readonly registry?: AgentRegistry;
  readonly environment?: Readonly<Record<string, string>>;
  readonly hooks?: readonly MachineHooks[];
  readonly strict?: boolean;
}

interface Ran {
  readonly output: unknown;
  readonly warnings: readonly string[];
  readonly last: Snapshot;
}

async function run(
  folder: string,
  { registry = new AgentRegistry(), environment = {}, hooks = [], strict = false }: Scene = {},
): Promise<Ran> {
  const world = { ...realWorld(), random: () => 0.5 };
  const warnings: string[] = [];
  const onWarning = (text: string): void => void warnings.push(text);
  const loader = new AgentLoader({ registry, environment: () => environment, world, folder, strict, onWarning });
  const source = await readMachineFile(join(folder, 'machine.json'));
  const loaded = await loadMachine(source, { hooks: new HooksRegistry(), own: hooks, agent: loader.agent, strict });
  const steps: Snapshot[] = [];
  const output = await runInline(
    loaded,
    { executionId: 'run', input: { topic: 'leases' }, stop: new AbortController().signal },
    {
      world,
      signals: new LocalSignals(),
      onStep: (snapshot: Snapshot, _command: Command | undefined) => void steps.push(snapshot),
    },
  );
  await loader.idle();
  return { output, warnings, last: steps.at(-1) as Snapshot };
}

const machine = (agents: ValueMap, state: ValueMap = {}, more: ValueMap = {}, version = '2.2.2'): object => ({
  spec: 'flatmachine',
  spec_version: version,
  data: {
    agents,
    states: {
      start: {
        agent: 'poet',
        input: { topic: '{{ input.topic }}' },
        output_to_context: { got: 'output' },
        transitions: [{ to: 'end' }],
        ...state,
      },
      end: { type: 'final', output: { got: 'context.got' } },
      late: { type: 'final', output: { type: 'context.last_error_type', why: 'context.last_error' } },
    },
    ...more,
  },
});

const flatagent = (data: ValueMap, metadata: ValueMap = {}): ValueMap => ({
  spec: 'flatagent',
  spec_version: '2.2.2',
  data: { user: 'Write about {{ input.topic }}', ...data },
  metadata,
});

describe('an agent of a machine', () => {
  test('is a file beside it, with profiles beside that file, beside the machine, or in the machine', async (t) => {
    const server = await openAiServer(t, completion('A poem.'));
    const profiles = (name: string): object => ({
      spec: 'flatprofiles',
      data: { model_profiles: { cheap: { name, base_url: server.baseUrl, api_key_env: 'MY_KEY' } }, default: 'cheap' },
    });
    const environment = { MY_KEY: 'k1' };
    const files = { 'machine.json': machine({ poet: './agents/poet.json' }), 'agents/poet.json': flatagent({}) };
    const beside = await run(await filesIn(t, { ...files, 'profiles.yml': profiles('of-machine') }), { environment });
    await run(
      await filesIn(t, { ...files, 'profiles.yml': profiles('x'), 'agents/profiles.yml': profiles('of-agent') }),
      { environment },
    );
    const said = {
      ...files,
      'machine.json': machine({ poet: './agents/poet.json' }, {}, { profiles: 'mine.json' }),
      'agents/profiles.yml': profiles('x'),
      'mine.json': profiles('named'),
    };
    await run(await filesIn(t, said), { environment });
    assert.deepEqual(beside.output, { got: { content: 'A poem.' } });
    assert.deepEqual(
      server.asked.map(({ body, headers }) => [body.model, headers.authorization]),
      [
        ['of-machine', 'Bearer k1'],
        ['of-agent', 'Bearer k1'],
        ['named', 'Bearer k1'],
      ],
    );
  });

  test('may stand in the machine, alone or with its type', async (t) => {
    const server = await openAiServer(t, completion('{"line": "x"}'));
    const model = { name: 'm', base_url: server.baseUrl };
    const agent = flatagent({ model, output: { line: 'str' } });
    for (const given of [
      agent,
      { type: 'flatagent', config: agent },
      { type: 'llm', config: { ...model, user: 'Write about {{ input.topic }}', output: { line: 'str' } } },
    ]) {
      const { output } = await run(await filesIn(t, { 'machine.json': machine({ poet: given as ValueMap }) }));
      assert.deepEqual(output, { got: { line: 'x' } });
    }
    assert.ok(server.asked.every(({ body }) => body.messages[1]?.content === 'Write about leases'));
  });

  test('is a function by its type, and a function of its name goes before its file', async (t) => {
    const registry = new AgentRegistry().agent('verse', (input) => ({ verse: input['topic'] }));
    const typed = await run(
      await filesIn(t, { 'machine.json': machine({ poet: { type: 'function', ref: 'verse' } }) }),
      { registry },
    );
    assert.deepEqual(typed.output, { got: { verse: 'leases' } });
    const own = new AgentRegistry().agent('poet', (_input, { key }) => `by ${key}`);
    const named = await run(await filesIn(t, { 'machine.json': machine({ poet: 'gone.yml' }) }), { registry: own });
    assert.deepEqual(named.output, { got: { content: 'by run/s:000001' } });
  });

  test('is a program by its type', async (t) => {
    const command = [process.execPath, '-e', 'process.stdin.on("data", (d) => console.log("heard: " + d))'];
    const folder = await filesIn(t, {
      'machine.json': machine({ poet: { type: 'command', config: { command } } }, { input: { task: 'sing' } }),
    });
    assert.deepEqual((await run(folder)).output, { got: { content: 'heard: sing' } });
  });

  test('has the settings of the file that its ref names, and over them those of its config', async (t) => {
    const command = [process.execPath, '-e', 'console.log(process.env.A + process.env.B)'];
    const agents = { poet: { type: 'command', ref: './base.json', config: { env: { A: 'a', B: 'b' } } } };
    const settings = { command, env: { A: 'x' } };
    const files = { 'machine.json': machine(agents, { input: { task: 'sing' } }), 'base.json': settings };
    assert.deepEqual((await run(await filesIn(t, files))).output, { got: { content: 'ab' } });
    // As in the original, what the file would have said is not needed if the config says enough.
    const alone = { poet: { type: 'command', ref: './gone.json', config: { command, env: { A: 'c', B: 'd' } } } };
    const without = await filesIn(t, { 'machine.json': machine(alone, { input: { task: 'sing' } }) });
    assert.deepEqual((await run(without)).output, { got: { content: 'cd' } });
  });

  test('that is not there, or is none, says what to do', async (t) => {
    const failing = async (agents: ValueMap, files = {}): Promise<string> => {
      const folder = await filesIn(t, { 'machine.json': machine(agents), ...files });
      return run(folder).then(String, (error: unknown) => (error as Error).message);
    };
    assert.match(await failing({}), /There is no agent poet/);
    assert.match(await failing({ poet: 'gone.yml' }), /There is no file .*gone\.yml/);
    assert.match(
      await failing({ poet: { type: 'oracle' } }),
      /there is no type "oracle" of agents: expected flatagent, function/,
    );
    assert.match(await failing({ poet: { type: 'function' } }), /There is no function poet/);
    assert.match(
      await failing({ poet: 'a.json' }, { 'a.json': { spec: 'flatagent', data: { user: '{{' } } }),
      /a\.json is not valid: line 1: data\.user/,
    );
  });

  test('warnings are told once, and are errors when the machine is strict', async (t) => {
    const server = await openAiServer(t, completion('x'));
    const agent = flatagent({ model: { name: 'm', base_url: server.baseUrl }, mcp: { servers: {} } });
    const folder = await filesIn(t, { 'machine.json': machine({ poet: agent }) });
    const { warnings } = await run(folder);
    assert.equal(warnings.filter((text) => /mcp.servers: there is no server/.test(text)).length, 1);
    await assert.rejects(run(folder, { strict: true }), /mcp.servers: there is no server/);
  });
});

describe('the page about agents', () => {
  const page = readFileSync(new URL('../../../docs/reference/machine-agents.md', import.meta.url), 'utf8');
  const blocks = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = '']) => parseMachineText(text, 'page').value);

  test('has a machine, a catalogue of profiles and an agent that are read without a problem', () => {
    const [machineOf, served, profiles, agents] = blocks as [ValueMap, ValueMap, ValueMap, ValueMap];
    assert.deepEqual(readMachine(machineOf, { strict: true }).problems, []);
    assert.deepEqual(readAgent(served, { strict: true }).problems, []);
    const problems = new Problems();
    const { named } = readProfiles(profiles, problems);
    assert.deepEqual([problems.all, [...named.keys()]], [[], ['cheap', 'local', 'coder']]);
    assert.deepEqual(Object.keys(agents), ['agents']);
  });

  test('names every type of a program', () => {
    for (const type of Object.keys(PRESETS)) assert.ok(page.includes(`\`${type}\``), type);
  });
});

describe('the calls of an agent', () => {
  test('are counted in the snapshot, with those that failed', async (t) => {
    const server = await openAiServer(t, json(500, {}), completion('x'));
    const model = { name: 'm', base_url: server.baseUrl, prices: { input: 1_000_000, output: 0 } };
    const folder = await filesIn(t, {
      'machine.json': machine({ poet: flatagent({ model }) }, { execution: { type: 'retry', backoffs: [0] } }),
    });
    const { last } = await run(folder);
    assert.deepEqual([last.totalApiCalls, last.totalCost, last.totalTokens], [2, 12, 15]);
  });

  test('have keys of their own, which the first of them shares with the step', async (t) => {
    const keys: string[] = [];
    const registry = new AgentRegistry().agent('poet', (_input, { key }) => (keys.push(key), 'x'));
    await run(await filesIn(t, { 'machine.json': machine({}, { execution: { type: 'parallel', n_samples: 3 } }) }), {
      registry,
    });
    assert.deepEqual(keys, ['run/s:000001', 'run/s:000001/1', 'run/s:000001/2']);
  });

  test('with a profile that leads nowhere say what to do, and are not tried again', async (t) => {
    const agents = { poet: flatagent({ model: { name: 'm', provider: 'nobody' } }) };
    const folder = await filesIn(t, {
      'machine.json': machine(agents, { execution: { type: 'retry', backoffs: [60] } }),
    });
    await assert.rejects(run(folder), /nothing is known of the provider "nobody"\. Give its profile a base_url\./);
  });

  test('that fail for good are errors of the state, by narrow and wide names, and cost what they cost', async (t) => {
    const limited = await openAiServer(t, json(429, { error: { message: 'slow' } }));
    const agents = { poet: flatagent({ model: { name: 'm', base_url: limited.baseUrl } }) };
    for (const name of ['RateLimitError', 'RetryableError', 'AgentError', 'RuntimeError', 'default']) {
      const folder = await filesIn(t, { 'machine.json': machine(agents, { on_error: { [name]: 'late' } }) });
      const { output, last } = await run(folder);
      assert.deepEqual(output, { type: 'RateLimitError', why: 'HttpError: slow' });
      assert.equal(last.totalApiCalls, 1);
    }
    const folder = await filesIn(t, { 'machine.json': machine(agents, { on_error: { OtherError: 'late' } }) });
    await assert.rejects(
      run(folder),
      (error: unknown) => error instanceof MachineFailed && error.type === 'RateLimitError',
    );
  });

  test('give their session back, and get it when the same agent or session is called again', async (t) => {
    const seen: unknown[] = [];
    const registry = new AgentRegistry().agent('poet', (_input, { sessionId, sessionName }) => {
      seen.push([sessionId, sessionName]);
      return { content: 'x', session_id: `s${seen.length}` };
    });
    const states = {
      start: { agent: 'poet', transitions: [{ to: 'b' }] },
      b: { agent: 'poet', session_id: 'talk', transitions: [{ to: 'c' }] },
      c: { agent: 'poet', transitions: [{ to: 'd' }] },
      d: { agent: 'poet', session_id: 'talk', transitions: [{ to: 'end' }] },
      end: { type: 'final' },
    };
    const { last } = await run(await filesIn(t, { 'machine.json': machine({}, {}, { states }, '4.2.1') }), {
      registry,
    });
    assert.deepEqual(seen, [
      [undefined, undefined],
      [undefined, 'talk'],
      ['s1', undefined],
      ['s2', 'talk'],
    ]);
    assert.deepEqual(last.sessions, { 'poet#': 's3', 'poet#talk': 's4' });
  });
});

describe('a tool loop of a machine', () => {
  const state = {
    tool_loop: { max_turns: '{{ input.turns or 5 }}' },
    output_to_context: { said: 'output.content', turns: 'output._tool_loop_turns' },
  };

  test('runs over an endpoint with tools of the hooks, and its chain is in the context', async (t) => {
    const server = await openAiServer(
      t,
      completion(null, { calls: [toolCall('c1', 'look', { at: 2 })] }),
      completion('Seen it.'),
    );
    const agents = { poet: flatagent({ model: { name: 'm', base_url: server.baseUrl } }) };
    const data = machine(agents, state) as { data: { states: { end: object } } };
    data.data.states.end = {
      type: 'final',
      output: {
        said: 'context.said',
        turns: 'context.turns',
        hooked: 'context.hooked',
        left: 'context._steering_messages',
      },
    };
    const hooks: readonly MachineHooks[] = [
      {
        getToolProvider: () => ({
          getToolDefinitions: () => [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }],
          executeTool: (name: string, _id: string, args: object) => `${name} ${JSON.stringify(args)}`,
        }),
        onToolResult: (_state: string, result: unknown, context: object) => ({
          ...context,
          hooked: (result as { content: string }).content,
        }),
      },
    ];
    const { output, last } = await run(await filesIn(t, { 'machine.json': data }), { hooks });
    assert.deepEqual(output, { said: 'Seen it.', turns: 2, hooked: 'look {"at":2}', left: null });
    assert.equal((last.context['_tool_loop_chain'] as readonly unknown[]).length, 4);
    assert.deepEqual(server.asked[1]?.body.messages.at(-1), {
      role: 'tool',
      tool_call_id: 'c1',
      content: 'look {"at":2}',
    });
    assert.equal(last.totalTokens, 30);
  });

  test('is left at once by a conditional transition, by way of the hooks of any transition', async (t) => {
    const registry = new AgentRegistry()
      .agent('poet', () => ({ finish_reason: 'tool_use', tool_calls: [{ id: 'a', name: 'look', arguments: {} }] }))
      .tool('look', () => 'gold');
    const ways: string[] = [];
    const hooks: readonly MachineHooks[] = [
      {
        onToolResult: (_state: string, _result: unknown, context: object) => ({ ...context, found: true }),
        onTransition: (from: string, to: string) => (ways.push(`${from} ${to}`), to),
        onStateExit: (name: string) => void ways.push(`exit ${name}`),
      },
    ];
    const transitions = [{ to: 'end' }, { condition: 'context.found == true', to: 'late' }];
    await run(await filesIn(t, { 'machine.json': machine({}, { tool_loop: true, transitions }) }), { registry, hooks });
    assert.deepEqual(ways.slice(0, 2), ['exit start', 'start late']);
  });

  test('is refused for an agent that calls its tools itself', async (t) => {
    const command = [process.execPath, '-e', ''];
    const folder = await filesIn(t, {
      'machine.json': machine({ poet: { type: 'command', config: { command } } }, { tool_loop: true }),
    });
    await assert.rejects(run(folder), /calls its tools itself: take tool_loop out of "start"/);
  });
});
