import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AgentToolDefinition } from '../../flow/agent/definition.ts';
import type { AgentResult, Message } from '../../flow/agent/result.ts';
import { readToolLoop } from '../../flow/agent/tool-loop-options.ts';
import type { Value, ValueMap } from '../../flow/expression/values.ts';
import { type Ledger, type LedgerEntry, MemoryLedger } from './ledger.ts';
import { Meter } from './meter.ts';
import { virtualWorld } from './test-world.ts';
import { runToolLoop, type ToolLoopEnd, type ToolLoopHooks } from './tool-loop.ts';
import { type AgentTool, ToolBox, type ToolCallOptions, type ToolProvider } from './tools.ts';

const calls = (...names: readonly string[]): AgentResult => ({
  finish_reason: 'tool_use',
  tool_calls: names.map((name, i) => ({ id: `${name}-${i}`, name, arguments: { n: i } })),
  usage: { input_tokens: 10, output_tokens: 1 },
  cost: 1,
});
const says = (content: string): AgentResult => ({ content, finish_reason: 'stop', cost: 1 });

interface Scene {
  /** What the model answers, by how many answers it has given: with what is in the chain. */
  readonly model?: (turn: number, messages: readonly Message[] | undefined) => AgentResult;
  readonly loop?: Value;
  readonly tools?: Readonly<Record<string, AgentTool>>;
  readonly provider?: ToolProvider;
  readonly own?: readonly AgentToolDefinition[];
  readonly hooks?: Partial<Record<'on_tool_calls' | 'on_tool_result', (given: Value, context: ValueMap) => ValueMap>>;
  readonly transition?: (context: ValueMap) => string | undefined;
  readonly context?: ValueMap;
  readonly ledger?: Ledger;
  readonly state?: string;
  readonly version?: string;
}

interface Played extends ToolLoopEnd {
  readonly asked: readonly { readonly messages: readonly Message[] | undefined; readonly tools: readonly string[] }[];
  readonly meter: Meter;
}

async function play(scene: Scene, { world, pass } = virtualWorld()): Promise<Played> {
  const { model = (turn) => (turn === 0 ? calls('look') : says('done')), hooks = {}, context = {} } = scene;
  const meter = new Meter(world.clock);
  const asked: { messages: readonly Message[] | undefined; tools: readonly string[] }[] = [];
  const ours: ToolLoopHooks = {
    has: (hook) => hooks[hook] !== undefined,
    call: (hook, given, own) => Promise.resolve(hooks[hook]?.(given, own) ?? own),
  };
  const end = await runToolLoop(
    {
      agent: 'worker',
      state: scene.state ?? 'work',
      input: { task: 'dig' },
      call: {
        context,
        sessionId: undefined,
        sessionName: undefined,
        key: 'run/s:000001',
        signal: new AbortController().signal,
      },
      turn: (_input, { messages, tools }) =>
        meter.call(() => {
          asked.push({ messages, tools: tools.map((one) => one.function.name) });
          pass(100);
          const turn = (messages ?? []).filter(({ role }) => role === 'assistant').length;
          const result = model(turn, messages);
          return Promise.resolve(messages === undefined ? { ...result, rendered_user_prompt: 'Dig!' } : result);
        }),
    },
    {
      options: readToolLoop(scene.loop ?? true, scene.version ?? '4.2.1'),
      tools: await ToolBox.of(
        new Map(Object.entries(scene.tools ?? { look: look() })),
        scene.provider,
        scene.own ?? [],
      ),
      ledger: scene.ledger ?? new MemoryLedger(),
      meter,
      world,
      hooks: ours,
      transition: scene.transition ?? (() => undefined),
    },
  );
  return { ...end, asked, meter };
}

const look = (): AgentTool => ({ description: 'Looks', run: ({ n }) => `seen ${String(n)}` });

