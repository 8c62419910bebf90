/** Cases of the published suites about runs that leave while they wait: `flatmachine.md` 16 and `origins.md` A.3 10. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { machineOf } from '../../../flow/machine/test-driver.ts';
import { virtualWorld } from '../../agents/test-world.ts';
import type { MachineHooks } from '../machine-hooks.ts';
import { LocalSignals } from '../signals.ts';
import type { PersistenceBackend, SignalBackend } from './backends.ts';
import { SignalDispatcher } from './dispatcher.ts';
import { latestOf } from './latest.ts';
import { MemoryBackend } from './memory-backend.ts';
import { MemorySignalBackend } from './memory-signals.ts';
import { SQLiteCheckpointBackend } from './sqlite/checkpoints.ts';
import { RunFile } from './sqlite/run-file.ts';
import { SQLiteSignalBackend } from './sqlite/signals.ts';
import { placeOf, runAt, type Scene } from './test-runs.ts';

const approval = machineOf({
  states: {
    ask: {
      wait_for: '{{ input.channel }}',
      output_to_context: { ok: '{{ output.ok }}' },
      transitions: [{ condition: 'context.ok', to: 'yes' }, { to: 'no' }],
    },
    yes: { type: 'final', output: { approved: true } },
    no: { type: 'final', output: { approved: false } },
  },
});
const left = (channel: string): object => ({ _waiting: true, _channel: channel });

interface Parts {
  readonly backend: PersistenceBackend;
  readonly signals: SignalBackend;
}

function sqlite(t: TestContext, name: string, folder = mkdtempSync(join(tmpdir(), 'leasehold-dispatch-'))): RunFile {
  const file = new RunFile(join(folder, name), { owner: 'me', now: Date.now });
  t.after(() => {
    file.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return file;
}

const kinds: Readonly<Record<string, (t: TestContext) => Parts>> = {
  'in memory': () => ({ backend: new MemoryBackend(), signals: new MemorySignalBackend() }),
  'in one database': (t) => {
    const file = sqlite(t, 'all.sqlite');
    return { backend: new SQLiteCheckpointBackend(file), signals: new SQLiteSignalBackend(file) };
  },
  'in separate databases': (t) => ({
    backend: new SQLiteCheckpointBackend(sqlite(t, 'runs.sqlite')),
    signals: new SQLiteSignalBackend(sqlite(t, 'signals.sqlite')),
  }),
};

function scene({ backend, signals }: Parts, more: Scene = {}, machine = approval) {
  const at = placeOf(backend, { signals });
  const outputs = new Map<string, unknown>();
  const start = (id: string, channel: string): Promise<unknown> =>
    runAt(machine, { at, id, input: { channel }, leave: true, ...more });
  const failed: string[] = [];
  const dispatcher = new SignalDispatcher({
    persistence: backend,
    signals,
    resume: async (id) => void outputs.set(id, await runAt(machine, { at, id, resume: true, leave: true, ...more })),
    onFailed: (id) => failed.push(id),
  });
  return { at, start, outputs, failed, dispatcher };
}

for (const [kind, make] of Object.entries(kinds)) {
  describe(`runs that leave, ${kind}`, () => {
    test('a signal that is there before skips the pause', async (t) => {
      const parts = make(t);
      const { start } = scene(parts);
      await parts.signals.send('c', { ok: true });
      assert.deepEqual(await start('a', 'c'), { approved: true });
      assert.deepEqual(await parts.signals.channels(), []);
    });

    test('one that waits leaves a row and no process, and an addressed signal wakes it alone', async (t) => {
      const parts = make(t);
      const { start, outputs, dispatcher } = scene(parts);
      assert.deepEqual(await start('a', 'c/1'), left('c/1'));
      assert.deepEqual(await start('b', 'c/2'), left('c/2'));
      const wire = await latestOf(parts.backend, 'a');
      assert.deepEqual([wire?.event, wire?.waiting_channel, wire?.current_state], ['waiting', 'c/1', 'ask']);
      await parts.signals.send('c/1', { ok: true });
      assert.equal(await dispatcher.dispatch('c/1'), 1);
      assert.deepEqual([...outputs], [['a', { approved: true }]]);
      await parts.signals.send('c/2', { ok: false });
      assert.equal(await dispatcher.dispatch('c/2'), 1);
      assert.deepEqual(outputs.get('b'), { approved: false });
    });

    test('a broadcast wakes all who wait, once', async (t) => {
      const parts = make(t);
      const { start, outputs, dispatcher } = scene(parts);
      const ids = ['a', 'b', 'c', 'd', 'e'];
      for (const id of ids) await start(id, 'all');
      await parts.signals.send('all', { ok: true });
      assert.deepEqual(await dispatcher.dispatchAll(), { all: 5 });
      assert.deepEqual(Object.fromEntries(outputs), Object.fromEntries(ids.map((id) => [id, { approved: true }])));
      assert.deepEqual(await dispatcher.dispatch_all(), {});
    });

    test('a signal that nobody waits for stays', async (t) => {
      const parts = make(t);
      const { start, dispatcher } = scene(parts);
      await parts.signals.send('c', { ok: true });
      assert.equal(await dispatcher.dispatch('c'), 0);
      assert.equal(await dispatcher.dispatch_channel('c'), 0);
      assert.equal((await parts.signals.peek('c')).length, 1);
      assert.deepEqual(await start('late', 'c'), { approved: true });
    });

    test('each signal wakes once, in their order', async (t) => {
      const parts = make(t);
      const twice = machineOf({
        context: { got: [] },
        states: {
          one: { wait_for: 'c', output_to_context: { a: 'output.value' }, transitions: [{ to: 'two' }] },
          two: { wait_for: 'c', output_to_context: { b: 'output.value' }, transitions: [{ to: 'end' }] },
          end: { type: 'final', output: { a: 'context.a', b: 'context.b' } },
        },
      });
      const { start, outputs, dispatcher } = scene(parts, {}, twice);
      assert.deepEqual(await start('run', 'c'), left('c'));
      await parts.signals.send('c', 1);
      assert.equal(await dispatcher.dispatch('c'), 1);
      assert.deepEqual(outputs.get('run'), left('c'));
      for (const n of [2, 3]) await parts.signals.send('c', n);
      assert.equal(await dispatcher.dispatchChannel('c'), 1);
      assert.deepEqual(outputs.get('run'), { a: 1, b: 2 });
      assert.deepEqual(
        (await parts.signals.peek('c')).map(({ data }) => data),
        [3],
      );
    });

    test('a dispatcher that crashed after it had taken the signal loses and doubles nothing', async (t) => {
      const parts = make(t);
      const { start, outputs, dispatcher } = scene(parts);
      for (const id of ['a', 'b']) await start(id, 'c');
      await parts.signals.send('c', { ok: true });
      await parts.signals.send('c', { ok: false });
      await parts.signals.deliver('c', ['a', 'b']);
      await start('stranger', 'other');
      assert.equal(await dispatcher.dispatch('c'), 2);
      assert.deepEqual([outputs.get('a'), outputs.get('b')], [{ approved: true }, { approved: true }]);
      assert.equal((await parts.signals.peek('c')).length, 1, 'the next one was not taken for them');
    });

    test('a run that could not go on waits still, and its signal with it', async (t) => {
      const parts = make(t);
      let fails = true;
      const hooks: readonly MachineHooks[] = [{ onStateExit: () => (fails ? assert.fail('crash') : undefined) }];
      const exits = placeOf(parts.backend, { signals: parts.signals, events: ['execute'] });
      const { start, outputs, failed, dispatcher } = scene(parts, { hooks, at: exits });
      await start('a', 'c');
      await parts.signals.send('c', { ok: true });
      assert.equal(await dispatcher.dispatchChannel('c'), 0);
      assert.deepEqual(failed, ['a']);
      assert.equal((await latestOf(parts.backend, 'a'))?.event, 'waiting');
      fails = false;
      assert.deepEqual(await dispatcher.dispatchAll(), { c: 1 });
      assert.deepEqual(outputs.get('a'), { approved: true });
    });

    test('a crash after the waiting checkpoint is made good by the signal', async (t) => {
      const parts = make(t);
      const { at, outputs, dispatcher } = scene(parts);
      // It waits within its process, which ends there.
      const stopped = new AbortController();
      const crashed = runAt(approval, {
        at,
        id: 'a',
        input: { channel: 'c' },
        onStep: (_, command) => void (command?.do === 'wait' && stopped.abort()),
        signals: Object.assign(new LocalSignals(), { next: () => Promise.reject(new Error('crash')) }),
      });
      await assert.rejects(crashed, /crash/);
      assert.ok(stopped.signal.aborted);
      assert.equal((await latestOf(parts.backend, 'a'))?.event, 'waiting');
      await parts.signals.send('c', { ok: true });
      assert.equal(await dispatcher.dispatch('c'), 1);
      assert.deepEqual(outputs.get('a'), { approved: true });
    });
  });
}

describe('a run that waits', () => {
  test('within its process takes a signal that another process has sent', async () => {
    const signals = new MemorySignalBackend();
    const { world } = virtualWorld();
    const running = runAt(approval, {
      at: placeOf(new MemoryBackend(), { signals }),
      input: { channel: 'c' },
      world,
      onStep: (_, command) => void (command?.do === 'wait' && setImmediate(() => void signals.send('c', { ok: true }))),
    });
    assert.deepEqual(await running, { approved: true });
    assert.deepEqual(await signals.channels(), []);
  });

  test('and has a timeout goes on with a TimeoutError when that is over, wherever it waited', async () => {
    const late = machineOf({
      states: {
        ask: { wait_for: 'c', timeout: 60, on_error: { TimeoutError: 'late' }, transitions: [{ to: 'late' }] },
        late: { type: 'final', output: { why: 'context.last_error' } },
      },
    });
    const { world, pass } = virtualWorld();
    const parts = { backend: new MemoryBackend(), signals: new MemorySignalBackend() };
    const { start, outputs } = scene(parts, { world }, late);
    const dispatcher = new SignalDispatcher({
      persistence: parts.backend,
      signals: parts.signals,
      resume: async (id) =>
        void outputs.set(
          id,
          await runAt(late, { at: placeOf(parts.backend, parts), id, world, resume: true, leave: true }),
        ),
      now: world.clock.wall,
    });
    assert.deepEqual(await start('a', 'c'), left('c'));
    pass(59_000);
    await dispatcher.dispatchAll();
    assert.equal(outputs.size, 0);
    pass(1000);
    await dispatcher.dispatchAll();
    assert.deepEqual(outputs.get('a'), { why: 'it took more than 60 s' });
  });

  test('within another machine takes that one along, and both go on', async () => {
    const parts = { backend: new MemoryBackend(), signals: new MemorySignalBackend() };
    const around = machineOf({
      states: {
        call: {
          machine: 'approval',
          input: { channel: '{{ input.channel }}' },
          output_to_context: { got: 'output' },
          transitions: [{ to: 'end' }],
        },
        end: { type: 'final', output: { got: 'context.got' } },
      },
    });
    const { start, outputs, dispatcher } = scene(parts, { machines: { approval } }, around);
    assert.deepEqual(await start('outer', 'c'), left('c'));
    await parts.signals.send('c', { ok: true });
    assert.equal(await dispatcher.dispatch('c'), 1);
    assert.deepEqual([...outputs], [['outer', { got: { approved: true } }]]);
  });

  test('does not take a signal twice, although a crash has left a copy of it', async () => {
    const parts = { backend: new MemoryBackend(), signals: new MemorySignalBackend() };
    const twice = machineOf({
      states: {
        one: { wait_for: 'c', output_to_context: { a: 'output.value' }, transitions: [{ to: 'two' }] },
        two: { wait_for: 'c', output_to_context: { b: 'output.value' }, transitions: [{ to: 'end' }] },
        end: { type: 'final', output: { a: 'context.a', b: 'context.b' } },
      },
    });
    // The process ends between the checkpoint and the settling.
    const unsettled = Object.assign(new MemorySignalBackend(), { settle: () => Promise.reject(new Error('crash')) });
    await unsettled.send('c', 1);
    await assert.rejects(runAt(twice, { at: placeOf(parts.backend, { signals: unsettled }), leave: true }), /crash/);
    const settled = Object.assign(unsettled, { settle: MemorySignalBackend.prototype.settle.bind(unsettled) });
    const at = placeOf(parts.backend, { signals: settled });
    assert.deepEqual(await runAt(twice, { at, resume: true, leave: true }), left('c'));
    await settled.send('c', 2);
    assert.deepEqual(await runAt(twice, { at, resume: true, leave: true }), { a: 1, b: 2 });
  });
});
