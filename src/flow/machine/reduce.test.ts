import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readMachine } from './read-machine.ts';
import { StateError } from './scopes.ts';
import { drive, machineOf } from './test-driver.ts';

const to = (state: string, condition?: string): object =>
  condition === undefined ? { to: state } : { condition, to: state };
const fail = (type: string, message = 'no'): never => {
  throw new StateError(type, message);
};

describe('a machine', () => {
  test('goes from state to state while its conditions say so, and gives what its final state says', () => {
    const machine = machineOf({
      context: { count: 0, limit: '{{ input.limit }}' },
      states: {
        start: { type: 'initial', transitions: [to('count')] },
        count: {
          action: 'add',
          output_to_context: { count: '{{ output.count }}' },
          transitions: [to('count', 'context.count < context.limit'), to('done')],
        },
        done: { type: 'final', output: { count: '{{ context.count }}', said: 'counted {{ context.count }}' } },
      },
    });
    const { output, snapshot } = drive(
      machine,
      { limit: 3 },
      { actions: { add: (c) => ({ count: Number(c['count']) + 1 }) } },
    );
    assert.deepEqual(output, { count: 3, said: 'counted 3' });
    assert.equal(snapshot.step, 5);
  });

  test('starts at the state of type initial, else at start, else at the first', () => {
    const final = (n: number) => ({ type: 'final', output: { n } });
    assert.deepEqual(drive(machineOf({ states: { a: final(1), start: final(2) } })).output, { n: 2 });
    assert.deepEqual(drive(machineOf({ states: { a: final(1), b: final(2) } })).output, { n: 1 });
    const states = { start: final(1), b: { type: 'initial', transitions: [to('c')] }, c: final(3) };
    assert.deepEqual(drive(machineOf({ states })).output, { n: 3 });
  });

  test('writes output_to_context entry by entry, so that a later one sees an earlier one', () => {
    const machine = machineOf({
      states: {
        start: {
          action: 'get',
          output_to_context: { a: '{{ output.n }}', b: '{{ context.a + 1 }}', c: 'output.list' },
          transitions: [to('end')],
        },
        end: { type: 'final', output: { a: 'context.a', b: '{{ context.b }}', c: 'context.c' } },
      },
    });
    assert.deepEqual(drive(machine, {}, { actions: { get: () => ({ n: 1, list: [1] }) } }).output, {
      a: 1,
      b: 2,
      c: [1],
    });
  });

  test('merges what an action gives into the context, unless it gave the context back', () => {
    const machine = machineOf({
      context: { kept: 1 },
      states: {
        start: { action: 'act', transitions: [to('end')] },
        end: { type: 'final', output: { kept: 'context.kept', more: 'context.more' } },
      },
    });
    assert.deepEqual(drive(machine, {}, { actions: { act: () => ({ more: 2 }) } }).output, { kept: 1, more: 2 });
    assert.deepEqual(drive(machine, {}, { actions: { act: (context) => context } }).output, { kept: 1, more: null });
  });

  test('runs action, launch, machine and agent of one state in this order', () => {
    const machine = machineOf({
      states: {
        start: {
          agent: 'ask',
          machine: 'child',
          launch: 'aside',
          action: 'act',
          launch_input: { n: 1 },
          input: { q: 2 },
          transitions: [to('end')],
        },
        end: { type: 'final' },
      },
    });
    const { commands } = drive(
      machine,
      {},
      { actions: { act: () => ({}) }, machines: { child: () => ({}) }, agents: { ask: () => ({}) } },
    );
    assert.deepEqual(
      commands.map((command) => command.do),
      ['action', 'launch', 'invoke', 'agent'],
    );
    assert.deepEqual(commands[1], { do: 'launch', children: [{ machine: 'aside', input: { n: 1 } }] });
  });

  test('knows itself by context.machine', () => {
    const machine = machineOf({ name: 'm', states: { start: { type: 'final', output: { m: 'context.machine' } } } });
    const { output } = drive(machine, {}, {}, { worker_id: 'w1' });
    const { m } = output as { m: Record<string, unknown> };
    assert.deepEqual(
      [m['machine_name'], m['current_state'], m['step'], m['execution_id'], m['worker_id']],
      ['m', 'start', 1, 'run', 'w1'],
    );
  });

  test('whose states ask for nothing is gone through in one move', () => {
    const states = Object.fromEntries(
      Array.from({ length: 900 }, (_, i) => [`s${i}`, { transitions: [to(`s${i + 1}`)] }]),
    );
    const { commands, output } = drive(
      machineOf({ states: { ...states, s900: { type: 'final', output: { ok: true } } } }),
    );
    assert.deepEqual([commands.length, output], [0, { ok: true }]);
  });
});

