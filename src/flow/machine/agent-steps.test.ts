import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MachineEvent } from './commands.ts';
import { begin, type MachineWorld, reduce, start } from './reduce.ts';
import { drive, machineOf } from './test-driver.ts';

const world: MachineWorld = { now: 0, hooked: () => false };
const state = { agent: 'a', transitions: [{ to: 'end' }] };

/** The snapshot after one answer of the agent. */
function answered(event: MachineEvent, states: object) {
  const machine = machineOf({ context: { keep: 1, gone: 2 }, states });
  const first = start(machine, begin(machine, { executionId: 'run', input: {} }), world);
  return reduce(machine, first.snapshot, event, world);
}

describe('a step of an agent', () => {
  test('comes with a key that names the step of the run, its state and its context', () => {
    const { commands } = drive(machineOf({ context: { x: 1 }, states: { start: state, end: { type: 'final' } } }));
    const [command] = commands;
    assert.ok(command?.do === 'agent');
    assert.deepEqual(
      [command.key, command.state, command.context['x'], command.session],
      ['run/s:000001', 'start', 1, undefined],
    );
  });

  test('adds up tokens and time, also of one that fails', () => {
    const spent = { apiCalls: 2, cost: 0.5, tokens: 30, ms: 400 };
    const states = { start: { ...state, on_error: 'end' }, end: { type: 'final' } };
    for (const event of [
      { kind: 'agent', answer: spent },
      { kind: 'failed', type: 'AgentError', message: 'm', spent },
    ] as const) {
      const { totalApiCalls, totalCost, totalTokens, totalAgentMs } = answered(event, states).snapshot;
      assert.deepEqual([totalApiCalls, totalCost, totalTokens, totalAgentMs], [2, 0.5, 30, 400]);
    }
  });

  test('an error goes by its type, then by its wider names, then by the default', () => {
    const failed = {
      kind: 'failed',
      type: 'RateLimitError',
      message: 'm',
      also: ['RetryableError', 'AgentError'],
    } as const;
    const way = (onError: object): unknown => {
      const ends = { a: { type: 'final', output: { to: 'a' } }, b: { type: 'final', output: { to: 'b' } } };
      const { end } = answered(failed, {
        start: { ...state, on_error: onError },
        end: { type: 'final' },
        ...ends,
      }).snapshot;
      return end?.kind === 'completed' ? end.output : end?.error.type;
    };
    assert.deepEqual(way({ AgentError: 'a', RateLimitError: 'b' }), { to: 'b' });
    assert.deepEqual(way({ default: 'b', AgentError: 'a' }), { to: 'a' });
    assert.deepEqual(way({ default: 'b', OtherError: 'a' }), { to: 'b' });
    assert.equal(way({ OtherError: 'a' }), 'RateLimitError');
  });

  test('what a tool loop leaves in the context is merged, and what it takes away is gone', () => {
    const { snapshot } = answered(
      { kind: 'agent', answer: { context: { more: 3 }, drop: ['gone', 'never'] } },
      { start: state, end: { type: 'final' } },
    );
    const { machine: _, ...context } = snapshot.context;
    assert.deepEqual(context, { keep: 1, more: 3 });
  });

  test('a transition that left a tool loop counts for this state only', () => {
    const { snapshot } = answered(
      { kind: 'agent', answer: { to: 'middle' } },
      {
        start: state,
        middle: { transitions: [{ to: 'last' }] },
        last: { type: 'final', output: { to: 'last' } },
        end: { type: 'final' },
      },
    );
    assert.deepEqual(snapshot.end, { kind: 'completed', output: { to: 'last' } });
  });
});
