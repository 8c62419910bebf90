import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { realWorld } from '../../app/world.ts';
import type { Machine } from '../../flow/machine/definition.ts';
import { machineOf } from '../../flow/machine/test-driver.ts';
import { HookChain } from './hook-chain.ts';
import { type AgentCall, type InlineOptions, type RunnableMachine, runInline } from './inline-driver.ts';
import { MachineFailed } from './machine-failed.ts';
import type { MachineHooks } from './machine-hooks.ts';
import { LocalSignals } from './signals.ts';

const world = realWorld();

interface Place {
  readonly hooks?: readonly MachineHooks[];
  readonly machines?: Readonly<Record<string, Machine>>;
  readonly agents?: Readonly<Record<string, AgentCall>>;
}

function runnable(machine: Machine, { hooks = [], machines = {}, agents = {} }: Place): RunnableMachine {
  return {
    machine,
    hooks: new HookChain(hooks, machine.specVersion),
    peer: async (name) => {
      const peer = machines[name];
      if (peer === undefined) throw new Error(`there is no machine ${name}`);
      return runnable(peer, { hooks, machines, agents });
    },
    agent: async (name) => {
      const agent = agents[name];
      if (agent === undefined) throw new Error(`there is no agent ${name}`);
      return agent;
    },
  };
}

let ids = 0;
async function run(
  machine: Machine,
  input: unknown,
  place: Place = {},
  more: Partial<InlineOptions> & { readonly stop?: AbortSignal } = {},
): Promise<unknown> {
  const { stop = new AbortController().signal, ...options } = more;
  return runInline(
    runnable(machine, place),
    { executionId: `run${++ids}`, input, stop },
    { world, signals: new LocalSignals(), childId: () => `child${++ids}`, ...options },
  );
}

const next = (to: string): object[] => [{ to }];
const end = (output: object): object => ({ type: 'final', output });

