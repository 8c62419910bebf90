import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { realWorld } from '../../app/world.ts';
import { readAgent } from '../../flow/agent/read-agent.ts';
import type { AgentResult } from '../../flow/agent/result.ts';
import type { ValueMap } from '../../flow/expression/values.ts';
import { groupLives } from '../handlers/process-group.ts';
import { commandAgent } from './command-executor.ts';
import type { AgentExecutor, CallOptions } from './executor.ts';
import { LineSplitter } from './lines.ts';

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agents-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A program of the tests: what it does is JavaScript. `words` are its arguments, `text` what it reads. */
const program = (body: string): readonly string[] => [
  process.execPath,
  '-e',
  `const words = process.argv.slice(1); let text = ''; process.stdin.on('data', (d) => (text += d)).on('end', () => { ${body} });`,
  '--',
];

interface Scene {
  readonly type?: string;
  readonly config?: ValueMap;
  readonly data?: ValueMap;
  readonly environment?: Readonly<Record<string, string>>;
}

async function agentOf(
  t: TestContext,
  { type = 'command', config = {}, data = {}, environment = {} }: Scene,
): Promise<AgentExecutor> {
  const { agent, problems } = readAgent({
    spec: 'flatagent',
    spec_version: '4.0.0',
    data: { name: 'cli', prompt: { user: 'Do {{ input.what }}', ...data }, profile: { ...config, type } },
  });
  assert.ok(agent !== undefined, JSON.stringify(problems));
  return commandAgent(agent, { folder: await folderOf(t), environment: () => environment, timers: realWorld().timers });
}

const call = (more: Partial<CallOptions> = {}): CallOptions => ({
  context: { who: 'me' },
  sessionId: undefined,
  sessionName: undefined,
  key: 'k',
  signal: new AbortController().signal,
  ...more,
});

const run = async (
  t: TestContext,
  scene: Scene,
  input: ValueMap = { what: 'it' },
  more: Partial<CallOptions> = {},
): Promise<AgentResult> => (await agentOf(t, scene)).execute(input, call(more));

const say = 'console.log(JSON.stringify({ output: { words, text } }))';

describe('a program', () => {
  test('gets its prompt on stdin, or as an argument, and answers in text or JSON', async (t) => {
    const data = { system: 'Be kind.' };
    const stdin = await run(t, { config: { command: program(say) }, data });
    assert.deepEqual(stdin.output, { words: [], text: 'Be kind.\n\nDo it' });
    const argument = await run(t, { config: { command: program(say), prompt: 'argument' } });
    assert.deepEqual(argument.output, { words: ['Do it'], text: '' });
    const text = await run(t, { config: { command: program('console.log("plain\\n" + text)') } });
    assert.deepEqual(text, { content: 'plain\nDo it' });
  });

  test('no word of a prompt reaches a shell', async (t) => {
    const what = '$(touch pwned); `touch pwned`; "quoted" \\ * \n--help';
    const { output } = await run(t, { config: { command: program(say), prompt: 'argument' } }, { what });
    assert.deepEqual(output?.['words'], [`Do ${what}`]);
  });

  test('of JSON lines the last is the answer, and all are told while it works', async (t) => {
    const events: ValueMap[] = [];
    const body =
      'console.log("warming up"); console.log(JSON.stringify({step: 1})); console.log(JSON.stringify({content: "end", cost: 0.5, session_id: "s1"}));';
    const result = await run(
      t,
      { config: { command: program(body), output: 'jsonl' } },
      { what: 'x' },
      { onEvent: (event) => events.push(event) },
    );
    assert.deepEqual(result, { content: 'end', cost: 0.5, session_id: 's1' });
    assert.deepEqual(events[0], { step: 1 });
    const none = await run(t, { config: { command: program('console.log("words")'), output: 'jsonl' } });
    assert.deepEqual([none.error?.code, none.error?.retryable], ['invalid_output', true]);
  });

  test('fields of "output" are asked for and held to', async (t) => {
    const data = { output: { n: 'int' } };
    const good = await run(t, {
      config: { command: program('console.log("n: " + JSON.stringify({ n: "7" }))'), output: 'text' },
      data,
    });
    assert.deepEqual(good.output, { n: 7 });
    const bad = await run(t, { config: { command: program('console.log("seven")') }, data });
    assert.equal(bad.error?.code, 'invalid_output');
  });

  test('one that fails, or is not there, is an error with what it said', async (t) => {
    const failed = await run(t, { config: { command: program('console.error("out of luck"); process.exit(3)') } });
    assert.match(failed.error?.message ?? '', /ended with exit code 3: out of luck/);
    const missing = await run(t, { config: { command: '/nowhere/agent' } });
    assert.deepEqual([missing.error?.type, missing.error?.retryable], ['NotStarted', false]);
    const folder = await run(t, { config: { command: program(say), working_dir: 'gone/{{ context.who }}' } });
    assert.match(folder.error?.message ?? '', /there is no folder .*gone\/me/);
    await assert.rejects(run(t, { config: {} }), /the agent has no "command"/);
    const empty = await run(t, { config: { command: program(say) }, data: { user: '' } }, {});
    assert.match(empty.error?.message ?? '', /needs a prompt/);
  });

  test('gets only the part of the environment that commands get, and what the agent names', async (t) => {
    const body = 'console.log(JSON.stringify({ output: { env: process.env } }))';
    const { output } = await run(t, {
      config: { command: program(body), env: { MODE: 'x' }, pass_env: ['MY_KEY', 'GONE'] },
      environment: { PATH: '/usr/bin', SECRET: 's', MY_KEY: 'k', LC_ALL: 'C' },
    });
    const env = output?.['env'] as Readonly<Record<string, string>>;
    assert.deepEqual([env['SECRET'], env['MY_KEY'], env['MODE'], env['LC_ALL']], [undefined, 'k', 'x', 'C']);
  });

  test('what says too much is ended', async (t) => {
    const body =
      'const line = "x".repeat(1 << 20); const more = () => { while (process.stdout.write(line)); process.stdout.once("drain", more); }; more();';
    const { error } = await run(t, { config: { command: program(body) } });
    assert.deepEqual([error?.type, error?.retryable], ['OutputTooLarge', false]);
  });

  test('a stop ends its whole process group before the call is over', async (t) => {
    const folder = await folderOf(t);
    const file = join(folder, 'group');
    const stop = new AbortController();
    // It does not listen, and has a child that does not either.
    const body = `
      process.on('SIGTERM', () => {});
      require('node:child_process').spawn(process.execPath, ['-e', 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); console.log(JSON.stringify({up: process.pid}))'], { stdio: 'inherit' });
      require('node:fs').writeFileSync(${JSON.stringify(file)}, String(process.pid));
      setInterval(() => {}, 1000);`;
    const running = run(
      t,
      { config: { command: program(body) } },
      { what: 'x' },
      {
        signal: stop.signal,
        onEvent: () => stop.abort(new Error('enough')),
      },
    );
    await assert.rejects(running, /enough/);
    assert.equal(await groupLives(Number(await readFile(file, 'utf8'))), false);
  });

  test('its time is over after the seconds of its profile', async (t) => {
    const { error } = await run(t, { config: { command: program('setInterval(() => {}, 1000)'), timeout: 0.1 } });
    assert.deepEqual([error?.code, error?.retryable], ['timeout', true]);
  });
});