describe('errors of a machine', () => {
  const withError = (onError: unknown) =>
    machineOf({
      states: {
        start: { action: 'act', ...(onError === undefined ? {} : { on_error: onError }), transitions: [to('end')] },
        end: { type: 'final', output: { ok: true } },
        bad: {
          type: 'final',
          output: { why: 'context.last_error', type: 'context.last_error_type', error: 'context.error' },
        },
        worse: { type: 'final', output: { worse: true } },
      },
    });
  const act = { actions: { act: () => fail('RateLimitError', 'slow down') } };

  test('go where on_error says: one state, by type, or by default', () => {
    const told = { why: 'slow down', type: 'RateLimitError', error: 'slow down' };
    assert.deepEqual(drive(withError('bad'), {}, act).output, told);
    assert.deepEqual(drive(withError({ RateLimitError: 'bad', default: 'worse' }), {}, act).output, told);
    assert.deepEqual(drive(withError({ Other: 'bad', default: 'worse' }), {}, act).output, { worse: true });
  });

  test('go to the hook when on_error names no state, and end the machine when that does not', () => {
    assert.deepEqual(drive(withError({ Other: 'bad' }), {}, { ...act, hooks: { on_error: () => 'worse' } }).output, {
      worse: true,
    });
    assert.equal(
      drive(withError(undefined), {}, { ...act, hooks: { on_error: () => null } }).failed,
      'RateLimitError: slow down',
    );
    assert.equal(drive(withError(undefined), {}, act).failed, 'RateLimitError: slow down');
  });

  test('of templates and conditions are errors of the state', () => {
    const states = (more: object) => ({
      start: { on_error: 'bad', ...more },
      bad: { type: 'final', output: { why: 'context.last_error' } },
    });
    const why = (more: object) => (drive(machineOf({ states: states(more) })).output as { why: string }).why;
    assert.match(
      why({ machine: 'x', input: { a: '{{ 1 / 0 }}' }, transitions: [to('bad')] }),
      /^input: this divides by zero/,
    );
    assert.match(
      why({ transitions: [to('bad', 'nope == 1')] }),
      /^transitions\[0\]\.condition: column 1: there is no name "nope"/,
    );
    assert.match(why({ transitions: [to('bad', 'context.x == 1')] }), /^no transition of "start" matches/);
  });

  test('too many steps end a machine that goes in circles, and on_error may still catch them', () => {
    const circle = (more: object) =>
      machineOf({
        settings: { max_steps: 10 },
        states: { a: { ...more, transitions: [to('a')] }, end: { type: 'final', output: { ok: 1 } } },
      });
    assert.match(drive(circle({})).failed ?? '', /^MaxStepsExceeded/);
    assert.deepEqual(drive(circle({ on_error: 'end' })).output, { ok: 1 });
    assert.match(drive(circle({ on_error: 'a' })).failed ?? '', /^MaxStepsExceeded/);
  });
});

