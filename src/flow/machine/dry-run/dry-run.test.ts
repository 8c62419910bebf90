import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ValueMap } from '../../expression/values.ts';
import { readMachine } from '../read-machine.ts';
import { type DryPeer, type DryRun, dryRun } from './dry-run.ts';

function peerOf(data: ValueMap): DryPeer {
  const raw = { spec: 'flatmachine', spec_version: '4.2.1', data };
  const { machine, problems } = readMachine(raw);
  if (machine === undefined) throw new Error(JSON.stringify(problems));
  return { machine, raw };
}

async function dry(
  data: ValueMap,
  input: ValueMap = {},
  peers: Readonly<Record<string, ValueMap>> = {},
): Promise<DryRun> {
  return dryRun(peerOf(data), input, {
    now: 0,
    peer: (_of, name) => Promise.resolve(peers[name] === undefined ? undefined : peerOf(peers[name])),
  });
}

const names = ({ steps }: DryRun): readonly string[] =>
  steps.map(({ state, certain }) => `${state}${certain ? '' : '?'}`);
const end = { type: 'final', output: {} };

describe('a dry run', () => {
  test('decides transitions by the input and by what it makes of the context', async () => {
    const machine = {
      context: { n: '{{ input.n * 2 }}' },
      states: {
        start: { transitions: [{ condition: 'context.n > 5', to: 'many' }, { to: 'few' }] },
        many: { type: 'final', output: { n: '{{ context.n }}' } },
        few: end,
      },
    };
    const run = await dry(machine, { n: 3 });
    assert.deepEqual(names(run), ['start', 'many']);
    assert.deepEqual(run.steps[0]?.next, [{ to: 'many', when: 'context.n > 5', decided: true, step: 2 }]);
    assert.deepEqual(run.steps[1]?.output, { n: 6 });
    assert.deepEqual(names(await dry(machine, { n: 1 })), ['start', 'few']);
  });

  test('goes all ways where a transition depends on what an agent gives, and keeps what it does not change', async () => {
    const run = await dry({
      context: { who: 'Ann', text: '' },
      states: {
        start: {
          agent: 'writer',
          input: { to: '{{ context.who }}' },
          output_to_context: { text: '{{ output.text }}', length: 3 },
          transitions: [
            { condition: 'context.text == "no"', to: 'stop' },
            { condition: 'context.length == 3', to: 'next' },
            { to: 'never' },
          ],
        },
        stop: end,
        next: { type: 'final', output: { all: '{{ context.who }}: {{ context.text }}', who: 'context.who' } },
        never: end,
      },
    });
    assert.deepEqual(names(run), ['start', 'stop?', 'next?']);
    assert.deepEqual(run.steps[0]?.does, [{ do: 'agent', agent: 'writer', input: { to: 'Ann' } }]);
    assert.deepEqual(
      run.steps[0]?.next.map(({ to, decided }) => [to, decided]),
      [
        ['stop', false],
        ['next', false],
      ],
    );
    assert.deepEqual(run.steps[2]?.output, { all: '{{ context.who }}: {{ context.text }}', who: 'Ann' });
  });

  test('knows nothing of the context after an action but what is set from known values', async () => {
    const run = await dry(
      {
        context: { a: 1 },
        states: {
          start: {
            action: 'x',
            output_to_context: { b: '{{ input.b }}', c: '{{ context.a }}' },
            transitions: [{ condition: 'context.b == 2', to: 'end' }],
          },
          end: { type: 'final', output: { a: '{{ context.a }}', b: '{{ context.b }}', c: '{{ context.c }}' } },
        },
      },
      { b: 2 },
    );
    assert.deepEqual(names(run), ['start', 'end']);
    assert.deepEqual(run.steps[1]?.output, { a: '{{ context.a }}', b: 2, c: '{{ context.c }}' });
  });

  test('follows errors, with what led there not known', async () => {
    const run = await dry(
      {
        context: { n: 1 },
        states: {
          start: {
            wait_for: 'go/{{ input.id }}',
            timeout: 5,
            on_error: { TimeoutError: 'late' },
            transitions: [{ to: 'end' }],
          },
          late: {
            transitions: [
              { condition: 'context.last_error', to: 'end' },
              { condition: 'context.n == 1', to: 'one' },
            ],
          },
          one: end,
          end,
        },
      },
      { id: 7 },
    );
    assert.deepEqual(names(run), ['start', 'end', 'late?', 'one?']);
    assert.deepEqual(run.steps[0]?.does, [{ do: 'wait', channel: 'go/7', timeout: 5 }]);
    assert.deepEqual(run.steps[0]?.errors, [{ to: 'late', when: 'TimeoutError', decided: false, step: 3 }]);
    assert.deepEqual(
      run.steps[2]?.next.map(({ to, step }) => [to, step]),
      [
        ['end', 2],
        ['one', 4],
      ],
    );
  });

  test('shows one input for each item that is known, and the template of those that are not', async () => {
    const state = {
      foreach: '{{ input.list }}',
      as: 'one',
      launch: 'child',
      launch_input: { one: '{{ one }}', all: '{{ input.list | length }}' },
      transitions: [{ to: 'end' }],
    };
    const [step] = (await dry({ states: { start: state, end } }, { list: ['a', 'b'] })).steps;
    assert.deepEqual(step?.does, [
      {
        do: 'launch',
        machine: 'child',
        inputs: [
          { one: 'a', all: 2 },
          { one: 'b', all: 2 },
        ],
      },
    ]);
    const acting = { action: 'find', transitions: [{ to: 'each' }] };
    const each = { ...state, foreach: '{{ context.list }}' };
    const [, second] = (await dry({ states: { start: acting, each, end } }, { list: ['a'] })).steps;
    assert.deepEqual(second?.does, [
      { do: 'launch', machine: 'child', inputs: [{ one: '{{ one }}', all: 1 }], each: '{{ context.list }}' },
    ]);
  });

  test('looks into machines, and knows what one gives that asks nobody', async () => {
    const counts = {
      context: { n: 0 },
      states: {
        start: {
          machine: 'plus',
          input: { n: '{{ context.n }}' },
          output_to_context: { n: '{{ output.n }}' },
          transitions: [{ condition: 'context.n < 2', to: 'start' }, { to: 'end' }],
        },
        end: { type: 'final', output: { n: '{{ context.n }}' } },
      },
    };
    const plus = { name: 'plus', states: { end: { type: 'final', output: { n: '{{ input.n + 1 }}' } } } };
    const run = await dry(counts, {}, { plus });
    assert.deepEqual(names(run), ['start', 'start', 'end']);
    assert.deepEqual(run.steps[2]?.output, { n: 2 });
    const [act] = run.steps[1]?.does ?? [];
    assert.deepEqual(act?.do === 'machine' && act.inside?.steps[0]?.output, { n: 2 });
  });

  test('follows a state that only counts, and stops where it gathers too much', async () => {
    const counting = (entries: object, until: number) => ({
      context: { n: 0, x: [1] },
      states: {
        start: {
          output_to_context: { ...entries, n: '{{ context.n + 1 }}' },
          transitions: [{ condition: `context.n >= ${until}`, to: 'end' }, { to: 'start' }],
        },
        end: { type: 'final', output: { n: '{{ context.n }}' } },
      },
    });
    const run = await dry(counting({}, 3));
    assert.deepEqual(names(run), ['start', 'start', 'start', 'end']);
    assert.deepEqual(run.steps[3]?.output, { n: 3 });
    const doubling = await dry(counting({ x: '{{ [context.x, context.x] }}' }, 100));
    assert.match(doubling.steps.at(-1)?.fails ?? '', /^context: it has more than/);
  });

  test('says that a loop does not end, and is bounded where it does not see that', async () => {
    const forever = await dry({ states: { a: { transitions: [{ to: 'b' }] }, b: { transitions: [{ to: 'a' }] } } });
    assert.deepEqual(names(forever), ['a', 'b']);
    assert.equal(forever.steps[1]?.next[0]?.forever, true);
    const counting = { name: 'plus', states: { end: { type: 'final', output: { n: '{{ input.n + 1 }}' } } } };
    const endless = {
      context: { n: 0 },
      states: {
        start: {
          machine: 'plus',
          input: { n: 'context.n' },
          output_to_context: { n: 'output.n' },
          transitions: [{ to: 'start' }],
        },
      },
    };
    const cut = await dry(endless, {}, { plus: counting });
    assert.deepEqual([cut.steps.length, cut.cut], [200, true]);
    const itself = { name: 'itself', states: { start: { machine: 'itself', transitions: [{ to: 'end' }] }, end } };
    assert.equal((await dry(itself, {}, { itself })).steps.length, 2);
  });

  test('says where a run would fail for sure', async () => {
    const stuck = await dry(
      { states: { start: { transitions: [{ condition: 'input.n == 1', to: 'end' }] }, end } },
      { n: 2 },
    );
    assert.equal(stuck.steps[0]?.fails, 'no transition of "start" matches');
    const wrong = await dry(
      {
        states: {
          start: { agent: 'a', input: { n: '{{ 1 / input.n }}' }, on_error: 'end', transitions: [{ to: 'end' }] },
          end,
        },
      },
      { n: 0 },
    );
    assert.match(wrong.steps[0]?.fails ?? '', /zero/);
    assert.deepEqual(names(wrong), ['start', 'end?']);
  });
});
