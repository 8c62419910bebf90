/**
 * The cases of the published suites that a driver without a store can show, and `origins.md` A.3 8, 10, 11 and 13.
 *
 * Elsewhere: what is written down of a run (`persistence/*.test.ts`: resume, `checkpoint_on`, locks, lists, clones, pruning, keys, signals across
 * processes, dispatch, triggers, results by address, real crashes); resume by the interpreter (`flow/machine/rules.test.ts`); hooks (`hooks.test.ts`,
 * `webhook-hooks.test.ts`); agents, retry and tool loops (beside the agents); the grammar in full (`flow/expression/condition.test.ts`); pools
 * (`compat/flatmachines/work-backend.test.ts`, and the suites of the stores, where processes compete).
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { realWorld } from '../../app/world.ts';
import type { Machine } from '../../flow/machine/definition.ts';
import type { Snapshot } from '../../flow/machine/snapshot.ts';
import { machineOf } from '../../flow/machine/test-driver.ts';
import { HookChain } from './hook-chain.ts';
import { type InlineOptions, type RunnableMachine, runInline } from './inline-driver.ts';
import type { MachineHooks } from './machine-hooks.ts';
import { LocalSignals } from './signals.ts';

const world = realWorld();
const next = (to: string, condition?: string): object => (condition === undefined ? { to } : { to, condition });
const end = (output: object = {}): object => ({ type: 'final', output });
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Place extends Partial<InlineOptions> {
  readonly hooks?: readonly MachineHooks[];
  readonly machines?: Readonly<Record<string, Machine>>;
  readonly id?: string;
  readonly input?: object;
  readonly from?: Snapshot;
}

let ids = 0;
function run(machine: Machine, { hooks = [], machines = {}, id = 'run', input = {}, from, ...options }: Place = {}) {
  const runnable = (one: Machine): RunnableMachine => ({
    machine: one,
    hooks: new HookChain(hooks, one.specVersion),
    peer: async (name) => runnable(machines[name] ?? assert.fail(name)),
    agent: () => assert.fail('there are no agents'),
  });
  return runInline(
    runnable(machine),
    { executionId: id, input, stop: new AbortController().signal, ...(from === undefined ? {} : { from }) },
    { world, signals: new LocalSignals(), childId: () => `child${++ids}`, ...options },
  );
}

const counter = machineOf({
  context: { count: 0, id: 'context.machine.execution_id' },
  states: {
    up: {
      action: 'up',
      output_to_context: { id: 'context.machine.execution_id' },
      transitions: [next('end', 'context.count >= 3'), next('up')],
    },
    end: end({ count: 'context.count', id: 'context.id' }),
  },
});
const up: MachineHooks = {
  onAction: (...given: readonly unknown[]) => {
    const context = given.at(-1) as { count: number };
    context.count++;
    return context;
  },
};

describe('flow', () => {
  test('a counter machine runs to its end', async () =>
    assert.deepEqual(await run(counter, { hooks: [up] }), { count: 3, id: 'run' }));

  test('runs of different ids know nothing of each other', async () => {
    const both = ['a', 'b'].map((id) => run(counter, { hooks: [up], id }));
    assert.deepEqual(await Promise.all(both), [
      { count: 3, id: 'a' },
      { count: 3, id: 'b' },
    ]);
  });

  test('one that crashed is resumed in the state where it was, and counts the same', async () => {
    let last: Snapshot | undefined;
    let calls = 0;
    const crash: MachineHooks = {
      onAction: (first: string, ...others: never[]) =>
        ++calls === 3 ? assert.fail('crash') : up.onAction?.(first, ...others),
    };
    const onStep = (snapshot: Snapshot): void =>
      void (last = snapshot.phase === 'acted?' ? structuredClone(snapshot) : last);
    await assert.rejects(run(counter, { hooks: [crash], onStep }), /crash/);
    assert.ok(last !== undefined);
    assert.deepEqual(await run(counter, { hooks: [up], from: last }), { count: 3, id: 'run' });
  });

  test('one that has ended is resumed with its output, and no hook runs', async () => {
    let last: Snapshot | undefined;
    await run(counter, { hooks: [up], onStep: (snapshot) => void (last = snapshot) });
    assert.ok(last !== undefined);
    const silent: MachineHooks = { onAction: () => assert.fail('again'), onMachineEnd: () => assert.fail('again') };
    assert.deepEqual(await run(counter, { hooks: [silent], from: last }), { count: 3, id: 'run' });
  });
});

describe('machines side by side', () => {
  const child = machineOf({
    context: { n: '{{ input.n }}' },
    states: { a: { action: 'work', transitions: [next('b')] }, b: end({ n: 'context.n' }) },
  });
  /** The later they begin, the earlier they end. */
  const backwards = (count: number): MachineHooks => {
    let left = count;
    const waiting: (() => void)[] = [];
    return {
      onAction: async (...given: readonly unknown[]) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        waiting.push(resolve);
        if (--left === 0) for (const go of waiting.toReversed()) go();
        await promise;
        return given.at(-1);
      },
    };
  };
  const each = (more: object) =>
    machineOf({
      states: {
        a: {
          foreach: '{{ range(3) }}',
          machine: 'child',
          input: { n: '{{ item }}' },
          ...more,
          output_to_context: { all: 'output' },
          transitions: [next('b')],
        },
        b: end({ all: 'context.all' }),
      },
    });

  test('results of a list are in the order of the items, although they end in another', async () => {
    const output = await run(each({}), { hooks: [backwards(3)], machines: { child } });
    assert.deepEqual(output, { all: [{ n: 0 }, { n: 1 }, { n: 2 }] });
  });

  test('results with keys are by their keys', async () => {
    const output = await run(each({ key: 'k{{ item }}' }), { hooks: [backwards(3)], machines: { child } });
    assert.deepEqual(output, { all: { k0: { n: 0 }, k1: { n: 1 }, k2: { n: 2 } } });
  });

  test('three machines are by their names', async () => {
    const machine = machineOf({
      states: {
        a: {
          machine: ['x', 'y', 'z'],
          input: { n: 1 },
          output_to_context: { all: 'output' },
          transitions: [next('b')],
        },
        b: end({ all: 'context.all' }),
      },
    });
    const output = await run(machine, { hooks: [backwards(3)], machines: { x: child, y: child, z: child } });
    assert.deepEqual(output, { all: { x: { n: 1 }, y: { n: 1 }, z: { n: 1 } } });
  });

  test('no items give an empty list at once', async () =>
    assert.deepEqual(await run(each({ foreach: '{{ [] }}' })), { all: [] }));

  test('children are bounded in depth by the machine at the top', async () => {
    const self = machineOf({
      settings: { max_depth: 2 },
      states: { a: { machine: 'self', transitions: [next('b')] }, b: end() },
    });
    await assert.rejects(run(self, { machines: { self } }), /depth 3 > max_depth 2/);
    const bare = machineOf({ states: { a: { machine: 'leaf', transitions: [next('b')] }, b: end() } });
    const top = machineOf({
      settings: { max_depth: 1 },
      states: { a: { machine: 'bare', transitions: [next('b')] }, b: end() },
    });
    await assert.rejects(run(top, { machines: { bare, leaf: bare } }), /depth 2 > max_depth 1/);
  });

  test('one that takes too long is a TimeoutError of the state', async () => {
    const slow = machineOf({ states: { a: { wait_for: 'never', transitions: [next('b')] }, b: end() } });
    const machine = machineOf({
      states: {
        a: { machine: 'slow', timeout: 0.01, on_error: { TimeoutError: 'late' }, transitions: [next('b')] },
        b: end(),
        late: end({ late: true }),
      },
    });
    assert.deepEqual(await run(machine, { machines: { slow } }), { late: true });
  });
});

