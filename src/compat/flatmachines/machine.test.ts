import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import {
  HooksRegistry,
  InMemoryResultBackend,
  LocalFileBackend,
  launchMachine,
  Machine,
  MachineFailed,
  type MachineHooks,
  type MachineOptions,
  MemoryBackend,
  MemorySignalBackend,
  NoOpTrigger,
  SignalDispatcher,
  send_and_notify,
} from '../index.ts';

function machine(states: object, more: object = {}): Readonly<Record<string, unknown>> {
  return { spec: 'flatmachine', spec_version: '4.2.1', data: { name: 'm', states, ...more } };
}

const end = (output: object): object => ({ type: 'final', output });
const acting = machine(
  { start: { action: 'add', transitions: [{ to: 'end' }] }, end: end({ n: 'context.n' }) },
  { context: { n: 'input.n' } },
);

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-machine-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('Machine', () => {
  test('runs a config with hooks of the program, and gives its output', async () => {
    const hooks = { onAction: (_state: string, _action: string, context: { n: number }) => ({ n: context.n + 1 }) };
    const run = new Machine({ config: acting, hooks, executionId: 'run-1' });
    assert.equal(run.executionId, 'run-1');
    assert.equal(run.execution_id, 'run-1');
    assert.deepEqual(await run.execute({ n: 1 }), { n: 2 });
  });

  test('takes hooks by name from a registry, also in machines within', async () => {
    const made: unknown[] = [];
    const registry = new HooksRegistry().register('mine', (args) => {
      made.push(args);
      // As Python spells it.
      return { on_action: () => ({ n: 7 }) } as MachineHooks;
    });
    const inner = machine(
      { start: { action: 'x', transitions: [{ to: 'end' }] }, end: end({ n: 'context.n' }) },
      { hooks: { name: 'mine', args: { a: 1 } } },
    );
    const outer = machine({
      start: { machine: 'inner', output_to_context: { got: 'output' }, transitions: [{ to: 'end' }] },
      end: end({ got: 'context.got' }),
    });
    for (const options of [{ registry }, { hooksRegistry: registry }, { hooks_registry: registry }]) {
      assert.deepEqual(await new Machine({ config: outer, machines: { inner }, ...options }).execute(), {
        got: { n: 7 },
      });
    }
    assert.deepEqual(made[0], { a: 1 });
    await assert.rejects(new Machine({ config: inner }).execute(), /mine/);
  });

  test('runs a file, and a machine that comes with leasehold', async (t) => {
    const folder = folderOf(t);
    writeFileSync(
      join(folder, 'm.json'),
      JSON.stringify(machine({ end: end({ id: '{{ context.machine.execution_id }}' }) })),
    );
    for (const options of [{ file: join(folder, 'm.json') }, { config_file: 'm.json', working_dir: folder }]) {
      assert.deepEqual(await new Machine({ ...options, execution_id: 'x' }).execute(), { id: 'x' });
    }
    assert.deepEqual(await new Machine({ file: 'echo_processor' }).execute({ job: [1] }), { echo: [1] });
  });

  test('gets signals from the program, and stops when it is told to', async () => {
    const config = machine({
      start: { wait_for: 'go', output_to_context: { got: 'output.value' }, transitions: [{ to: 'end' }] },
      end: end({ got: 'context.got' }),
    });
    const early = new Machine({ config });
    early.signal('go', 1);
    assert.deepEqual(await early.execute(), { got: 1 });
    const late: Machine = new Machine({ config, onStep: ({ kind }) => void (kind === 'wait' && late.signal('go', 2)) });
    assert.deepEqual(await late.execute(), { got: 2 });
    const stop = new AbortController();
    const waiting = new Machine({
      config,
      onStep: ({ kind }) => void (kind === 'wait' && setImmediate(() => stop.abort(new Error('enough')))),
    });
    await assert.rejects(waiting.execute({}, { signal: stop.signal }), /enough/);
  });

  test('fails with the type, the message and the state of an error that leads nowhere', async () => {
    const hooks = { onAction: () => Promise.reject(new RangeError('too far')) };
    await assert.rejects(new Machine({ config: acting, hooks }).execute(), (error: unknown) => {
      assert.ok(error instanceof MachineFailed);
      assert.deepEqual([error.type, error.message, error.state], ['RangeError', 'too far', 'start']);
      return true;
    });
    const loop = machine({ a: { transitions: [{ to: 'a' }] } });
    await assert.rejects(new Machine({ config: loop, max_steps: 3 }).execute(), /3 steps/);
    await assert.rejects(new Machine({ config: loop, maxSteps: 3 }).execute({}, { maxSteps: 2 }), /2 steps/);
  });

  test('calls agents that are functions of the program, with its tools', async () => {
    const config = machine({
      start: {
        agent: 'writer',
        input: { n: 2 },
        tool_loop: true,
        output_to_context: { got: 'output.content' },
        transitions: [{ to: 'end' }],
      },
      end: end({ got: 'context.got' }),
    });
    const agents: MachineOptions['agents'] = {
      writer: (_input, { messages = [] }) => {
        const said = messages.find(({ role }) => role === 'tool')?.content;
        if (said !== undefined) return { content: `it said ${JSON.stringify(said)}` };
        return { finish_reason: 'tool_use', tool_calls: [{ id: 'c', name: 'twice', arguments: { n: 4 } }] };
      },
    };
    const tools = { twice: ({ n }: Readonly<Record<string, unknown>>) => String(Number(n) * 2) };
    assert.deepEqual(await new Machine({ config, agents, tools }).execute(), { got: 'it said "8"' });
  });

  test('refuses a second run of a name that runs, and not one of another name', async () => {
    const config = machine({ start: { wait_for: 'go', transitions: [{ to: 'end' }] }, end: end({}) });
    const first = new Machine({ config, executionId: 'one' });
    const running = first.execute();
    await assert.rejects(first.execute(), { code: 'CONFLICT' });
    await assert.rejects(new Machine({ config, executionId: 'one' }).execute(), { code: 'CONFLICT' });
    const other = new Machine({ config, executionId: 'two' });
    other.signal('go');
    await other.execute();
    first.signal('go');
    await running;
    first.signal('go');
    await first.execute();
  });

  test('refuses options that it does not know, two spellings of one, and no machine or two', async () => {
    const config = acting;
    // @ts-expect-error: there is no such option
    assert.throws(() => new Machine({ config, hook: {} }), { code: 'UNKNOWN_OPTION' });
    // @ts-expect-error: a number is no name
    assert.throws(() => new Machine({ config, file: 3 }));
    assert.throws(() => new Machine({}), /config or a file/);
    assert.throws(() => new Machine({ config, file: 'x.yml' }), /not both/);
    assert.throws(() => new Machine({ config, executionId: 'a', execution_id: 'b' }), { code: 'INVALID_INPUT' });
    // @ts-expect-error: there is no such option
    await assert.rejects(new Machine({ config }).execute({}, { timeout: 1 }), { code: 'UNKNOWN_OPTION' });
    await assert.rejects(new Machine({ config: {} }).execute(), { code: 'INVALID_INPUT' });
    await assert.rejects(new Machine({ file: 'no_such_machine' }).execute(), { code: 'NOT_FOUND' });
  });
});

