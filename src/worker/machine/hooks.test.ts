import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { realWorld } from '../../app/world.ts';
import { HookChain } from './hook-chain.ts';
import { HooksRegistry } from './hooks-registry.ts';
import { runInline } from './inline-driver.ts';
import { loadMachine, readMachineFile } from './load-machine.ts';
import type { LoaderOptions } from './loader-options.ts';
import type { MachineHooks } from './machine-hooks.ts';
import { LocalSignals } from './signals.ts';

const world = realWorld();
const seen = (log: string[], who: string): MachineHooks => ({
  onMachineStart: () => void log.push(`${who} start`),
  onMachineEnd: () => void log.push(`${who} end`),
  onStateEnter: (state) => void log.push(`${who} enter ${state}`),
  onStateExit: (state) => void log.push(`${who} exit ${state}`),
  onTransition: (from, to) => void log.push(`${who} ${from}->${to}`),
  onAction: (...given: readonly unknown[]) =>
    void log.push(`${who} ${given.filter((one) => typeof one === 'string').join('/')}`),
});

async function run(
  t: TestContext,
  data: object,
  more: Partial<LoaderOptions> = {},
  version = '4.2.1',
): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'lh-hooks-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'm.json');
  writeFileSync(file, JSON.stringify({ spec: 'flatmachine', spec_version: version, data }));
  const agent = (): Promise<never> => Promise.reject(new Error('no agents here'));
  const runnable = await loadMachine(await readMachineFile(file), { hooks: new HooksRegistry(), agent, ...more });
  return runInline(
    runnable,
    { executionId: 'run', input: {}, stop: new AbortController().signal },
    { world, signals: new LocalSignals() },
  );
}