describe('programs by the names of their types', () => {
  const emits = (...events: readonly object[]): string =>
    events.map((event) => `console.log(${JSON.stringify(JSON.stringify(event))});`).join('');

  test('claude-code: arguments, usage, cost, tools and the session', async (t) => {
    const body = `console.log(JSON.stringify({ type: 'system', session_id: 's9', words, text }));${emits(
      {
        type: 'assistant',
        message: { content: [{ type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'ls' } }] },
      },
      { type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: 't1', content: 'a.txt' }] } },
      {
        type: 'result',
        result: 'Done.',
        session_id: 's9',
        num_turns: 2,
        total_cost_usd: 0.125,
        stop_reason: 'end_turn',
        usage: { input_tokens: 9, output_tokens: 4, cache_read_input_tokens: 5 },
      },
    )}`;
    const events: ValueMap[] = [];
    const result = await run(
      t,
      {
        type: 'claude-code',
        config: { command: program(body), model: 'sonnet', tools: ['Bash'], permission_mode: 'plan' },
        data: { system: 'Be brief.' },
      },
      { what: 'it' },
      { onEvent: (event) => events.push(event) },
    );
    assert.deepEqual(result.output, { result: 'Done.', session_id: 's9' });
    assert.deepEqual(
      [result.content, result.session_id, result.cost, result.usage],
      ['Done.', 's9', 0.125, { input_tokens: 9, output_tokens: 4, cache_read_tokens: 5, api_calls: 2 }],
    );
    assert.deepEqual(result.tool_calls, [{ id: 't1', name: 'Bash', arguments: { command: 'ls' } }]);
    assert.deepEqual(result.metadata?.['tool_results'], [
      { tool_call_id: 't1', name: 'Bash', arguments: { command: 'ls' }, content: 'a.txt', is_error: false },
    ]);
    const words = events[0]?.['words'] as readonly string[];
    assert.equal(events[0]?.['text'], 'Do it');
    assert.deepEqual(words.slice(0, 5), ['-p', '--output-format', 'stream-json', '--verbose', '--session-id']);
    assert.deepEqual(words.slice(6), [
      '--model',
      'sonnet',
      '--permission-mode',
      'plan',
      '--append-system-prompt',
      'Be brief.',
      '--tools',
      'Bash',
      '--disallowed-tools',
      'LSP',
      '--effort',
      'high',
    ]);
  });

  test('codex-cli: its answer, its thread, and how it goes on with one', async (t) => {
    const body = `console.log(JSON.stringify({ type: 'thread.started', thread_id: 'th1', words, text }));${emits(
      { type: 'item.completed', item: { type: 'agent_message', text: 'Fixed.' } },
      { type: 'turn.completed', usage: { input_tokens: 3, output_tokens: 2, cached_input_tokens: 1 } },
    )}`;
    const scene = {
      type: 'codex-cli',
      config: { command: program(body), sandbox: 'read-only', config_overrides: { a: 1 } },
    };
    const first: ValueMap[] = [];
    const result = await run(t, scene, { what: 'it' }, { onEvent: (event) => first.push(event) });
    assert.deepEqual(
      [result.output, result.usage, result.session_id],
      [
        { result: 'Fixed.', thread_id: 'th1' },
        { input_tokens: 3, output_tokens: 2, cache_read_tokens: 1, api_calls: 1 },
        'th1',
      ],
    );
    assert.deepEqual(first[0]?.['words'], [
      'exec',
      '--json',
      '--model',
      'gpt-5.3-codex',
      '--sandbox',
      'read-only',
      '--full-auto',
      '-c',
      'reasoning_effort="high"',
      '-c',
      'a=1',
      '-',
    ]);
    const second: ValueMap[] = [];
    await run(t, scene, { what: 'it', resume_session: 'th1' }, { onEvent: (event) => second.push(event) });
    assert.deepEqual((second[0] as { words: readonly string[] }).words.slice(0, 2), ['exec', 'resume']);
    assert.deepEqual((second[0] as { words: readonly string[] }).words.slice(-2), ['th1', '-']);
  });

  test('a session that the state names goes on; what is no id is refused', async (t) => {
    const body = `console.log(JSON.stringify({ type: 'result', result: words.join(' '), session_id: 's2' }))`;
    const scene = { type: 'claude-code', config: { command: program(body) } };
    const named = await run(t, scene, { what: 'it' }, { sessionId: 's1', sessionName: 'talk' });
    assert.match(named.content ?? '', /--resume s1/);
    const fresh = await run(t, scene, { what: 'it' }, { sessionId: 's1' });
    assert.doesNotMatch(fresh.content ?? '', /--resume/);
    await assert.rejects(run(t, scene, { what: 'it', resume_session: '--dangerously' }), /is not the id of a session/);
  });

  test('claude-code goes on until it says that it is done, where it is told how often', async (t) => {
    const body = `const n = words.includes('--resume') ? 2 : 1; console.log(JSON.stringify({ type: 'result', result: n === 2 ? 'ok <<AGENT_EXIT>>' : 'part', session_id: 's', num_turns: 3, total_cost_usd: 1 }))`;
    const once = await run(t, { type: 'claude-code', config: { command: program(body) } });
    const on = await run(t, { type: 'claude-code', config: { command: program(body), max_continuations: 5 } });
    assert.deepEqual([once.content, once.cost, on.content, on.cost], ['part', 1, 'ok <<AGENT_EXIT>>', 2]);
  });

  test('one that ends without a result is an error', async (t) => {
    for (const type of ['claude-code', 'codex-cli']) {
      const none = await run(t, { type, config: { command: program('') } });
      assert.equal(none.error?.type, 'NoResult');
      const failed = await run(t, {
        type,
        config: { command: program('console.error("login first"); process.exit(1)') },
      });
      assert.match(failed.error?.message ?? '', /login first/);
    }
  });

  test('pi-agent and smolagents get one JSON request, and give one JSON result', async (t) => {
    for (const type of ['pi-agent', 'smolagents']) {
      const result = await run(t, {
        type,
        config: {
          command: program('console.log(JSON.stringify({ output: JSON.parse(text) }))'),
          ref: './a.js',
          config: { x: 1 },
        },
      });
      assert.deepEqual(result.output, {
        ref: './a.js',
        config: { x: 1 },
        input: { task: 'Do it', prompt: 'Do it', what: 'it' },
        context: { who: 'me' },
      });
    }
  });

  test('the runner of a pi-agent lies beside its file', async (t) => {
    const folder = await folderOf(t);
    const runner = join(folder, 'runner.mjs');
    await writeFile(runner, 'console.log(JSON.stringify({ content: "from the runner" }))');
    const result = await run(t, { type: 'pi-agent', config: { node: process.execPath, runner, ref: 'x' } });
    assert.equal(result.content, 'from the runner');
  });
});

describe('lines', () => {
  test('are found wherever the pieces were cut, in characters of several bytes too', () => {
    const all = Buffer.from('grün\r\n{"a": "🌍"}\n\nlast');
    for (let size = 1; size <= all.length; size++) {
      const lines: string[] = [];
      const splitter = new LineSplitter({ line: 100, total: 100 }, (line) => lines.push(line), assert.fail);
      for (let from = 0; from < all.length; from += size) splitter.push(all.subarray(from, from + size));
      splitter.end();
      assert.deepEqual(lines, ['grün', '{"a": "🌍"}', '', 'last']);
    }
  });

  test('more than may be is told once, and nothing comes after it', () => {
    const told: string[] = [];
    const lines: string[] = [];
    const splitter = new LineSplitter(
      { line: 4, total: 100 },
      (line) => lines.push(line),
      (what) => told.push(what),
    );
    splitter.push(Buffer.from('ok\nabcdef'));
    splitter.push(Buffer.from('\nmore\n'));
    splitter.end();
    assert.deepEqual([lines, told], [['ok'], ['a line has more than 4 characters']]);
  });
});
