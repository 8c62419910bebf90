/** What machines in the wild rely on, in our own words: each was found in a published one, or in what the SDKs take. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Value, ValueMap } from '../expression/values.ts';
import { readMachine } from './read-machine.ts';
import { begin, reduce, start } from './reduce.ts';
import type { Snapshot } from './snapshot.ts';
import { drive, machineOf } from './test-driver.ts';

const next = (to: string, condition?: string): object => (condition === undefined ? { to } : { to, condition });
const end = (output?: object): object => (output === undefined ? { type: 'final' } : { type: 'final', output });
const done = (value: string): object => end({ value });

/** Whatever writes to it, or to what it holds, throws. */
function frozen(snapshot: Snapshot): Snapshot {
  Object.freeze(snapshot.context);
  for (const value of Object.values(snapshot.context)) Object.freeze(value);
  return Object.freeze(snapshot);
}

/** What a condition leads to. */
function chosen(condition: string, context: object): unknown {
  const states = {
    a: { transitions: [next('yes', condition), next('no')] },
    yes: end({ is: true }),
    no: end({ is: false }),
  };
  const { output } = drive(machineOf({ context: { ...context }, states }));
  return (output as { is: boolean }).is;
}

describe('a machine that the original would take', () => {
  const problemsOf = (data: ValueMap, version = '2.0.0'): readonly string[] =>
    readMachine({ spec: 'flatmachine', spec_version: version, data }).problems.map(
      ({ level, path, message }) => `${level} ${path.join('.')}: ${message}`,
    );

  test('may have its bounds beside settings; those in settings win', () => {
    const states = { a: { transitions: [next('a')] } };
    assert.match(drive(machineOf({ max_steps: 3, states })).failed ?? '', /took 3 steps/);
    assert.match(drive(machineOf({ max_steps: 3, settings: { max_steps: '2' }, states })).failed ?? '', /took 2 steps/);
    assert.match(problemsOf({ max_steps: 3, states }).join(), /warning data.max_steps: .* belongs into "settings"/);
  });

  test('may have its expression engine among the settings', () => {
    const states = { a: { transitions: [next('b', 'context.items.exists(i, i > 1)')] }, b: done('b') };
    const { output } = drive(machineOf({ settings: { expression_engine: 'cel' }, context: { items: [1, 2] }, states }));
    assert.deepEqual(output, { value: 'b' });
  });

  test('may leave fields empty: an empty text asks for nothing', () => {
    const empty = { action: '', agent: '', machine: '', launch: [], wait_for: '', foreach: '', key: '', on_error: '' };
    const { commands, output } = drive(
      machineOf({ states: { a: { ...empty, transitions: [next('b')] }, b: done('b') } }),
    );
    assert.deepEqual([commands, output], [[], { value: 'b' }]);
    assert.deepEqual(problemsOf({ states: { a: { machine: [], transitions: [next('b')] }, b: done('b') } }), [
      'warning data.states.a.machine: this list has no machine',
    ]);
  });

  test('may have a transition without a state, which is never taken', () => {
    const { output } = drive(machineOf({ states: { a: { transitions: [{}, next('b')] }, b: done('b') } }));
    assert.deepEqual(output, { value: 'b' });
  });

  test('may end in a state that does the work, and gives what that gave', () => {
    const machine = machineOf({ states: { a: { type: 'final', agent: 'a' } } });
    assert.deepEqual(drive(machine, {}, { agents: { a: () => ({ output: { n: 1 } }) } }).output, { n: 1 });
    assert.deepEqual(drive(machineOf({ states: { a: { type: 'final', action: 'x' } } }), {}, {}).output, {});
    assert.deepEqual(drive(machineOf({ states: { a: end() } })).output, {});
  });

  test('may print what its last agent gave; a state that does nothing has no output of its own', () => {
    const last = { type: 'final', agent: 'a', output: { all: '{{ output }}', n: 'output.n' } };
    const agents = { a: () => ({ output: { n: 1 } }) };
    assert.deepEqual(drive(machineOf({ states: { a: last } }), {}, { agents }).output, { all: { n: 1 }, n: 1 });
    const before = { agent: 'a', transitions: [next('b')] };
    const after = end({ n: 'output.n' });
    assert.deepEqual(drive(machineOf({ states: { a: before, b: after } }), {}, { agents }).output, { n: null });
  });

  test('may give the list of a foreach as JSON, and is told when nothing is done for its items', () => {
    const each = { foreach: '{{ input.list | tojson }}', machine: 'm', input: { n: '{{ item }}' } };
    const states = (foreach: object) => ({
      a: { ...each, ...foreach, output_to_context: { all: 'output' }, transitions: [next('b')] },
      b: end({ all: 'context.all' }),
    });
    const machines = { m: (input: Value) => input };
    const { output } = drive(machineOf({ states: states({}) }), { list: [1, 2] }, { machines });
    assert.deepEqual(output, { all: [{ n: 1 }, { n: 2 }] });
    for (const text of ['[1', '{"a": 1}', 'no list']) {
      const { failed } = drive(machineOf({ states: states({ foreach: text }) }), {}, { machines });
      assert.match(failed ?? '', /^ForeachError: .* not a text/, text);
    }
    assert.match(
      problemsOf({ states: { a: { foreach: 'input.list', transitions: [next('b')] }, b: end() } }).join(),
      /warning data.states.a.foreach: there is nothing to do for each item/,
    );
  });

  test('may name its one machine of a foreach in a list', () => {
    const each = {
      foreach: '{{ [1, 2] }}',
      machine: ['m'],
      input: { n: '{{ item }}' },
      output_to_context: { all: 'output' },
    };
    const machine = machineOf({ states: { a: { ...each, transitions: [next('b')] }, b: end({ all: 'context.all' }) } });
    const { output } = drive(machine, {}, { machines: { m: (input) => input } });
    assert.deepEqual(output, { all: [{ n: 1 }, { n: 2 }] });
  });

  test('is warned that of a machine that is named twice only one result is kept', () => {
    assert.match(
      problemsOf({ states: { a: { machine: ['m', 'm'], transitions: [next('b')] }, b: end() } }).join(),
      /warning data.states.a.machine: "m" is named twice/,
    );
  });

  test('may give a state a session, which the agent is told of', () => {
    const machine = machineOf({
      context: { key: 'k', empty: ' ' },
      states: {
        a: { agent: 'a', session_id: '{{ context.key }}::admin', transitions: [next('b')] },
        b: { agent: 'a', session_id: 'context.empty', transitions: [next('c')] },
        c: end(),
      },
    });
    const sessions = drive(machine).commands.map((command) =>
      command.do === 'agent' ? command.sessionId : command.do,
    );
    assert.deepEqual(sessions, ['k::admin', undefined]);
  });
});