describe('machines within a machine', () => {
  const parent = (state: object) =>
    machineOf({
      context: { items: '{{ input.items }}' },
      states: {
        start: { ...state, output_to_context: { got: 'output' }, transitions: [to('end')] },
        end: { type: 'final', output: { got: 'context.got' } },
        bad: { type: 'final', output: { bad: 'context.last_error' } },
      },
    });
  const machines = {
    double: (input: unknown) => ({ n: Number((input as { n: number }).n) * 2 }),
    broken: () => fail('Broken', 'it broke'),
  };
  const got = (state: object, input: object = {}) => drive(parent(state), input, { machines }).output;

  test('give their output, by name if there are several', () => {
    assert.deepEqual(got({ machine: 'double', input: { n: 2 } }), { got: { n: 4 } });
    assert.deepEqual(got({ machine: ['double', { name: 'broken' }], input: { n: 3 } }), {
      got: { double: { n: 6 }, broken: { _error: 'it broke', _error_type: 'Broken' } },
    });
    assert.deepEqual(got({ machine: [{ name: 'double', input: { n: 5 } }], input: { n: 3 } }), {
      got: { double: { n: 10 } },
    });
  });

  test('fail the state when there is one, or when it asks for that', () => {
    assert.deepEqual(got({ machine: 'broken', on_error: 'bad' }), { bad: 'it broke' });
    assert.deepEqual(got({ machine: ['double', 'broken'], on_child_error: 'fail', on_error: 'bad', input: { n: 1 } }), {
      bad: 'it broke',
    });
  });

  test('run for each item, with results in their order or by key', () => {
    const items = {
      items: [
        { n: 1, k: 'a' },
        { n: 2, k: 'b' },
      ],
    };
    const each = { foreach: '{{ context.items }}', machine: 'double', input: { n: '{{ item.n }}' } };
    assert.deepEqual(got(each, items), { got: [{ n: 2 }, { n: 4 }] });
    assert.deepEqual(got({ ...each, as: 'x', input: { n: '{{ x.n }}' }, key: '{{ x.k }}' }, items), {
      got: { a: { n: 2 }, b: { n: 4 } },
    });
    assert.deepEqual(got(each, { items: [] }), { got: [] });
    assert.deepEqual(got({ ...each, key: 'same', on_error: 'bad' }, items), { bad: 'two items have the key "same"' });
    assert.deepEqual(got({ ...each, on_error: 'bad' }, { items: 3 }), { bad: 'foreach gives a list, not a number' });
  });

  test('with mode any give the first that completes', () => {
    assert.deepEqual(got({ mode: 'any', machine: ['broken', 'double'], input: { n: 1 } }), {
      got: { double: { n: 2 } },
    });
    assert.deepEqual(got({ mode: 'any', machine: ['broken'], on_error: 'bad' }), { bad: 'it broke' });
  });

  test('are launched for each item, and acted for each item', () => {
    const launching = drive(parent({ foreach: '{{ range(2) }}', launch: 'w', launch_input: { n: '{{ item }}' } }));
    assert.deepEqual(launching.commands[0], {
      do: 'launch',
      children: [
        { machine: 'w', input: { n: 0 } },
        { machine: 'w', input: { n: 1 } },
      ],
    });
    const seen: unknown[] = [];
    const acting = drive(
      parent({ foreach: '{{ context.items }}', as: 'one', action: 'note' }),
      { items: [1, 2] },
      {
        actions: { note: (context) => (seen.push(context['one']), { last: context['one'] }) },
      },
    );
    assert.deepEqual(
      [seen, acting.output, acting.snapshot.context['one']],
      [[1, 2], { got: [{ last: 1 }, { last: 2 }] }, undefined],
    );
  });

  test('are nested only so deep', () => {
    const machine = machineOf({
      settings: { max_depth: 1 },
      states: { start: { machine: 'double', transitions: [to('end')] }, end: { type: 'final' } },
    });
    assert.equal(drive(machine, {}, { machines }).failed, undefined);
  });
});