describe('launchMachine', () => {
  test('starts a process that nobody waits for, and gives the name of the run', async (t) => {
    const folder = folderOf(t);
    const hooks = `import { writeFileSync } from 'node:fs';
export const onMachineStart = (context) => writeFileSync('ran.tmp', JSON.stringify(context.input));
export const onMachineEnd = async (context, output) => { const { renameSync } = await import('node:fs'); renameSync('ran.tmp', 'ran'); };`;
    writeFileSync(join(folder, 'hooks.mjs'), hooks);
    writeFileSync(
      join(folder, 'm.json'),
      JSON.stringify(machine({ end: end({}) }, { context: { input: '{{ input }}' } })),
    );
    const seen = Promise.withResolvers<void>();
    const watcher = watch(folder, (_event, file) => file === 'ran' && seen.resolve());
    t.after(() => watcher.close());
    const id = await launchMachine(
      'm.json',
      { big: 'x'.repeat(300_000) },
      { workingDir: folder, hooks: ['hooks.mjs'], executionId: 'l-1' },
    );
    assert.equal(id, 'l-1');
    await seen.promise;
    assert.match(await launchMachine('echo_processor', { job: 1 }), /^[0-9a-f-]{36}$/);
  });

  test('refuses what it cannot run before anything is started', async () => {
    await assert.rejects(launchMachine('no_such_machine'), { code: 'NOT_FOUND' });
    // @ts-expect-error: there is no such option
    await assert.rejects(launchMachine('echo_processor', {}, { pool: 'x' }), { code: 'UNKNOWN_OPTION' });
  });
});