describe('output_to_context', () => {
  test('is applied once to what an action gave, and in a state that only routes', () => {
    const machine = machineOf({
      context: { n: 0 },
      states: {
        a: { output_to_context: { n: '{{ context.n + 1 }}' }, transitions: [next('b')] },
        b: { action: 'x', output_to_context: { n: '{{ context.n + output.by }}' }, transitions: [next('c')] },
        c: {
          action: 'x',
          agent: 'y',
          output_to_context: { n: '{{ context.n + output.more }}' },
          transitions: [next('d')],
        },
        d: end({ n: 'context.n' }),
      },
    });
    const answers = { actions: { x: () => ({ by: 10 }) }, agents: { y: () => ({ output: { more: 100 } }) } };
    assert.deepEqual(drive(machine, {}, answers).output, { n: 111 });
  });
});

describe('conditions of published machines', () => {
  test('may spell and, or and not with signs', () => {
    assert.equal(chosen('context.more == true && context.n < 3', { more: true, n: 2 }), true);
    assert.equal(chosen('context.more == true && context.n < 3', { more: true, n: 3 }), false);
    assert.equal(
      chosen('context.a || context.b && context.c', { a: true, b: true, c: false }),
      true,
      '&& binds tighter',
    );
    assert.equal(chosen('!context.failed and !(context.n > 1)', { failed: false, n: 1 }), true);
    assert.equal(chosen('!context.a == context.b', { a: 1, b: false }), true, 'tighter than a comparison');
  });
});