describe('a tool loop', () => {
  test('calls tools until the agent answers, and leaves its chain in the context', async () => {
    const { output, context, asked, meter } = await play({});
    assert.deepEqual(output, {
      content: 'done',
      _tool_calls_count: 1,
      _tool_loop_turns: 2,
      _tool_loop_cost: 2,
      _tool_loop_stop: 'complete',
    });
    assert.deepEqual(context['_tool_loop_chain'], [
      { role: 'user', content: 'Dig!' },
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: 'look-0', type: 'function', function: { name: 'look', arguments: '{"n":0}' } }],
      },
      { role: 'tool', tool_call_id: 'look-0', content: 'seen 0' },
      { role: 'assistant', content: 'done' },
    ]);
    const { _tool_loop_chain: _, ...rest } = context;
    assert.deepEqual(rest, {
      _tool_loop_turns: 2,
      _tool_loop_cost: 2,
      _tool_calls_count: 1,
      _tool_loop_content: 'done',
      _tool_loop_usage: null,
      _tool_loop_chain_state: 'work',
      _tool_loop_chain_agent: 'worker',
    });
    assert.equal(asked[0]?.messages, undefined);
    const { apiCalls, cost, tokens, ms } = meter.spent;
    assert.deepEqual([apiCalls, cost, tokens, ms], [2, 2, 11, 200]);
  });

  test('an error of a tool, a tool that is not there and arguments that are no JSON are told to the agent', async () => {
    const broken: AgentTool = { run: () => Promise.reject(new Error('no such file')) };
    const { context } = await play({
      tools: { broken },
      model: (turn) =>
        turn > 0
          ? says('ok')
          : {
              ...calls('broken', 'gone'),
              tool_calls: [...(calls('broken', 'gone').tool_calls ?? []), { id: 'x', name: 'broken', arguments: '{' }],
            },
    });
    assert.deepEqual(toolMessages(context), [
      "Error executing 'broken': no such file",
      "No tool provider configured for 'gone'",
      "The arguments of 'broken' are not a JSON object.",
    ]);
  });

  test('a tool that takes too long is told to stop, and the loop goes on', async () => {
    let isStopped = false;
    const slow: AgentTool = {
      run: (_args, { signal }) => new Promise(() => signal.addEventListener('abort', () => (isStopped = true))),
    };
    const { context } = await play({ tools: { look: slow }, loop: { tool_timeout: 3 } });
    assert.deepEqual(toolMessages(context), ["Tool 'look' timed out after 3s"]);
    assert.equal(isStopped, true);
  });

  test('denied tools, and those that are not allowed, are not offered and not run; denied wins', async () => {
    const ran: string[] = [];
    const tool = (name: string): AgentTool => ({ run: () => (ran.push(name), 'x') });
    const { context, asked } = await play({
      tools: { a: tool('a'), b: tool('b'), c: tool('c') },
      loop: { allowed_tools: ['a', 'b'], denied_tools: ['b'] },
      model: (turn) => (turn === 0 ? calls('a', 'b', 'c') : says('ok')),
    });
    assert.deepEqual([ran, asked[0]?.tools], [['a'], ['a']]);
    assert.deepEqual(toolMessages(context), ['x', "Tool 'b' is not allowed.", "Tool 'c' is not allowed."]);
  });

  const endless = (turn: number, messages: readonly Message[] | undefined): AgentResult =>
    messages?.at(-1)?.['role'] === 'user' && turn > 0 ? says('the end') : calls('look');

  for (const [loop, stop, turns] of [
    [{ max_turns: 3 }, 'max_turns', 3],
    [{ max_tool_calls: 2 }, 'max_tool_calls', 3],
    [{ max_cost: 2 }, 'cost_limit', 2],
    [{ total_timeout: 0.25 }, 'timeout', 3],
  ] as const) {
    test(`${stop} ends it with one more call, without tools`, async () => {
      const { output, context, asked } = await play({ loop, model: endless });
      assert.deepEqual(
        [output['_tool_loop_stop'], output['content'], output['_tool_loop_turns']],
        [stop, 'the end', turns],
      );
      assert.equal(context['_tool_loop_stop'], stop);
      assert.deepEqual(asked.at(-1)?.tools, []);
      const open = (asked.at(-1)?.messages ?? []).filter(({ role }) => role === 'tool').length;
      const made = (asked.at(-1)?.messages ?? []).filter((one) => 'tool_calls' in one).length;
      assert.equal(open, made, 'every call has a result');
    });
  }

  test('versions before 4 have bounds of their own', async () => {
    const { output } = await play({ model: endless, version: '2.2.2' });
    assert.deepEqual([output['_tool_loop_stop'], output['_tool_loop_turns']], ['max_turns', 20]);
  });

  test('hooks see calls and results, skip tools, steer and abort', async () => {
    const seen: Value[] = [];
    const { context, asked } = await play({
      model: (turn) => (turn === 0 ? calls('look', 'other') : turn === 1 ? calls('look') : says('never')),
      hooks: {
        on_tool_calls: (given, own) => {
          seen.push((given as readonly { name: string }[]).map(({ name }) => name));
          return own['steered'] === true ? { ...own, _abort_tool_loop: true } : { ...own, _skip_tools: ['other'] };
        },
        on_tool_result: (given, own) => {
          seen.push(given);
          return { ...own, steered: true, _steering_messages: [{ role: 'user', content: 'faster' }] };
        },
      },
    });
    assert.deepEqual(seen, [
      ['look', 'other'],
      { tool_call_id: 'look-0', name: 'look', arguments: { n: 0 }, content: 'seen 0', is_error: false },
      ['look'],
    ]);
    assert.deepEqual(toolMessages(context), ['seen 0', "Tool 'other' was skipped by policy."]);
    assert.deepEqual(asked[1]?.messages?.at(-1), { role: 'user', content: 'faster' });
    assert.equal(context['_tool_loop_stop'], 'aborted');
    assert.equal('_steering_messages' in context || '_skip_tools' in context, false);
  });

  test('a conditional transition leaves at once, before the next tool', async () => {
    const { to, context, output } = await play({
      model: () => calls('look', 'look'),
      hooks: { on_tool_result: (_given, own) => ({ ...own, found: true }) },
      transition: (own) => (own['found'] === true ? 'found' : undefined),
    });
    assert.deepEqual([to, context['_tool_loop_stop'], output['_tool_calls_count']], ['found', 'transition', 1]);
  });

  test('the chain of the same state and agent goes on, that of another begins anew', async () => {
    const first = await play({});
    const model = (): AgentResult => says('more');
    const again = await play({ context: first.context, model });
    assert.equal(again.asked[0]?.messages?.length, 4);
    const other = await play({ context: first.context, model, state: 'elsewhere' });
    assert.equal(other.asked[0]?.messages, undefined);
    assert.equal((other.context['_tool_loop_chain'] as readonly unknown[]).length, 2);
  });

  test('an error of the agent ends it, and is told', async () => {
    const error = { code: 'auth_error', type: 'E', message: 'no', retryable: false };
    assert.deepEqual((await play({ model: () => ({ error }) })).failed, error);
  });

  test('a provider of the hooks goes before functions, with names of Python too', async () => {
    const provider = {
      get_tool_definitions: () => [
        { type: 'function', function: { name: 'look', description: 'P' }, replay: 'repeat' },
      ],
      execute_tool: (name: string, id: string) => ({ content: `${name} ${id}`, is_error: true }),
    } as ToolProvider;
    const { context, asked } = await play({ provider, own: [{ type: 'function', function: { name: 'yaml' } }] });
    assert.deepEqual([toolMessages(context), asked[0]?.tools], [['look look-0'], ['yaml', 'look']]);
  });
});