describe('hooks of a machine and of its states', () => {
  const registry = (log: string[]): HooksRegistry =>
    new HooksRegistry()
      .register('one', () => seen(log, 'one'))
      .register('two', () => seen(log, 'two'))
      .register('step', ({ by = 1 }) => ({
        onAction: (...given: readonly unknown[]) => ({ n: Number((given.at(-1) as { n: number }).n) + Number(by) }),
      }));
  const states = (more: object = {}) => ({
    a: { action: 'x', ...more, transitions: [{ to: 'b' }] },
    b: { type: 'final', output: { n: 'context.n' } },
  });

  test('hooks of a state apply to that state only, and stand in for those of the machine there', async (t) => {
    const log: string[] = [];
    await run(t, { hooks: 'one', states: states({ hooks: 'two' }) }, { hooks: registry(log) });
    assert.deepEqual(log, [
      'one start',
      'two enter a',
      'two a/x',
      'two exit a',
      'two a->b',
      'one enter b',
      'one exit b',
      'one end',
    ]);
  });

  test('lifecycle hooks hear the start and the end; an action runs once, even if both are of one name', async (t) => {
    const log: string[] = [];
    await run(t, { lifecycle_hooks: 'one', states: states({ hooks: 'one' }) }, { hooks: registry(log) });
    assert.deepEqual(log, ['one start', 'one enter a', 'one a/x', 'one exit a', 'one a->b', 'one end']);
    log.length = 0;
    await run(t, { lifecycle_hooks: 'one', states: states() }, { hooks: registry(log) });
    assert.deepEqual(log, ['one start', 'one a/x', 'one end'], 'an action that nobody else hears');
  });

  test('several run in order, each with what the one before it gave, and get their arguments', async (t) => {
    const hooks = ['step', { name: 'step', args: { by: 10 } }];
    assert.deepEqual(await run(t, { hooks, context: { n: 0 }, states: states() }, { hooks: registry([]) }), { n: 11 });
    assert.deepEqual(
      await run(t, { context: { n: 0 }, states: states({ hooks: [...hooks].reverse() }) }, { hooks: registry([]) }),
      { n: 11 },
    );
  });

  test('hooks that the caller gives stand for those that the file names, which nobody looks up', async (t) => {
    const log: string[] = [];
    const own = [seen(log, 'own')];
    for (const hooks of ['nobody', { file: './hooks.py', class: 'Hooks' }, { module: 'some.python', class: 'Hooks' }]) {
      log.length = 0;
      await run(t, { hooks, states: states() }, { own }, '1.1.1');
      assert.deepEqual(log.slice(0, 3), ['own start', 'own enter a', 'own x'], JSON.stringify(hooks));
    }
    const warnings: string[] = [];
    await run(t, { states: states({ hooks: 'nobody' }) }, { own, onWarning: (text) => warnings.push(text) });
    assert.match(warnings.join(), /nobody: There is no set of hooks nobody/);
    warnings.length = 0;
    const every = Object.fromEntries(
      Object.entries(states()).map(([name, state]) => [name, { ...(state as object), hooks: 'nobody' }]),
    );
    await run(t, { states: every }, { own, onWarning: (text) => warnings.push(text) });
    assert.equal(warnings.length, 1, 'once, however many states name it');
  });

  test('they stand in for hooks that a machine within it names, and that cannot be found', async (t) => {
    const child = { spec: 'flatmachine', spec_version: '1.2.0', data: { hooks: 'nobody', states: states() } };
    const parent = {
      machines: { child },
      states: {
        a: { machine: 'child', output_to_context: { n: 'output.n' }, transitions: [{ to: 'b' }] },
        b: { type: 'final', output: { n: 'context.n' } },
      },
    };
    const own = [{ onAction: () => ({ n: 7 }) }];
    assert.deepEqual(await run(t, parent, { own }, '1.2.0'), { n: 7 });
  });

  test('names that nobody has registered, and hooks in Python, are refused with what can be done', async (t) => {
    await assert.rejects(run(t, { hooks: 'nobody', states: states() }), /There is no set of hooks nobody/);
    await assert.rejects(
      run(t, { hooks: { file: 'h.py', class: 'H' }, states: states() }),
      /these are hooks in Python/,
    );
    await assert.rejects(run(t, { hooks: { file: 'gone.mjs', class: 'H' }, states: states() }), /cannot be loaded/);
  });

  test('an action without hooks changes nothing and is told once, unless the machine is read strictly', async (t) => {
    const twice = { a: { action: 'x', transitions: [{ to: 'b' }] }, b: { action: 'x', transitions: [{ to: 'c' }] } };
    const data = {
      name: 'm',
      context: { n: 1 },
      states: { ...twice, c: { type: 'final', output: { n: 'context.n' } } },
    };
    const warnings: string[] = [];
    assert.deepEqual(await run(t, data, { onWarning: (text) => warnings.push(text) }), { n: 1 });
    assert.deepEqual(warnings, ['m: no hook performs the action "x" of the state "a": it changes nothing']);
    await assert.rejects(run(t, data, { strict: true }), /There is no hook for the action x/);
  });

  test('a child has the hooks that it names; one that names none has those that the caller gave', async (t) => {
    const log: string[] = [];
    const child = (hooks: object): object => ({
      spec: 'flatmachine',
      data: { ...hooks, states: { c: { action: 'y', transitions: [{ to: 'd' }] }, d: { type: 'final' } } },
    });
    const data = {
      machines: { named: child({ hooks: 'two' }), bare: child({}) },
      states: { a: { machine: ['named', 'bare'], transitions: [{ to: 'b' }] }, b: { type: 'final' } },
    };
    await run(t, data, { hooks: registry(log), own: [seen(log, 'own')] });
    assert.deepEqual(log.filter((line) => /\by$/.test(line)).sort(), ['own y', 'two y']);
  });
});

describe('the first hook that names a state', () => {
  test('decides where an error goes', async (t) => {
    const fail: MachineHooks = {
      onAction: () => Promise.reject(new RangeError('no')),
      onError: () => null,
    };
    const asked: string[] = [];
    const recover = (to: string): MachineHooks => ({
      onError: (state, error) => (asked.push(`${state} ${error.name} ${error.message}`), to),
    });
    const states = {
      a: { action: 'x', transitions: [{ to: 'b' }] },
      b: { type: 'final' },
      c: { type: 'final', output: { c: true, type: 'context.last_error_type' } },
    };
    const own = [fail, recover('c'), recover('b')];
    assert.deepEqual(await run(t, { states }, { own }), { c: true, type: 'RangeError' });
    assert.deepEqual(asked, ['a RangeError no']);
  });
});

