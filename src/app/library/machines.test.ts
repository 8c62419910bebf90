import assert from 'node:assert/strict';
import { test } from 'node:test';
import { machine } from '../../../test/support/runs/run-scene.ts';
import { isEngineError } from '../../core/errors.ts';
import { open } from '../open.ts';
import { machines } from './machines.ts';

const CHILD = machine({
  agents: { writer: { type: 'function' } },
  states: {
    write: {
      agent: 'writer',
      input: { prompt: 'hello' },
      output_to_context: { text: '{{ output.content }}' },
      transitions: [{ to: 'end' }],
    },
    end: { type: 'final', output: { text: '{{ context.text }}' } },
  },
});
const PARENT = machine({
  name: 'parent',
  hooks: { name: 'counters', args: { by: 2 } },
  machines: { child: CHILD },
  context: { n: 1 },
  states: {
    up: { action: 'up', transitions: [{ to: 'write' }] },
    write: { machine: 'child', output_to_context: { text: '{{ output.text }}' }, transitions: [{ to: 'ask' }] },
    ask: { wait_for: 'go', output_to_context: { said: '{{ output.value }}' }, transitions: [{ to: 'end' }] },
    end: { type: 'final', output: { n: '{{ context.n }}', text: '{{ context.text }}', said: '{{ context.said }}' } },
  },
});

test('a worker of a program runs machines with its own agents and hooks, beside its own tasks', async (t) => {
  const app = await open('memory:');
  t.after(() => app.close());
  const runs = machines({
    agents: { writer: () => 'a text' },
    hooks: {
      counters: ({ by }) => ({ onAction: (_: string, context: { n: number }) => ({ n: context.n + Number(by) }) }),
    },
  });
  const worker = app.worker({ tasks: [runs], name: 'mine' });
  await worker.start();
  const run = await app.runs.start({ machine: PARENT, name: 'one' });
  await app.signal('go', 'yes');
  assert.deepEqual(await app.handle(run.id).result(), { n: 3, text: 'a text', said: 'yes' });
  assert.equal((await app.runs.get('one'))?.members['completed'], 2);
});

test('machines start no programs there unless the program says so', async (t) => {
  const app = await open('memory:');
  t.after(() => app.close());
  const asking = machine({
    agents: { writer: { type: 'command', config: { command: ['echo', 'hello'] } } },
    states: {
      write: {
        agent: 'writer',
        input: { prompt: 'hello' },
        output_to_context: { text: '{{ output.content }}' },
        transitions: [{ to: 'end' }],
      },
      end: { type: 'final', output: { text: '{{ context.text }}' } },
    },
  });
  const outcomes: unknown[] = [];
  for (const programs of [false, true]) {
    const worker = app.worker({ tasks: [machines({ programs })], name: `w-${programs}` });
    await worker.start();
    const run = await app.runs.start({ machine: asking });
    outcomes.push(
      await app
        .handle(run.id)
        .result()
        .catch((error: Error) => error.message),
    );
    await worker.stop();
  }
  assert.match(String(outcomes[0]), /program/);
  assert.deepEqual(outcomes[1], { text: 'hello' });
});

test('options that it does not know are refused', () => {
  const refused = (error: unknown): boolean => isEngineError(error, 'UNKNOWN_OPTION') && /agent/.test(error.message);
  assert.throws(() => machines({ agent: {} } as never), refused);
});