const toolMessages = (context: ValueMap): readonly Value[] =>
  (context['_tool_loop_chain'] as readonly Message[])
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => content);

/** Dies at one of its commits: before it is written, or after. The process would be gone. */
class DyingLedger implements Ledger {
  readonly #inner: Ledger;
  #left: number;
  readonly #written: boolean;

  constructor(inner: Ledger, commits: number, written: boolean) {
    this.#inner = inner;
    this.#left = commits;
    this.#written = written;
  }

  read(key: string): Promise<ValueMap | undefined> {
    return this.#inner.read(key);
  }

  async commit(entries: readonly LedgerEntry[]): Promise<void> {
    if (this.#left-- === 0) {
      if (this.#written) await this.#inner.commit(entries);
      throw new Error('killed');
    }
    await this.#inner.commit(entries);
  }
}

describe('a tool loop that is cut off', () => {
  /** What happened outside: each effect by its key, and whether it was told that it may have happened before. */
  function effects(policy: 'repeat' | 'exact' | 'relaunch') {
    const happened: { readonly key: string; readonly again: boolean }[] = [];
    const act: AgentTool = {
      replay: policy,
      run: (_args, { key, again }: ToolCallOptions) => {
        happened.push({ key, again });
        return `acted ${happened.length}`;
      },
    };
    return { happened, act };
  }

  const scene = (act: AgentTool, hooked: boolean): Scene => ({
    tools: { act },
    model: (turn) => (turn < 2 ? calls('act', 'act') : says('done')),
    ...(hooked
      ? {
          hooks: {
            on_tool_calls: (_given, own) => ({ ...own, rounds: Number(own['rounds'] ?? 0) + 1 }),
            on_tool_result: (_given, own) => ({ ...own, results: Number(own['results'] ?? 0) + 1 }),
          },
        }
      : {}),
  });

  for (const hooked of [false, true]) {
    for (const written of [false, true]) {
      test(`never acts twice, wherever it dies ${written ? 'after' : 'before'} a commit${hooked ? ', with hooks' : ''}`, async () => {
        let uncertain = 0;
        let survived = 0;
        for (let kill = 0; survived === 0; kill++) {
          const { happened, act } = effects('exact');
          const ledger = new MemoryLedger();
          const given = scene(act, hooked);
          const first = play({ ...given, ledger: new DyingLedger(ledger, kill, written) });
          const died = await first.then(
            () => false,
            (error: Error) => error.message === 'killed',
          );
          const again = died
            ? await play({ ...given, ledger }).catch((error: unknown) => error as { type?: string })
            : await first;
          const keys = happened.map(({ key }) => key);
          assert.equal(new Set(keys).size, keys.length, `twice after ${kill} commits: ${keys.join(' ')}`);
          if (died && 'type' in again) {
            assert.equal(again.type, 'StepUncertain');
            uncertain++;
          } else {
            const end = again as Played;
            assert.equal(end.content, 'done');
            assert.equal(keys.length, 4);
            if (hooked) assert.deepEqual([end.context['rounds'], end.context['results']], [2, 4]);
            // What the first attempt paid for is counted as well.
            assert.ok((end.meter.spent.cost ?? 0) >= 3);
          }
          if (!died) survived++;
        }
        assert.ok(uncertain > 0, 'some of them died with an effect under way');
      });
    }
  }

  test('repeats under the same key what may be repeated', async () => {
    const { happened, act } = effects('repeat');
    const ledger = new MemoryLedger();
    const given = scene(act, false);
    // Messages and results are two commits: the second tool of the first turn has run, and its result is lost.
    await assert.rejects(play({ ...given, ledger: new DyingLedger(ledger, 2, false) }), /killed/);
    const { content } = await play({ ...given, ledger });
    assert.equal(content, 'done');
    const keys = happened.map(({ key }) => key);
    assert.equal(keys.length, 5);
    assert.equal(new Set(keys).size, 4);
    assert.ok(happened.every(({ again }) => !again));
  });

  test('relaunches with the word that it may have happened', async () => {
    const { happened, act } = effects('relaunch');
    const ledger = new MemoryLedger();
    const given = scene(act, false);
    await assert.rejects(play({ ...given, ledger: new DyingLedger(ledger, 1, false) }), /killed/);
    const { content } = await play({ ...given, ledger });
    assert.equal(content, 'done');
    assert.deepEqual(
      happened.map(({ again }) => again),
      [false, true, false, false, false],
    );
  });

  test('an unknown tool is exact, and the error says which tool it was', async () => {
    const ran: string[] = [];
    const act: AgentTool = { run: () => (ran.push('act'), 'x') };
    const ledger = new MemoryLedger();
    const given = scene(act, false);
    await assert.rejects(play({ ...given, ledger: new DyingLedger(ledger, 1, false) }), /killed/);
    await assert.rejects(play({ ...given, ledger }), /nobody knows whether the tool "act" has acted/);
    assert.equal(ran.length, 1);
  });

  test('the model is not asked again for what it has answered, and its time counts', async () => {
    const ledger = new MemoryLedger();
    const { act } = effects('repeat');
    const given = scene(act, false);
    await assert.rejects(play({ ...given, ledger: new DyingLedger(ledger, 3, true) }), /killed/);
    const { asked, meter } = await play({ ...given, ledger });
    assert.equal(asked.length, 1);
    assert.deepEqual([meter.spent.apiCalls, meter.spent.ms], [3, 300]);
  });
});

describe('a model that does not play by the rules', () => {
  for (const id of ['same', '', '__proto__']) {
    test(`gets a result for each call, also if all have the id "${id}"`, async () => {
      const seen: unknown[] = [];
      const { context } = await play({
        model: (turn) =>
          turn > 0
            ? says('done')
            : { ...calls(), tool_calls: [1, 2, 3].map((n) => ({ id, name: 'look', arguments: { n } })) },
        hooks: { on_tool_result: (_result, own) => own },
        tools: {
          look: {
            run: ({ n }, { key }) => {
              seen.push(key);
              return `seen ${String(n)}`;
            },
          },
        },
      });
      assert.equal(new Set(seen).size, 3, 'each call has a key of its own');
      const chain = context['_tool_loop_chain'] as readonly Message[];
      const results = chain.filter(({ role }) => role === 'tool');
      assert.deepEqual(
        results.map(({ content }) => content),
        ['seen 1', 'seen 2', 'seen 3'],
      );
      assert.equal(new Set(results.map((one) => one['tool_call_id'])).size, 3);
    });
  }

  test('does not go on for ever: what a loop without bounds gathers has one', async () => {
    const tools = { look: { run: () => 'x'.repeat(250_000) } };
    await assert.rejects(play({ model: () => calls('look'), tools }), { type: 'ValueTooLarge' });
    const many = calls(...Array.from({ length: 1000 }, () => 'look'));
    await assert.rejects(play({ model: () => many, tools }), { type: 'ValueTooLarge' });
  });
});