describe('templates of published machines', () => {
  const rendered = (template: unknown, input: object, version: string): unknown =>
    drive(machineOf({ context: { value: template }, states: { a: end({ value: 'context.value' }) } }, version), input)
      .output;

  test('read `tojson` back before 1.1, as all SDKs did; later it is a text', () => {
    for (const version of ['0.1.0', '0.8.3', '1.0.0']) {
      assert.deepEqual(
        rendered('{{ input.list | tojson }}', { list: [1, 'a'] }, version),
        { value: [1, 'a'] },
        version,
      );
    }
    assert.deepEqual(
      rendered('{{ input.list | dump }}', { list: [1] }, '0.7.3'),
      { value: [1] },
      'as Nunjucks spells it',
    );
    assert.deepEqual(rendered('{{ input.list | tojson }}', { list: [1] }, '1.1.1'), { value: '[1]' });
    assert.deepEqual(rendered('is {{ input.list | tojson }}', { list: [1] }, '0.8.3'), { value: 'is [1]' });
  });

  test('know the time, which the driver tells', () => {
    const machine = machineOf({
      states: {
        a: { output_to_context: { at: '{{ now() }}' }, transitions: [next('b')] },
        b: end({ at: 'context.at' }),
      },
    });
    assert.deepEqual(drive(machine).output, { at: 0 });
  });

  test('may call the methods that Nunjucks has from JavaScript', () => {
    assert.deepEqual(rendered("{{ input.log.concat(['b'], 'c') }}", { log: ['a'] }, '0.4.0'), {
      value: ['a', 'b', 'c'],
    });
    assert.deepEqual(rendered("{{ input.log.includes('a') }}", { log: ['a'] }, '0.4.0'), { value: true });
    assert.deepEqual(rendered('{{ input.name.trim().toUpperCase() }}', { name: ' a ' }, '0.4.0'), { value: 'A' });
    assert.deepEqual(rendered("{{ input.name.startsWith('a') }}", { name: 'ab' }, '0.4.0'), { value: true });
  });
});

describe('conditions of published machines', () => {
  test('may ask for a boolean or null by the word that Python prints for it', () => {
    assert.equal(chosen("context.ok == 'True'", { ok: true }), true);
    assert.equal(chosen("context.ok == 'False'", { ok: true }), false);
    assert.equal(chosen("context.ok != 'None'", { ok: null }), false);
    assert.equal(chosen("context.ok == 'true'", { ok: true }), false);
    assert.equal(chosen("context.n == '42'", { n: 42 }), false, 'a number is no text');
  });

  test('may have a minus in a name; between values it is still a difference', () => {
    assert.equal(chosen('context.first-name == "Ann"', { 'first-name': 'Ann' }), true);
    assert.equal(chosen('context.a.b-c-d == 1', { a: { 'b-c-d': 1 } }), true);
    assert.equal(chosen('context.max-context.used == 2', { max: 5, used: 3 }), true);
    assert.equal(chosen('context.max-1 == 4', { max: 5 }), true);
    assert.equal(chosen('context.max - len(context.list) == 4', { max: 5, list: [1] }), true);
  });

  test('may put a default in the way of nothing, and ask for lists by themselves', () => {
    assert.equal(chosen('(context.count or 0) > 0', {}), false);
    assert.equal(chosen('(context.count or 0) > 0', { count: 2 }), true);
    assert.equal(chosen('context.batch', { batch: [] }), false);
    assert.equal(chosen('context.batch', { batch: [0] }), true);
    assert.equal(chosen("context.iteration >= '3'", { iteration: 3 }), true);
  });
});

describe('what a hook may do with the context', () => {
  const counter = () =>
    machineOf({
      context: { count: 0, gone: 1, list: [] },
      states: {
        a: { action: 'count', transitions: [next('b', 'context.count >= 3'), next('a')] },
        b: end({ count: 'context.count', gone: 'context.gone', list: 'context.list' }),
      },
    });

  test('write to it and give it back, or give nothing: that is the new context', () => {
    type Own = { count: number; gone?: number; list: number[] };
    const write = (context: ValueMap): ValueMap => {
      const own = context as unknown as Own;
      own.count++;
      own.list.push(own.count);
      delete own.gone;
      return context;
    };
    const machine = counter();
    assert.deepEqual(drive(machine, {}, { actions: { count: write } }).output, {
      count: 3,
      gone: null,
      list: [1, 2, 3],
    });
    assert.deepEqual(
      drive(machine, {}, { actions: { count: write } }).output,
      { count: 3, gone: null, list: [1, 2, 3] },
      'what the machine itself holds was not written to',
    );
  });

  test('nobody but the runtime writes to context.machine', () => {
    const machine = machineOf({
      states: { a: { action: 'x', transitions: [next('b')] }, b: end({ step: '{{ context.machine.step }}' }) },
    });
    assert.deepEqual(drive(machine, {}, { actions: { x: () => ({ machine: { step: 99 } }) } }).output, { step: 2 });
    const { commands } = drive(machine, {}, { actions: { x: () => ({}) } });
    assert.ok(commands[0]?.do === 'action' && Object.isFrozen(commands[0].context['machine']));
  });

  test('a machine of the first versions may have a value of its own under that name', () => {
    const states = { a: end({ m: 'context.machine' }) };
    assert.deepEqual(drive(machineOf({ context: { machine: 'mine' }, states }, '1.1.1')).output, { m: 'mine' });
    assert.notDeepEqual(drive(machineOf({ context: { machine: 'mine' }, states }, '2.0.0')).output, { m: 'mine' });
  });
});