describe('waits, agents and hooks', () => {
  test('a wait gives its signal, and nothing else of the state runs', () => {
    const machine = machineOf({
      context: { id: 7 },
      states: {
        start: {
          wait_for: 'approval/{{ context.id }}',
          action: 'never',
          timeout: 5,
          output_to_context: { ok: '{{ output.ok }}' },
          on_error: 'late',
          transitions: [to('end')],
        },
        end: { type: 'final', output: { ok: 'context.ok' } },
        late: { type: 'final', output: { late: true } },
      },
    });
    const { output, commands } = drive(machine, {}, { signals: { 'approval/7': { ok: true } } });
    assert.deepEqual(output, { ok: true });
    assert.deepEqual(commands, [{ do: 'wait', channel: 'approval/7', timeoutMs: 5000 }]);
    assert.deepEqual(drive(machine).output, { late: true });
  });

  test('an agent gives its output, or its text, and what it cost is added up', () => {
    const machine = machineOf({
      states: {
        start: {
          agent: 'a',
          input: { q: '{{ input.q }}' },
          output_to_context: { got: 'output' },
          transitions: [to('b')],
        },
        b: { agent: 'b', output_to_context: { text: '{{ output.content }}' }, transitions: [to('end')] },
        end: { type: 'final', output: { got: 'context.got', text: 'context.text' } },
      },
    });
    const { output, snapshot } = drive(
      machine,
      { q: 'why' },
      {
        agents: {
          a: (input) => ({ output: { echo: input }, cost: 0.5, apiCalls: 2 }),
          b: () => ({ content: 'hi', cost: 0.25, apiCalls: 1 }),
        },
      },
    );
    assert.deepEqual(output, { got: { echo: { q: 'why' } }, text: 'hi' });
    assert.deepEqual([snapshot.totalApiCalls, snapshot.totalCost], [3, 0.75]);
  });

  test('hooks see each step, and may change context, output and way', () => {
    const machine = machineOf({
      states: {
        start: { transitions: [to('a')] },
        a: { type: 'final', output: { from: 'a' } },
        b: { type: 'final', output: { from: 'b', seen: 'context.seen' } },
      },
    });
    const { output, commands } = drive(
      machine,
      {},
      {
        hooks: {
          on_machine_start: () => ({ seen: 'yes' }),
          on_state_enter: (command) => ('context' in command ? command.context : {}),
          on_state_exit: (command) => ('output' in command ? command.output : null),
          on_transition: () => 'b',
          on_machine_end: (command) => ('output' in command ? { ...(command.output as object), end: true } : null),
        },
      },
    );
    assert.deepEqual(output, { from: 'b', seen: 'yes', end: true });
    assert.deepEqual(
      commands.map((command) => (command.do === 'hook' ? command.hook : command.do)),
      [
        'on_machine_start',
        'on_state_enter',
        'on_state_exit',
        'on_transition',
        'on_state_enter',
        'on_state_exit',
        'on_machine_end',
      ],
    );
  });
});

describe('a file that is not a machine', () => {
  const problemsOf = (value: unknown, strict = false): readonly string[] =>
    readMachine(value, { strict }).problems.map(({ level, path, message }) => `${level} ${path.join('.')}: ${message}`);

  test('is told all that is wrong with it', () => {
    assert.deepEqual(problemsOf([]), ['error : a machine is a map, not a list']);
    assert.match(problemsOf({ spec: 'x' }).join('\n'), /error spec: .*flatmachine/);
    const found = problemsOf({
      spec: 'flatmachine',
      spec_version: '9.0',
      extra: 1,
      data: {
        expression_engine: 'js',
        states: {
          a: {
            type: 'initial',
            transitions: [{ to: 'nowhere', condition: '1 +' }, {}],
            on_error: { X: 'gone' },
            wat: 1,
          },
          b: { type: 'initial', input: { x: '{{ 1 +' }, machine: [] },
        },
      },
    }).join('\n');
    for (const part of [
      /warning spec_version: version 9.0 is newer/,
      /warning extra: there is no field "extra"/,
      /warning data.expression_engine: expected simple or cel/,
      /error data.states.a.transitions.0.condition: column 4: expected a value/,
      /warning data.states.a.transitions.1: a transition has the name of a state/,
      /warning data.states.a.wat: there is no field "wat"/,
      /error data.states.b.input.x: /,
      /warning data.states.b.machine: this list has no machine/,
      /error data.states.b.type: there are two initial states: a, b/,
      /error data.states.a.transitions.0.to: there is no state "nowhere"/,
      /error data.states.a.on_error.X: there is no state "gone"/,
      /warning data.states.b: "b" leads nowhere/,
    ]) {
      assert.match(found, part);
    }
  });

  test('runs with warnings, unless it is read strictly', () => {
    const value = { spec: 'flatmachine', data: { states: { a: { type: 'final', odd: 1 } } } };
    assert.notEqual(readMachine(value).machine, undefined);
    assert.equal(readMachine(value, { strict: true }).machine, undefined);
  });
});
