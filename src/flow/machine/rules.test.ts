/**
 * The points where the published SDKs disagree, each as it is decided here; what the machines of document 000 need beyond them; and runs that
 * go on from a snapshot.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Value, ValueMap } from '../expression/values.ts';
import type { MachineEvent } from './commands.ts';
import { begin, type MachineWorld, type Reduced, reduce, start } from './reduce.ts';
import { StateError } from './scopes.ts';
import type { Snapshot } from './snapshot.ts';
import { type Answers, drive, machineOf } from './test-driver.ts';

const next = (to: string): object[] => [{ to }];
const end = (output: object = {}): object => ({ type: 'final', output });
const broken = (): never => {
  throw new StateError('Broken', 'it broke');
};
const machines = { ok: (input: Value) => input, broken };

function got(
  state: object,
  { input = {}, ...answers }: Answers & { input?: ValueMap; hooks?: Answers['hooks'] } = {},
): Value {
  const machine = machineOf({
    context: { kept: 'yes', list: [1, 2], self: '{{ input.self }}' },
    states: {
      a: { ...state, transitions: next('b') },
      b: end({ got: 'context.got', kept: 'context.kept', x: 'context.x' }),
      bad: end({ why: 'context.last_error', type: 'context.last_error_type' }),
    },
  });
  const { output, failed } = drive(machine, input, { machines, ...answers });
  return failed ?? output;
}

describe('where the SDKs disagree', () => {
  test('1: what an action gives is its output, is merged into the context, and output_to_context applies', () => {
    assert.deepEqual(
      got({ action: 'a', output_to_context: { got: '{{ output.x + 1 }}' } }, { actions: { a: () => ({ x: 1 }) } }),
      {
        got: 2,
        kept: 'yes',
        x: 1,
      },
    );
  });

  test('2: settled gives the error of a child as its result', () => {
    assert.deepEqual(got({ machine: ['ok', 'broken'], input: { n: 1 }, output_to_context: { got: 'output' } }), {
      got: { ok: { n: 1 }, broken: { _error: 'it broke', _error_type: 'Broken' } },
      kept: 'yes',
      x: null,
    });
  });

  test('3: any gives the first that completes, and fails only if all do', () => {
    const any = { mode: 'any', output_to_context: { got: 'output' }, on_error: 'bad' };
    assert.deepEqual(got({ ...any, machine: ['broken', 'ok'], input: { n: 1 } }), {
      got: { ok: { n: 1 } },
      kept: 'yes',
      x: null,
    });
    assert.deepEqual(got({ ...any, machine: ['broken'] }), { why: 'it broke', type: 'Broken' });
  });

  test('4: the templates of a foreach see context, input and item', () => {
    const each = {
      foreach: 'context.list',
      machine: 'ok',
      input: { all: '{{ context.kept }} {{ input.i }} {{ item }}' },
    };
    assert.deepEqual(got({ ...each, output_to_context: { got: 'output' } }, { input: { i: 'in' } }), {
      got: [{ all: 'yes in 1' }, { all: 'yes in 2' }],
      kept: 'yes',
      x: null,
    });
  });

  test('5: a foreach of what is no list is an error', () => {
    assert.deepEqual(got({ foreach: 'context.kept', machine: 'ok', on_error: 'bad' }), {
      why: 'foreach gives a list, not a text',
      type: 'ForeachError',
    });
  });

  test('6: two items with one key are an error that names it', () => {
    assert.deepEqual(got({ foreach: 'context.list', key: 'k', machine: 'ok', on_error: 'bad' }), {
      why: 'two items have the key "k"',
      type: 'DuplicateKey',
    });
  });

  test('7: no transition that matches is an error that names the state', () => {
    const machine = machineOf({ states: { lost: { transitions: [{ to: 'lost', condition: 'context.no' }] } } });
    assert.match(drive(machine).failed ?? '', /no transition of "lost" matches/);
  });

  test('8: 1,000 steps unless settings say otherwise, then an error that on_error can catch', () => {
    const looping = (settings: object, onError: object = {}) =>
      machineOf({ settings, states: { a: { ...onError, transitions: next('a') }, b: end({ caught: true }) } });
    assert.match(drive(looping({})).failed ?? '', /MaxStepsExceeded: the machine took 1000 steps/);
    assert.match(drive(looping({ max_steps: 7 })).failed ?? '', /took 7 steps/);
    assert.deepEqual(drive(looping({ max_steps: 7 }, { on_error: { MaxStepsExceeded: 'b' } })).output, {
      caught: true,
    });
  });

  test('9: on_error of the state comes before the hook', () => {
    const asked: string[] = [];
    const hooks = { on_error: () => (asked.push('hook'), 'b') };
    assert.deepEqual(got({ machine: 'broken', on_error: 'bad' }, { hooks }), { why: 'it broke', type: 'Broken' });
    assert.deepEqual(asked, []);
    assert.deepEqual(got({ machine: 'broken', on_error: { Other: 'bad' } }, { hooks }), {
      got: null,
      kept: 'yes',
      x: null,
    });
    assert.deepEqual(asked, ['hook']);
  });

  test('10: input stays the input of the run in every state', () => {
    assert.deepEqual(
      got(
        { machine: 'ok', input: { n: '{{ input.kept }}' }, output_to_context: { got: 'output.n' } },
        { input: { kept: 'in' } },
      ),
      {
        got: 'in',
        kept: 'yes',
        x: null,
      },
    );
  });

  test('11: a timeout bounds action, agent, machine and wait', () => {
    const machine = machineOf({
      states: Object.fromEntries(
        ['action', 'agent', 'machine', 'wait_for']
          .map((kind, i) => [`s${i}`, { [kind]: 'x', timeout: i + 1, transitions: next(`s${i + 1}`) }])
          .concat([['s4', end() as never]]),
      ),
    });
    const answers = {
      actions: { x: () => ({}) },
      agents: { x: () => ({}) },
      machines: { x: () => ({}) },
      signals: { x: {} },
    };
    assert.deepEqual(
      drive(machine, {}, answers).commands.map((command) => ('timeoutMs' in command ? command.timeoutMs : 0)),
      [1000, 2000, 3000, 4000],
    );
  });

  test('12: the input of one machine of a list is merged over that of the state', () => {
    const machine = ['ok', { name: 'other', input: { b: 3 } }];
    const own = { ...machines, other: (input: Value) => input };
    assert.deepEqual(got({ machine, input: { a: 1, b: 2 }, output_to_context: { got: 'output' } }, { machines: own }), {
      got: { ok: { a: 1, b: 2 }, other: { a: 1, b: 3 } },
      kept: 'yes',
      x: null,
    });
  });
});

describe('what document 000 needs beyond the published interpreters', () => {
  test('1: foreach with launch, whose input sees the item', () => {
    const machine = machineOf({
      states: {
        a: { foreach: '{{ range(2) }}', launch: 'w', launch_input: { n: '{{ item }}' }, transitions: next('b') },
        b: end(),
      },
    });
    assert.deepEqual(drive(machine).commands, [
      {
        do: 'launch',
        children: [
          { machine: 'w', input: { n: 0 } },
          { machine: 'w', input: { n: 1 } },
        ],
      },
    ]);
  });

  test('2: foreach with action, which sees the item in the context', () => {
    const seen: Value[] = [];
    got(
      { foreach: 'context.list', as: 'worker', action: 'reap' },
      { actions: { reap: (context) => (seen.push(context['worker']), {}) } },
    );
    assert.deepEqual(seen, [1, 2]);
  });

  test('3: output_to_context on an action', () => {
    assert.deepEqual(
      (
        got(
          { action: 'a', output_to_context: { got: '{{ output.job }}' } },
          { actions: { a: () => ({ job: 7 }) } },
        ) as ValueMap
      )['got'],
      7,
    );
  });

  test('4: range is a list, and a lone template keeps its type', () => {
    const machine = machineOf({
      context: { r: '{{ range(3) }}', n: '{{ input.n }}' },
      states: { a: end({ r: 'context.r', n: '{{ context.n }}' }) },
    });
    assert.deepEqual(drive(machine, { n: 4 }).output, { r: [0, 1, 2], n: 4 });
  });

  test('5: a filter within a condition', () => {
    const machine = machineOf({
      context: { list: [] },
      states: {
        a: { transitions: [{ condition: 'context.list | length == 0', to: 'b' }, { to: 'a' }] },
        b: end({ ok: true }),
      },
    });
    assert.deepEqual(drive(machine).output, { ok: true });
  });

  test('6: the id of the worker is in the context', () => {
    const machine = machineOf(
      {
        settings: { heartbeat_interval: 30 },
        states: { a: end({ w: '{{ context.machine.worker_id }}', own: 'context.worker_id' }) },
      },
      '0.8.3',
    );
    assert.deepEqual(drive(machine, {}, {}, { worker_id: 'w1' }).output, { w: 'w1', own: 'w1' });
    const named = machineOf({
      settings: { worker_pool: 'p' },
      context: { worker_id: 'mine' },
      states: { a: end({ own: 'context.worker_id' }) },
    });
    assert.deepEqual(drive(named, {}, {}, { worker_id: 'w1' }).output, { own: 'mine' });
  });

  test('7: machines that the file does not bring are asked for by name', () => {
    assert.deepEqual((got({ machine: 'ok', output_to_context: { got: 'output' } }) as ValueMap)['got'], {});
  });

  test('8: the message of an error is in last_error and in error', () => {
    const machine = machineOf({
      states: {
        a: { machine: 'broken', on_error: 'b', transitions: next('b') },
        b: end({ a: 'context.last_error', b: 'context.error', t: 'context.last_error_type' }),
      },
    });
    assert.deepEqual(drive(machine, {}, { machines }).output, { a: 'it broke', b: 'it broke', t: 'Broken' });
  });

  test('9: null in a condition', () => {
    const machine = machineOf({
      context: { job: null },
      states: {
        a: { transitions: [{ condition: 'context.job == null', to: 'b' }, { to: 'a' }] },
        b: end({ none: true }),
      },
    });
    assert.deepEqual(drive(machine).output, { none: true });
  });
});

describe('a run that goes on from a snapshot', () => {
  const counting = machineOf({
    context: { count: 0 },
    states: Object.fromEntries([
      ...[1, 2, 3, 4].map((i) => [`s${i}`, { action: 'count', transitions: next(i === 4 ? 'end' : `s${i + 1}`) }]),
      ['end', end({ count: 'context.count' })],
    ]),
  });
  const world: MachineWorld = { now: 0, hooked: () => true };
  const answer = ({ command }: Reduced): MachineEvent => {
    assert.ok(command !== undefined);
    if (command.do === 'action')
      return { kind: 'acted', value: { count: Number(command.context['count']) + 1 }, same: false };
    assert.ok(command.do === 'hook');
    if (command.hook === 'on_transition') return { kind: 'answer', value: command.to };
    return { kind: 'answer', value: 'output' in command ? command.output : command.context };
  };
  const stored = (snapshot: Snapshot): Snapshot => JSON.parse(JSON.stringify(snapshot)) as Snapshot;

  test('crashes in its third state, is resumed there, and counts the same', () => {
    let reduced = start(counting, begin(counting, { executionId: 'run', input: {} }), world);
    while (!(reduced.command?.do === 'action' && reduced.snapshot.state === 's3')) {
      reduced = reduce(counting, reduced.snapshot, answer(reduced), world);
    }
    let resumed = start(counting, stored(reduced.snapshot), world);
    assert.deepEqual(resumed.command, reduced.command, 'the same is asked again, and nothing before it');
    while (resumed.command !== undefined) resumed = reduce(counting, resumed.snapshot, answer(resumed), world);
    assert.deepEqual(resumed.snapshot.end, { kind: 'completed', output: { count: 4 } });
    assert.equal(resumed.snapshot.step, 5);
  });

  test('ends the same wherever it was stopped, and asks for nothing twice but what was unanswered', () => {
    const undisturbed: string[] = [];
    let reduced = start(counting, begin(counting, { executionId: 'run', input: {} }), world);
    while (reduced.command !== undefined) {
      undisturbed.push(JSON.stringify(reduced.command));
      const again = start(counting, stored(reduced.snapshot), world);
      assert.equal(JSON.stringify(again.command), undisturbed.at(-1));
      assert.equal(again.snapshot.step, reduced.snapshot.step);
      reduced = reduce(counting, stored(again.snapshot), answer(again), world);
    }
    assert.deepEqual(reduced.snapshot.end, { kind: 'completed', output: { count: 4 } });
    assert.equal(undisturbed.length, 1 + 4 * 4 + 2 + 1);
  });

  test('that has ended gives its output, and runs nothing', () => {
    const { snapshot } = drive(machineOf({ states: { a: end({ x: 1 }) } }));
    assert.deepEqual(start(counting, stored(snapshot), world).command, undefined);
  });

  test('asks the hook for a way out of an error once more', () => {
    const machine = machineOf({ states: { a: { action: 'x', transitions: next('b') }, b: end({ ok: true }) } });
    const asking: MachineWorld = { now: 0, hooked: (hook) => hook === 'on_error' };
    const begun = start(machine, begin(machine, { executionId: 'run', input: {} }), asking);
    const failed = reduce(machine, begun.snapshot, { kind: 'failed', type: 'E', message: 'm' }, asking);
    const resumed = start(machine, stored(failed.snapshot), asking);
    assert.deepEqual(resumed.command, failed.command);
    assert.deepEqual(reduce(machine, resumed.snapshot, { kind: 'answer', value: 'b' }, asking).snapshot.end, {
      kind: 'completed',
      output: { ok: true },
    });
  });
});