describe('signals', () => {
  const approval = machineOf({
    states: {
      a: {
        wait_for: 'approval/{{ input.id }}',
        output_to_context: { ok: '{{ output.ok }}' },
        transitions: [next('yes', 'context.ok'), next('no')],
      },
      yes: end({ approved: true }),
      no: end({ approved: false }),
    },
  });

  test('one that was there before skips the pause; both branches are taken', async () => {
    const signals = new LocalSignals();
    signals.send('approval/1', { ok: true });
    signals.send('approval/2', { ok: false });
    assert.deepEqual(await run(approval, { signals, input: { id: 1 } }), { approved: true });
    assert.deepEqual(await run(approval, { signals, input: { id: 2 } }), { approved: false });
  });

  test('one wakes all that wait for its channel', async () => {
    const signals = new LocalSignals();
    const all = Array.from({ length: 5 }, () => run(approval, { signals, input: { id: 1 } }));
    await turn();
    signals.send('approval/1', { ok: true });
    assert.deepEqual(await Promise.all(all), Array(5).fill({ approved: true }));
  });

  test('one that nobody waits for is kept; the first comes first, and each is taken once', async () => {
    const signals = new LocalSignals();
    const never = new AbortController().signal;
    signals.send('c', 1);
    signals.send('c', 2);
    signals.send('other', 3);
    assert.deepEqual(await Promise.all([1, 2].map(() => signals.next('c', never))), [{ data: 1 }, { data: 2 }]);
    assert.deepEqual(await signals.next('other', never), { data: 3 });
  });

  test('data that is no map is its value', async () => {
    const machine = machineOf({
      states: {
        a: { wait_for: 'c', output_to_context: { v: 'output.value' }, transitions: [next('b')] },
        b: end({ v: 'context.v' }),
      },
    });
    const signals = new LocalSignals();
    signals.send('c', 'text');
    assert.deepEqual(await run(machine, { signals }), { v: 'text' });
  });
});