describe('an inline run', () => {
  const child = (delay: string) =>
    machineOf({
      context: { n: '{{ input.n }}' },
      states: { start: { action: delay, transitions: next('end') }, end: end({ n: '{{ context.n }}' }) },
    });

  test('calls the hooks of a machine, old names and new, each with what the one before it gave', async () => {
    const seen: string[] = [];
    const hooks = [
      { onAction: (action: string, context: object) => (seen.push(`camel ${action}`), { ...context, a: 1 }) },
      {
        on_action: async (action: string, context: { a: number }) => (
          seen.push(`snake ${action} ${context.a}`), { b: context.a + 1 }
        ),
      },
    ] as unknown as readonly MachineHooks[];
    const machine = machineOf(
      { states: { start: { action: 'go', transitions: next('end') }, end: end({ b: 'context.b' }) } },
      '1.1.1',
    );
    assert.deepEqual(await run(machine, {}, { hooks }), { b: 2 });
    assert.deepEqual(seen, ['camel go', 'snake go 1']);
  });

  test('gives an action its state first from version 4 on', async () => {
    const hooks = [
      { onAction: (...given: unknown[]) => ({ given: given.slice(0, 2) }) },
    ] as unknown as readonly MachineHooks[];
    const machine = machineOf({
      states: { start: { action: 'go', transitions: next('end') }, end: end({ given: 'context.given' }) },
    });
    assert.deepEqual(await run(machine, {}, { hooks }), { given: ['start', 'go'] });
  });

  test('runs children at once, and keeps the order of items', async () => {
    let running = 0;
    let most = 0;
    const hooks: readonly MachineHooks[] = [
      {
        onAction: async (...given: unknown[]) => {
          most = Math.max(most, ++running);
          await new Promise((resolve) => setImmediate(resolve));
          running--;
          return given.at(-1);
        },
      },
    ];
    const machine = machineOf({
      states: {
        start: {
          foreach: '{{ range(4) }}',
          machine: 'child',
          input: { n: '{{ item }}' },
          output_to_context: { all: 'output' },
          transitions: next('end'),
        },
        end: end({ all: 'context.all' }),
      },
    });
    assert.deepEqual(await run(machine, {}, { hooks, machines: { child: child('x') } }), {
      all: [{ n: 0 }, { n: 1 }, { n: 2 }, { n: 3 }],
    });
    assert.equal(most, 4);
  });

  test('with mode any stops the others when the first has completed', async () => {
    const stopped = Promise.withResolvers<void>();
    const agents: Readonly<Record<string, AgentCall>> = {
      quick: () => Promise.resolve({ output: { quick: true } }),
      slow: (_, stop) =>
        new Promise((_resolve, reject) =>
          stop.addEventListener('abort', () => (stopped.resolve(), reject(new Error('stopped')))),
        ),
    };
    const calls = (agent: string) =>
      machineOf({
        states: {
          start: { agent, output_to_context: { got: 'output' }, transitions: next('end') },
          end: end({ got: 'context.got' }),
        },
      });
    const machine = machineOf({
      states: {
        start: {
          mode: 'any',
          machine: ['slow', 'quick'],
          output_to_context: { got: 'output' },
          transitions: next('end'),
        },
        end: end({ got: 'context.got' }),
      },
    });
    assert.deepEqual(await run(machine, {}, { agents, machines: { slow: calls('slow'), quick: calls('quick') } }), {
      got: { quick: { got: { quick: true } } },
    });
    await stopped.promise;
  });

  test('waits for a signal that comes while it waits, and for one that was there', async () => {
    const machine = machineOf({
      states: {
        start: { wait_for: 'go/{{ input.id }}', output_to_context: { got: 'output' }, transitions: next('end') },
        end: end({ got: 'context.got' }),
      },
    });
    const signals = new LocalSignals();
    signals.send('go/1', { early: true });
    assert.deepEqual(await run(machine, { id: 1 }, {}, { signals }), { got: { early: true } });
    const waiting = run(
      machine,
      { id: 2 },
      {},
      {
        signals,
        onStep: (_, command) => void (command?.do === 'wait' && setImmediate(() => signals.send('go/2', 'late'))),
      },
    );
    assert.deepEqual(await waiting, { got: { value: 'late' } });
  });

  test('ends a state that takes too long, and tells on_error', async () => {
    const machine = machineOf({
      states: {
        start: { wait_for: 'never', timeout: 0.01, on_error: { TimeoutError: 'late' }, transitions: next('end') },
        end: end({}),
        late: end({ why: 'context.last_error' }),
      },
    });
    assert.deepEqual(await run(machine, {}), { why: 'it took more than 0.01 s' });
  });

  test('waits for what it launched before it gives its output, and hears of its failure', async () => {
    const order: string[] = [];
    const hooks: readonly MachineHooks[] = [
      {
        onAction: async (...given: unknown[]) => (
          await new Promise((resolve) => setImmediate(resolve)), order.push('child'), given.at(-1)
        ),
      },
    ];
    const machine = machineOf({
      states: {
        start: { launch: ['aside', 'missing'], launch_input: { n: 1 }, transitions: next('end') },
        end: end({ ok: true }),
      },
    });
    const failed: string[] = [];
    const output = await run(
      machine,
      {},
      { hooks, machines: { aside: child('x') } },
      { onLaunchFailed: (name) => failed.push(name) },
    );
    order.push('output');
    assert.deepEqual([output, order, failed], [{ ok: true }, ['child', 'output'], ['missing']]);
  });

  test('fails with the type, the message and the state of the error', async () => {
    const hooks = [{ onAction: () => Promise.reject(new TypeError('not so')) }];
    const machine = machineOf({ states: { start: { action: 'x', transitions: next('end') }, end: end({}) } });
    await assert.rejects(run(machine, {}, { hooks }), (error: unknown) => {
      assert.ok(error instanceof MachineFailed);
      assert.deepEqual([error.type, error.message, error.state], ['TypeError', 'not so', 'start']);
      return true;
    });
    await assert.rejects(run(machine, {}), /for the action x/);
  });

  test('stops when it is told to', async () => {
    const stop = new AbortController();
    const machine = machineOf({ states: { start: { wait_for: 'never', transitions: next('end') }, end: end({}) } });
    const running = run(
      machine,
      {},
      {},
      { stop: stop.signal, onStep: () => void setImmediate(() => stop.abort(new Error('enough'))) },
    );
    await assert.rejects(running, /enough/);
  });
});

describe('a machine that goes round and round', () => {
  const round = machineOf({
    settings: { max_steps: 1e12 },
    states: { start: { transitions: next('start') }, end: end({}) },
  });

  for (const everyStep of [false, true]) {
    test(`is stopped from outside${everyStep ? ', also when each step is told' : ''}`, async () => {
      const stopping = new AbortController();
      setImmediate(() => stopping.abort(new Error('enough')));
      await assert.rejects(run(round, {}, {}, { stop: stopping.signal, everyStep }), /enough/);
    });
  }
});

describe('a machine that starts itself', () => {
  for (const verb of ['launch', 'machine']) {
    test(`by ${verb}, several times over, ends at the bound of machines`, async () => {
      let started = 0;
      const self = machineOf({
        states: { start: { foreach: '{{ range(3) }}', [verb]: 'self', transitions: next('end') }, end: end({}) },
      });
      const machines = { self };
      const options = { maxMachines: 40, childId: () => `self${++started}`, onLaunchFailed: () => {} };
      await run(self, {}, { machines }, options);
      assert.ok(started <= 40 && started > 30, `${started} machines`);
    });
  }

  test('fails the state that would start too many, and starts none of them', async () => {
    const leaf = machineOf({ states: { end: end({}) } });
    const wide = machineOf({
      states: {
        start: { foreach: '{{ range(6) }}', machine: 'leaf', on_error: 'failed', transitions: next('end') },
        end: end({}),
        failed: end({ type: '{{ context.last_error_type }}' }),
      },
    });
    const childId = (): string => assert.fail('none is started');
    assert.deepEqual(await run(wide, {}, { machines: { leaf } }, { maxMachines: 5, childId }), {
      type: 'MaxMachinesExceeded',
    });
  });
});