describe('hooks of tools and streams', () => {
  const chain = new HookChain(
    {
      machine: [{ getToolProvider: () => 'of the machine' }],
      states: new Map([
        [
          's',
          [
            { on_tool_calls: (_: string, calls: unknown, context: object) => ({ ...context, calls }) },
            {
              onToolResult: (_: string, result: unknown, context: Record<string, unknown>) =>
                void (context['r'] = result),
            },
            { onAgentStreamEvent: (state: string, event: unknown) => void heard.push([state, event]) },
          ] as unknown as readonly MachineHooks[],
        ],
      ]),
    },
    '4.0.0',
  );
  const heard: unknown[] = [];

  test('see calls, results and events of their state, and may change the context', async () => {
    assert.deepEqual([chain.has('on_tool_calls', 's'), chain.has('on_tool_calls', 'other')], [true, false]);
    assert.deepEqual(await chain.toolCalls('s', [1], { a: 1 }), { a: 1, calls: [1] });
    const context = { a: 1 };
    assert.deepEqual(await chain.toolResult('s', 2, context), { a: 1, r: 2 });
    assert.deepEqual(context, { a: 1 }, 'the context of the caller is not written to');
    await chain.streamEvent('s', { type: 'text' }, {});
    assert.deepEqual(heard, [['s', { type: 'text' }]]);
  });

  test('give what runs the tools', async () => {
    assert.equal(await chain.toolProvider('other'), 'of the machine');
    assert.equal(await chain.toolProvider('s'), undefined);
  });
});

test('logging tells each step by name, and metrics count them', async (t) => {
  const lines: string[] = [];
  const hooks = new HooksRegistry({ onLog: (line) => lines.push(line) });
  assert.deepEqual(
    [hooks.has('logging'), hooks.has('metrics'), hooks.has('webhook'), hooks.has('no')],
    [true, true, true, false],
  );
  const states = {
    a: { transitions: [{ to: 'b', condition: 'context.machine.step > 1' }, { to: 'a' }] },
    b: { type: 'final', output: { secret: 'hunter2' } },
  };
  await run(t, { hooks: ['logging', 'metrics'], states }, { hooks });
  assert.deepEqual(lines.slice(0, 4), ['machine started', 'state a entered', 'state a left', 'transition a -> a']);
  assert.deepEqual(JSON.parse(lines.at(-1)?.replace('metrics ', '') ?? ''), {
    state_counts: { a: 2, b: 1 },
    transition_counts: { 'a->a': 1, 'a->b': 1 },
    total_states_executed: 3,
    error_count: 0,
  });
  assert.doesNotMatch(lines.join(), /hunter2/);
});

test('hooks may be around a whole run, the first outermost, with the machines that it launched and however it ends', async (t) => {
  const log: string[] = [];
  const around = (who: string): MachineHooks => ({
    aroundRun: async ({ machine, settings, executionId }, drive) => {
      const id = executionId === 'run' ? 'run' : 'a child';
      log.push(`${who} begins ${machine} ${id} ${String(settings['pool'])}`);
      try {
        return await drive();
      } finally {
        log.push(`${who} ends ${machine}`);
      }
    },
    onAction: (...given: readonly unknown[]) => {
      log.push(given.filter((one) => typeof one === 'string').join('/'));
      if (given.includes('fail')) throw new Error('no');
    },
  });
  const child = (action: string): object => ({
    spec: 'flatmachine',
    spec_version: '4.2.1',
    data: { name: action, states: { c: { type: 'final', action } } },
  });
  const machine = (state: object): object => ({
    name: 'm',
    settings: { pool: 'p' },
    machines: { late: child('late'), fail: child('fail') },
    states: { a: { ...state, transitions: [{ to: 'b' }] }, b: { type: 'final', output: { ok: true } } },
  });
  const own = [around('one'), around('two')];
  assert.deepEqual(await run(t, machine({ launch: ['late'] }), { own }), { ok: true });
  const begun = ['one begins m run p', 'two begins m run p'];
  const within = (name: string): readonly string[] => [
    `one begins ${name} a child undefined`,
    `two begins ${name} a child undefined`,
    `c/${name}`,
  ];
  const ended = (name: string): readonly string[] => [`two ends ${name}`, `one ends ${name}`];
  assert.deepEqual(log.splice(0), [...begun, ...within('late'), 'c/late', ...ended('late'), ...ended('m')]);
  await assert.rejects(run(t, machine({ machine: 'fail', on_child_error: 'fail' }), { own }), /no/);
  assert.deepEqual(log, [...begun, ...within('fail'), ...ended('fail'), ...ended('m')]);
});