describe('paths, templates and conditions', () => {
  const said = async (template: unknown, input: object): Promise<unknown> => {
    const machine = machineOf({ context: { v: template }, states: { a: end({ v: 'context.v' }) } });
    return ((await run(machine, { input })) as { v: unknown }).v;
  };
  const input = { list: [1, { a: 2 }], map: { k: true }, no: null, yes: true, n: 3, text: 'x' };
  const cases: readonly (readonly [string, unknown])[] = [
    ['input.list', input.list],
    ['input.map', input.map],
    ['input.yes', true],
    ['input.no', null],
    ['  input.n  ', 3],
    ['input.gone.deeper', null],
    ['{{ input.n }}', 3],
    ['{{ input.list }}', input.list],
    ['n is {{ input.n }}', 'n is 3'],
    ['{{ input.text }}{{ input.n }}', 'x3'],
    ['is {{ input.list }}', 'is [1, {"a": 2}]'],
    ['inputs.n', 'inputs.n'],
    ['plain', 'plain'],
  ];
  for (const [template, expected] of cases) {
    test(JSON.stringify(template), async () => assert.deepEqual(await said(template, input), expected));
  }

  const holds = async (condition: string): Promise<unknown> => {
    const machine = machineOf({
      context: { t: true, f: false, n: 1 },
      states: { a: { transitions: [next('y', condition), next('n')] }, y: end({ y: true }), n: end({ y: false }) },
    });
    return ((await run(machine)) as { y: boolean }).y;
  };
  const grammar: readonly (readonly [string, boolean])[] = [
    ['context.t or context.f and context.f', true],
    ['not context.f and context.t', true],
    ['not (context.t and context.f)', true],
    ['((context.n == 1 or context.f) and context.t)', true],
    ['context.gone == null', true],
    ['context.gone.deeper', false],
    ['context.gone > 1', false],
    ['0 < context.n < 2', true],
    ['', true],
  ];
  for (const [condition, expected] of grammar) {
    test(`condition ${JSON.stringify(condition)}`, async () => assert.equal(await holds(condition), expected));
  }
  for (const condition of ['context.n > )', '(context.n > 1', 'context.n > 1)', 'context.n 1', 'context..n', 'and']) {
    test(`condition ${condition} is refused when it is read`, () =>
      assert.throws(() => machineOf({ states: { a: { transitions: [next('a', condition)] } } }), /column/));
  }
});