describe('a move of the interpreter', () => {
  test('writes to no snapshot that it was given', () => {
    const machine = machineOf({
      context: { n: 0, deep: { n: 0 } },
      states: {
        a: { output_to_context: { n: '{{ context.n + 1 }}' }, transitions: [next('b')] },
        b: { action: 'x', transitions: [next('c')] },
        c: end(),
      },
    });
    const world = { now: 0, hooked: () => false };
    const first = frozen(begin(machine, { executionId: 'run', input: {} }));
    const second = start(machine, first, world);
    const third = reduce(machine, frozen(second.snapshot), { kind: 'acted', value: { n: 9 }, same: false }, world);
    assert.deepEqual([first.context['n'], second.snapshot.context['n'], third.snapshot.context['n']], [0, 1, 9]);
  });

  test('may keep the whole context in the context, as it was then', () => {
    const machine = machineOf({
      context: { n: 0 },
      states: {
        a: {
          output_to_context: { n: 1, all: 'context', list: '{{ [context] }}', m: 2 },
          transitions: [next('b')],
        },
        b: end({ all: '{{ context.all.n }}', nested: '{{ context.list[0].all.n }}', m: 'context.list' }),
      },
    });
    const { output } = drive(machine);
    assert.deepEqual([(output as ValueMap)['all'], (output as ValueMap)['nested']], [1, 1]);
    assert.doesNotThrow(() => JSON.stringify(output), 'nothing holds itself');
  });

  test('sets a key that is named like a property of JavaScript as a key', () => {
    const into = JSON.parse('{"__proto__": {"polluted": 1}, "constructor": "{{ 1 }}"}') as ValueMap;
    const machine = machineOf({
      states: { a: { output_to_context: into, transitions: [next('b')] }, b: end({ keys: '{{ context | list }}' }) },
    });
    assert.deepEqual(drive(machine).output, { keys: ['machine', '__proto__', 'constructor'] });
    assert.equal(({} as ValueMap)['polluted'], undefined);
  });
});

describe('an action for each item', () => {
  test('is done for those that were there when the state began, whatever the action does to the list', () => {
    const machine = machineOf({
      context: { list: [1, 2, 3], seen: [], item: 'kept' },
      states: {
        a: { foreach: '{{ context.list }}', action: 'take', transitions: [next('b')] },
        b: end({ list: 'context.list', seen: 'context.seen', item: 'context.item' }),
      },
    });
    const take = ({ list, seen, item }: ValueMap): ValueMap => ({
      list: (list as number[]).filter((one) => one !== item),
      seen: [...(seen as number[]), item],
    });
    assert.deepEqual(drive(machine, {}, { actions: { take } }).output, { list: [], seen: [1, 2, 3], item: 'kept' });
  });
});

describe('machines within machines', () => {
  test('are bounded by the machine around them', () => {
    const child = machineOf({
      states: { a: { machine: 'm', transitions: [next('b')] }, b: end() },
    });
    const machines = { m: () => ({}) };
    const at = (depth: number, maxDepth: number) => drive(child, {}, { machines }, {}, { depth, maxDepth });
    assert.equal(at(0, 1).failed, undefined);
    assert.match(at(1, 1).failed ?? '', /^MaxDepthExceeded: .*depth 2 > max_depth 1/);
    const none = machineOf({
      settings: { max_depth: 0 },
      states: { a: { launch: 'm', transitions: [next('b')] }, b: end() },
    });
    assert.match(drive(none).failed ?? '', /^MaxDepthExceeded: .*depth 1 > max_depth 0/);
    assert.deepEqual(drive(machineOf({ settings: { max_depth: 0 }, states: { a: end({ x: 1 }) } })).output, { x: 1 });
  });

  test('max_agent_calls ends a machine that asks too often, and on_error may catch it', () => {
    const looping = (more: object) =>
      machineOf({
        settings: { max_agent_calls: 2 },
        states: {
          a: { agent: 'a', ...more, transitions: [next('a')] },
          b: end({ calls: 'context.machine.total_api_calls' }),
        },
      });
    const agents = { a: () => ({ apiCalls: 1 }) };
    assert.match(drive(looping({}), {}, { agents }).failed ?? '', /^MaxAgentCallsExceeded: .* 2 times/);
    assert.deepEqual(drive(looping({ on_error: 'b' }), {}, { agents }).output, { calls: 2 });
  });
});
