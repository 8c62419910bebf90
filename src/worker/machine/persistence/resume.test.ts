/** Cases of the published suites about runs that are written down: `flatmachine.md` 16 and `origins.md` A.3 8 and 9. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { machineOf } from '../../../flow/machine/test-driver.ts';
import { agentCall } from '../../agents/agent-call.ts';
import type { AgentExecutor } from '../../agents/executor.ts';
import { virtualWorld } from '../../agents/test-world.ts';
import { childId } from '../child-id.ts';
import type { MachineHooks } from '../machine-hooks.ts';
import { incompleteExecutions, latestOf } from './latest.ts';
import { MemoryBackend } from './memory-backend.ts';
import { InMemoryResultBackend, resultUri } from './results.ts';
import { counter, failingIn, placeOf, runAt, up } from './test-runs.ts';
import { type CheckpointEvent, cloneSnapshot, type WireSnapshot } from './wire-snapshot.ts';

const silent: MachineHooks = {
  onMachineStart: () => assert.fail('again'),
  onStateEnter: () => assert.fail('again'),
  onAction: () => assert.fail('again'),
  onMachineEnd: () => assert.fail('again'),
};
const end = (output: object = {}): object => ({ type: 'final', output });
const next = (to: string): object[] => [{ to }];

describe('checkpoints', () => {
  test('are written at each event, under the keys of the language', async () => {
    const backend = new MemoryBackend();
    await runAt(counter, { at: placeOf(backend), hooks: [up] });
    const states = [1, 2, 3, 4].flatMap((step) =>
      ['execute', 'state_enter', 'state_exit'].map((event) => `run/step_00000${step}_${event}.json`),
    );
    const all = ['run/latest', 'run/step_000000_machine_start.json', ...states, 'run/step_000004_machine_end.json'];
    assert.deepEqual(await backend.list('run/'), all.toSorted());
    assert.equal(await backend.load('run/latest'), 'run/step_000004_machine_end.json');
  });

  test('have the fields of the wire format', async () => {
    const backend = new MemoryBackend();
    await runAt(counter, { at: placeOf(backend), hooks: [up] });
    const { leasehold, created_at, config_hash, context, ...wire } = (await latestOf(backend, 'run')) as WireSnapshot;
    assert.deepEqual(wire, {
      execution_id: 'run',
      machine_name: 'counter',
      spec_version: '4.2.1',
      current_state: 'end',
      step: 4,
      event: 'machine_end',
      output: { count: 3 },
      total_api_calls: 0,
      total_cost: 0,
      depth: 0,
    });
    assert.match(created_at, /^\d{4}-\d\d-\d\dT.*Z$/);
    assert.match(config_hash ?? '', /^[0-9a-f]{64}$/);
    assert.equal(context['count'], 3);
    assert.equal(leasehold?.phase, 'ended');
  });

  test('are only those that checkpoint_on names, and the end', async () => {
    const backend = new MemoryBackend();
    await runAt(counter, { at: placeOf(backend, { events: ['state_exit'] }), hooks: [up] });
    const events = (await backend.list('run/step')).map((key) => key.slice('run/step_000000_'.length));
    assert.deepEqual([...new Set(events)].toSorted(), ['machine_end.json', 'state_exit.json']);
  });

  test('have as text what JSON cannot say, with a warning that names the field', async () => {
    const backend = new MemoryBackend();
    const warnings: string[] = [];
    const machine = machineOf({ states: { a: { action: 'x', transitions: next('b') }, b: end({ ok: true }) } });
    const hooks: readonly MachineHooks[] = [
      { onAction: () => ({ odd: { big: 12n, when: new Date(0) }, list: [Number.NaN] }) },
    ];
    const output = await runAt(machine, { at: placeOf(backend), hooks, onWarning: (text) => warnings.push(text) });
    assert.deepEqual(output, { ok: true });
    const { odd, list } = (await latestOf(backend, 'run'))?.context ?? {};
    assert.deepEqual([odd, list], [{ big: '12', when: '1970-01-01T00:00:00.000Z' }, ['NaN']]);
    assert.match(warnings[0] ?? '', /context\.odd\.big, context\.odd\.when, context\.list\[0\]/);
  });

  test('may be the latest alone', async () => {
    const backend = new MemoryBackend();
    await runAt(counter, { at: placeOf(backend, { onlyLatest: true }), hooks: [up] });
    assert.deepEqual(await backend.list(''), ['run/latest', 'run/step_000004_machine_end.json']);
  });
});

describe('a run that crashed in its third state', () => {
  const minimal: readonly (readonly CheckpointEvent[])[] = [
    ['machine_start', 'state_enter', 'execute', 'state_exit', 'machine_end'],
    ['execute'],
    ['state_enter'],
    ['state_exit'],
    ['machine_start'],
    [],
  ];
  for (const events of minimal) {
    test(`is resumed with the same count, with checkpoint_on [${events.join(', ')}]`, async () => {
      const backend = new MemoryBackend();
      const at = placeOf(backend, { events });
      await assert.rejects(runAt(counter, { at, hooks: [failingIn('three')] }), /crash/);
      assert.deepEqual(await runAt(counter, { at, hooks: [up], resume: true }), { count: 3 });
      assert.equal((await latestOf(backend, 'run'))?.event, 'machine_end');
    });
  }

  test('does not do again what it had done before that state', async () => {
    const at = placeOf(new MemoryBackend());
    await assert.rejects(runAt(counter, { at, hooks: [failingIn('three')] }), /crash/);
    const seen: string[] = [];
    const hooks: readonly MachineHooks[] = [up, { onStateEnter: (state: string) => void seen.push(state) }];
    await runAt(counter, { at, hooks, resume: true });
    assert.deepEqual(seen, ['end']);
  });

  test('and in the hook after its action does not act twice', async () => {
    const at = placeOf(new MemoryBackend());
    const hooks: readonly MachineHooks[] = [
      up,
      { onStateExit: (state: string) => (state === 'two' ? assert.fail('crash') : undefined) },
    ];
    await assert.rejects(runAt(counter, { at, hooks }), /crash/);
    const acted: string[] = [];
    const watching: MachineHooks = { onAction: (state: string) => void acted.push(state) };
    assert.deepEqual(await runAt(counter, { at, hooks: [watching, up], resume: true }), { count: 3 });
    assert.deepEqual(acted, ['three']);
  });

  test('is begun anew when nobody asks to resume it, and so are its machines', async () => {
    const at = placeOf(new MemoryBackend());
    await assert.rejects(runAt(counter, { at, hooks: [failingIn('three')] }), /crash/);
    const states: string[] = [];
    await runAt(counter, { at, hooks: [up, { onStateEnter: (state: string) => void states.push(state) }] });
    assert.deepEqual(states, ['one', 'two', 'three', 'end']);
  });

  test('is among the incomplete ones until it has ended', async () => {
    const backend = new MemoryBackend();
    const at = placeOf(backend);
    await assert.rejects(runAt(counter, { at, id: 'a', hooks: [failingIn('three')] }), /crash/);
    await runAt(counter, { at, id: 'b', hooks: [up] });
    assert.deepEqual(await incompleteExecutions(backend), ['a']);
    await runAt(counter, { at, id: 'a', hooks: [up], resume: true });
    assert.deepEqual(await incompleteExecutions(backend), []);
  });
});

describe('a run that has ended', () => {
  test('gives its stored output when it is resumed, and no hook runs', async () => {
    const at = placeOf(new MemoryBackend());
    const hooks: readonly MachineHooks[] = [up, { onMachineEnd: () => ({ changed: true }) }];
    assert.deepEqual(await runAt(counter, { at, hooks }), { changed: true });
    assert.deepEqual(await runAt(counter, { at, hooks: [silent], resume: true }), { changed: true });
  });

  test('keeps what its last hook made of the output, if it crashed there', async () => {
    const at = placeOf(new MemoryBackend());
    await assert.rejects(runAt(counter, { at, hooks: [up, { onMachineEnd: () => assert.fail('crash') }] }), /crash/);
    const hooks: readonly MachineHooks[] = [
      { onAction: () => assert.fail('again'), onMachineEnd: () => ({ changed: true }) },
    ];
    assert.deepEqual(await runAt(counter, { at, hooks, resume: true }), { changed: true });
  });
});

describe('a run', () => {
  test('of which nothing is written begins, also when it is to be resumed', async () => {
    const at = placeOf(new MemoryBackend());
    assert.deepEqual(await runAt(counter, { at, hooks: [up], resume: true }), { count: 3 });
  });

  test('that runs is refused a second time; others are not', async () => {
    const at = placeOf(new MemoryBackend());
    const held = Promise.withResolvers<void>();
    const hooks: readonly MachineHooks[] = [{ onStateEnter: () => held.promise }, up];
    const first = runAt(counter, { at, hooks });
    await assert.rejects(runAt(counter, { at, hooks: [up], resume: true }), /already running/);
    assert.deepEqual(await runAt(counter, { at, id: 'other', hooks: [up] }), { count: 3 });
    held.resolve();
    assert.deepEqual(await first, { count: 3 });
    assert.deepEqual(await runAt(counter, { at, hooks: [silent], resume: true }), { count: 3 });
  });

  test('in one memory knows nothing of a run in another', async () => {
    const [one, other] = [placeOf(new MemoryBackend()), placeOf(new MemoryBackend())];
    await runAt(counter, { at: one, hooks: [up] });
    const entered: string[] = [];
    const hooks: readonly MachineHooks[] = [up, { onStateEnter: (state: string) => void entered.push(state) }];
    await runAt(counter, { at: other, hooks, resume: true });
    assert.equal(entered.length, 4);
  });

  test('cannot have a name that leads out of its place', async () => {
    for (const id of ['../x', 'a/b', '/a', 'a\0', '']) {
      await assert.rejects(runAt(counter, { at: placeOf(new MemoryBackend()), id, hooks: [up] }), /execution id/);
    }
  });

  test('is not resumed with a machine that does not have its state; one that has changed is a warning', async () => {
    const backend = new MemoryBackend();
    const at = placeOf(backend);
    await assert.rejects(runAt(counter, { at, hooks: [failingIn('three')] }), /crash/);
    const other = machineOf({
      name: 'other',
      states: { three: { action: 'up', transitions: next('e') }, e: end({ n: 'context.count' }) },
    });
    const warnings: string[] = [];
    assert.deepEqual(await runAt(other, { at, hooks: [up], resume: true, onWarning: (text) => warnings.push(text) }), {
      n: 3,
    });
    assert.match(warnings[0] ?? '', /has changed/);
    const without = machineOf({ states: { x: end() } });
    await assert.rejects(runAt(without, { at, resume: true }), /state "e", which the machine/);
  });

  test('that another program has written goes on at the state that it names', async () => {
    const backend = new MemoryBackend();
    const { leasehold: _, ...foreign }: WireSnapshot = {
      execution_id: 'run',
      machine_name: 'counter',
      spec_version: '4.2.1',
      current_state: 'two',
      context: { count: 1 },
      step: 2,
      created_at: '2026-01-01T00:00:00+00:00',
      event: 'execute',
    };
    await backend.save('run/step_000002_execute.json', foreign);
    await backend.save('run/latest', 'run/step_000002_execute.json');
    assert.deepEqual(await runAt(counter, { at: placeOf(backend), hooks: [up], resume: true }), { count: 3 });
  });

  test('can be forked: both branches go on apart', async () => {
    const backend = new MemoryBackend();
    const at = placeOf(backend);
    await assert.rejects(runAt(counter, { at, hooks: [failingIn('three')] }), /crash/);
    const source = (await latestOf(backend, 'run')) as WireSnapshot;
    const fork = { ...cloneSnapshot(source, 'fork'), context: { ...source.context, count: 40 } };
    await backend.save('fork/step_000003_execute.json', fork);
    await backend.save('fork/latest', 'fork/step_000003_execute.json');
    assert.deepEqual(await runAt(counter, { at, id: 'fork', hooks: [up], resume: true }), { count: 41 });
    assert.deepEqual(await runAt(counter, { at, hooks: [up], resume: true }), { count: 3 });
    assert.equal((await latestOf(backend, 'fork'))?.parent_execution_id, 'run');
  });
});

describe('machines within', () => {
  const child = machineOf({
    name: 'child',
    context: { n: 'input.n', count: 0 },
    states: { work: { action: 'up', transitions: next('end') }, end: end({ n: 'context.n' }) },
  });
  const around = machineOf({
    context: { count: 0 },
    states: {
      call: {
        machine: ['child', 'bad'],
        input: { n: 1 },
        output_to_context: { got: 'output' },
        transitions: next('act'),
      },
      act: { action: 'up', transitions: next('end') },
      end: end({ got: 'context.got' }),
    },
  });

  test('have names that are the same when their run is resumed, and are not run again when they had ended', async () => {
    const backend = new MemoryBackend();
    const at = placeOf(backend);
    const names: string[] = [];
    const acts = (fail: boolean): MachineHooks => ({
      onAction: (_state: string, ...given: unknown[]) => {
        const { machine } = given.at(-1) as { machine: { execution_id: string; machine_name: string } };
        names.push(machine.machine_name);
        if (fail && machine.machine_name === 'bad') assert.fail('crash');
        return {};
      },
    });
    const bad = machineOf({
      name: 'bad',
      states: { a: { action: 'x', transitions: next('b') }, b: end({ bad: true }) },
    });
    const strict = machineOf({
      states: {
        call: {
          machine: ['child', 'bad'],
          on_child_error: 'fail',
          input: { n: 1 },
          output_to_context: { got: 'output' },
          transitions: next('end'),
        },
        end: end({ got: 'context.got' }),
      },
    });
    await assert.rejects(runAt(strict, { at, machines: { child, bad }, hooks: [acts(true)] }), /crash/);
    const ids = await backend.listExecutionIds();
    assert.deepEqual(
      ids.toSorted(),
      ['run', childId('run', 1, 'machine 0'), childId('run', 1, 'machine 1')].toSorted(),
    );
    names.length = 0;
    const output = await runAt(strict, { at, machines: { child, bad }, hooks: [acts(false)], resume: true });
    assert.deepEqual(output, { got: { child: { n: 1 }, bad: { bad: true } } });
    assert.deepEqual(names, ['bad']);
    assert.deepEqual(await backend.listExecutionIds(), ids);
    assert.equal((await latestOf(backend, childId('run', 1, 'machine 0')))?.parent_execution_id, 'run');
  });

  test('write their results under their addresses, errors too', async () => {
    const results = new InMemoryResultBackend();
    const bad = machineOf({ states: { a: { transitions: [] }, b: end() } });
    await runAt(around, {
      machines: { child, bad },
      hooks: [up],
      results,
      at: placeOf(new MemoryBackend(), { results }),
    });
    assert.deepEqual(await results.read(resultUri(childId('run', 1, 'machine 0'))), { n: 1 });
    assert.deepEqual(await results.read(resultUri(childId('run', 1, 'machine 1'))), {
      _error: 'no transition of "a" matches',
      _error_type: 'NoTransition',
    });
    assert.equal(((await results.read('flatagents://run/checkpoint')) as WireSnapshot).event, 'machine_end');
  });

  const launching = machineOf({
    name: 'launching',
    context: { count: 0 },
    states: {
      go: { launch: ['aside', 'aside'], launch_input: { n: 7 }, transitions: next('act') },
      act: { action: 'up', transitions: next('end') },
      end: end({ ok: true }),
    },
  });

  /** Acts of the launched machines wait until they are let go. */
  function asides() {
    const ran: string[] = [];
    const aside = machineOf({
      name: 'aside',
      context: { count: 0 },
      states: { work: { action: 'aside', transitions: next('end') }, end: end({ done: true }) },
    });
    return { ran, aside };
  }

  test('that are launched are written down before they are, and forgotten when they have ended', async () => {
    const backend = new MemoryBackend();
    const { aside } = asides();
    const seen: unknown[] = [];
    const hooks: readonly MachineHooks[] = [
      {
        onAction: async (_state: string, ...given: unknown[]) => {
          if (given[0] === 'aside') seen.push((await latestOf(backend, 'run'))?.pending_launches);
          return {};
        },
      },
    ];
    await runAt(launching, { at: placeOf(backend), machines: { aside }, hooks });
    const intents = [0, 1].map((i) => ({
      machine: 'aside',
      input: { n: 7 },
      execution_id: childId('run', 1, `launch ${i}`),
      launched: false,
    }));
    assert.deepEqual(seen[0], intents);
    const last = await latestOf(backend, 'run');
    assert.equal(last?.event, 'machine_end');
    assert.equal(last?.pending_launches, undefined);
  });

  test('that were launched and had not ended at a crash are launched again; those that had a result are not', async () => {
    const backend = new MemoryBackend();
    const at = placeOf(backend);
    const { aside, ran } = asides();
    const results = new InMemoryResultBackend();
    // The crash of a process: nothing after the intent is written.
    const hooks: readonly MachineHooks[] = [
      { onAction: (_state: string, ...given: unknown[]) => (given[0] === 'aside' ? assert.fail('crash') : {}) },
    ];
    let intent: WireSnapshot | undefined;
    const onStep = async (): Promise<void> => {
      intent ??=
        (await latestOf(backend, 'run').catch(() => undefined))?.pending_launches === undefined
          ? undefined
          : await latestOf(backend, 'run');
    };
    await runAt(launching, { at, machines: { aside }, hooks, onStep: () => void onStep(), onLaunchFailed: () => {} });
    assert.ok(intent !== undefined);
    const key = `run/step_${String(intent.step).padStart(6, '0')}_${intent.event ?? ''}.json`;
    await backend.save(key, { ...intent });
    await backend.save('run/latest', key);
    await results.write(resultUri(childId('run', 1, 'launch 0')), { done: 'before' });
    const again: MachineHooks = {
      onAction: (_state: string, ...given: unknown[]) => {
        const { machine } = given.at(-1) as { machine: { execution_id: string } };
        if (given[0] === 'aside') ran.push(machine.execution_id);
        return {};
      },
    };
    await runAt(launching, { at, machines: { aside }, hooks: [again], results, resume: true });
    assert.deepEqual(ran, [childId('run', 1, 'launch 1')]);
  });
});