describe('a Machine that is written down', () => {
  const twice = (persistence?: object): Readonly<Record<string, unknown>> =>
    machine(
      {
        one: { action: 'up', transitions: [{ to: 'two' }] },
        two: { action: 'up', transitions: [{ to: 'end' }] },
        end: end({ n: 'context.n' }),
      },
      { context: { n: 0 }, ...(persistence === undefined ? {} : { persistence }) },
    );
  const up = (failIn?: string): MachineHooks => ({
    onAction: (state: string, _action: string, context: { n: number }) => {
      if (state === failIn) throw new Error('crash');
      return { n: context.n + 1 };
    },
  });
  const silent: MachineHooks = { onAction: () => assert.fail('again') };

  test('goes on where it failed with resumeFrom, from a place of the program', async (t) => {
    for (const persistence of [new MemoryBackend(), new LocalFileBackend(join(folderOf(t), 'c'))]) {
      const failed = new Machine({ config: twice(), hooks: up('two'), executionId: 'r', persistence });
      await assert.rejects(failed.execute(), /crash/);
      const warnings: string[] = [];
      const onWarning = (text: string): void => void warnings.push(text);
      const other = new Machine({ config: twice(), hooks: up(), persistence, onWarning });
      assert.deepEqual(await other.execute({ new: true }, { resumeFrom: 'r' }), { n: 2 });
      assert.match(warnings.join(), /goes on with the input that it began with/);
      const third = new Machine({ config: twice(), hooks: silent, executionId: 'r', persistence });
      assert.deepEqual(await third.execute(), { n: 2 }, 'the name is enough');
      assert.deepEqual(await third.execute({}, { resume_from: 'r' }), { n: 2 });
    }
  });

  test('in memory of its own can be tried again, and begins anew when it is not said to resume', async () => {
    let failIn: string | undefined = 'two';
    const hooks: MachineHooks = {
      onAction: (...given: never[]) => up(failIn).onAction?.(...(given as never as [string])),
    };
    const run = new Machine({ config: twice({ enabled: true, backend: 'memory' }), hooks });
    await assert.rejects(run.execute(), /crash/);
    failIn = 'one';
    assert.deepEqual(await run.execute({}, { resumeFrom: run.executionId }), { n: 2 });
    await assert.rejects(run.execute(), /crash/, 'from its beginning');
    const other = new Machine({ config: twice({ enabled: true }), hooks });
    await assert.rejects(
      other.execute({}, { resumeFrom: run.executionId }),
      /crash/,
      'the memory of another is not seen',
    );
  });

  test('keeps its files where its machine says, beside the file', async (t) => {
    const folder = folderOf(t);
    writeFileSync(
      join(folder, 'm.json'),
      JSON.stringify(twice({ enabled: true, backend: 'sqlite', db_path: 'kept/runs.db' })),
    );
    const file = join(folder, 'm.json');
    await assert.rejects(new Machine({ file, hooks: up('two'), executionId: 'r' }).execute(), /crash/);
    assert.deepEqual(await new Machine({ file, hooks: up(), executionId: 'r' }).execute(), { n: 2 });
    assert.deepEqual(await new Machine({ file, hooks: silent, executionId: 'r' }).execute(), { n: 2 });
  });

  test('is refused a backend that is not there, and to resume what is not written down', async () => {
    const redis = new Machine({ config: twice({ enabled: true, backend: 'redis' }), hooks: up() });
    await assert.rejects(redis.execute(), /not one of local, memory, sqlite/);
    await assert.rejects(new Machine({ config: twice() }).execute({}, { resumeFrom: 'r' }), /keeps no checkpoints/);
    const off = new Machine({ config: twice({ enabled: false, backend: 'local' }), hooks: up(), executionId: 'r' });
    assert.deepEqual(await off.execute(), { n: 2 });
  });

  test('leaves where it waits, and a dispatcher wakes it', async () => {
    const config = machine({
      ask: { wait_for: 'go', output_to_context: { got: 'output.value' }, transitions: [{ to: 'end' }] },
      end: end({ got: 'context.got' }),
    });
    const parts = {
      persistence: new MemoryBackend(),
      signal_backend: new MemorySignalBackend(),
      result_backend: new InMemoryResultBackend(),
    };
    const run = new Machine({ config, executionId: 'r', ...parts });
    assert.deepEqual(await run.execute({}, { leave: true }), { _waiting: true, _channel: 'go' });
    await send_and_notify(parts.signal_backend, new NoOpTrigger(), 'go', 5);
    const outputs: unknown[] = [];
    const dispatcher = new SignalDispatcher({
      persistence: parts.persistence,
      signals: parts.signal_backend,
      resume: async (id) =>
        outputs.push(await new Machine({ config, ...parts }).execute({}, { resumeFrom: id, leave: true })),
    });
    assert.deepEqual(await dispatcher.dispatch_all(), { go: 1 });
    assert.deepEqual(outputs, [{ got: 5 }]);
  });
});