describe('a tool loop', () => {
  test('that crashed in a hook is resumed with its chain: neither the model nor the tool is asked again', async () => {
    const asked: string[] = [];
    const executor: AgentExecutor = {
      metadata: {},
      tools: [],
      execute: () => assert.fail('with tools'),
      executeWithTools: async (_input, turn) => {
        asked.push(`model ${turn.messages?.length ?? 0}`);
        return turn.messages === undefined
          ? { content: '', finish_reason: 'tool_use', tool_calls: [{ id: 'c1', name: 'look', arguments: {} }] }
          : { content: 'done', finish_reason: 'stop' };
      },
    };
    const tools = new Map([['look', { run: () => (asked.push('tool'), 'seen') }]]) as never;
    const agents = { a: agentCall(executor, { world: virtualWorld().world, tools }) };
    const machine = machineOf({
      agents: { a: {} },
      states: {
        loop: { agent: 'a', tool_loop: true, output_to_context: { said: 'output.content' }, transitions: next('end') },
        end: end({ said: 'context.said' }),
      },
    });
    const backend = new MemoryBackend();
    const at = placeOf(backend);
    const crash: MachineHooks = { onToolResult: () => assert.fail('crash') };
    await assert.rejects(runAt(machine, { at, agents, hooks: [crash] }), /crash/);
    const { event, tool_loop_state } = (await latestOf(backend, 'run')) as WireSnapshot;
    assert.equal(event, 'tool_call');
    const { turns, tool_calls_count } = tool_loop_state ?? {};
    assert.deepEqual([turns, tool_calls_count], [1, 1]);
    assert.deepEqual(await runAt(machine, { at, agents, hooks: [], resume: true }), { said: 'done' });
    assert.deepEqual(asked, ['model 0', 'tool', 'model 2']);
  });
});
