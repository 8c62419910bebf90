import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Value } from '../expression/values.ts';
import { pathText } from './problems.ts';
import { readMachine } from './read-machine.ts';

/** What a machine with this state, and these fields beside its states, is warned of. */
function warnings(state: Record<string, Value>, data: Record<string, Value> = {}): readonly string[] {
  const states = { a: { transitions: [{ to: 'b' }], ...state }, b: { type: 'final' } };
  const { machine, problems } = readMachine({ spec: 'flatmachine', spec_version: '2.2.2', data: { states, ...data } });
  assert.ok(machine !== undefined, 'it runs all the same');
  return problems.map(({ path, message }) => `${pathText(path)}: ${message}`);
}

describe('what stands within a field', () => {
  test('of execution is checked when the machine is read, not when the state runs', () => {
    const execution = {
      type: 'often',
      backoff: [1],
      backoffs: [1, 'x'],
      jitter: 2,
      n_samples: 0,
      retry_on_empty: 'no',
    };
    assert.deepEqual(warnings({ execution }), [
      'data.states.a.execution.backoff: there is no field "backoff": did you mean "backoffs"?',
      'data.states.a.execution.type: expected default or retry or parallel or mdap_voting',
      'data.states.a.execution.backoffs: expected a list of seconds, found a list',
      'data.states.a.execution.jitter: expected a number from 0 to 1, found a number',
      'data.states.a.execution.retry_on_empty: expected true or false, found a text',
      'data.states.a.execution.n_samples: expected a whole number from 1 to 100, found a number',
    ]);
    const right = {
      type: 'mdap_voting',
      backoffs: [],
      jitter: 0,
      retry_on_empty: true,
      n_samples: 3,
      k_margin: 3,
      max_candidates: 10,
      max_response_tokens: 750,
    };
    assert.deepEqual(warnings({ execution: right }), []);
  });

  test('of tool_loop is checked, and may be templates', () => {
    const wrong = { max_turnz: 2, max_turns: [2], denied_tools: 3 };
    assert.deepEqual(warnings({ tool_loop: wrong }), [
      'data.states.a.tool_loop.max_turnz: there is no field "max_turnz": did you mean "max_turns"?',
      'data.states.a.tool_loop.max_turns: expected a number, found a list',
      'data.states.a.tool_loop.denied_tools: expected a list of names, found a number',
    ]);
    const right = {
      max_turns: '{{ context.n }}',
      max_tool_calls: 0,
      max_cost: 0.5,
      tool_timeout: 30,
      total_timeout: 600,
      allowed_tools: ['add'],
      denied_tools: 'drop',
      policies: { add: 'repeat' },
    };
    assert.deepEqual(warnings({ tool_loop: right }), []);
  });

  test('of persistence is checked as far as the language says', () => {
    const wrong = { enabled: 'yes', backend: 1, checkpoint_on: ['execute', 'sometimes'] };
    assert.deepEqual(warnings({}, { persistence: wrong }), [
      'data.persistence.enabled: expected true or false, found a text',
      'data.persistence.backend: expected the name of a backend, found a number',
      'data.persistence.checkpoint_on: expected a list of machine_start, state_enter, execute, state_exit, machine_end, waiting, tool_call, found a list',
    ]);
    const right = { enabled: true, backend: 'redis', checkpoint_on: ['waiting', 'tool_call', 'execute'], ttl: 3 };
    assert.deepEqual(warnings({}, { persistence: right }), []);
  });

  test('of a machine in a list is its name and its input', () => {
    assert.deepEqual(warnings({ machine: [{ name: 'm', inputs: {} }] }), [
      'data.states.a.machine[0].inputs: there is no field "inputs": did you mean "input"?',
    ]);
  });

  test('is told apart from a state that was meant', () => {
    const { problems } = readMachine({
      spec: 'flatmachine',
      spec_version: '1.0.0',
      data: { states: { start: { transitions: [{ to: 'dnoe' }], on_error: 'nowhere' }, done: { type: 'final' } } },
    });
    assert.deepEqual(
      problems.map(({ message }) => message),
      ['there is no state "dnoe": did you mean "done"?', 'there is no state "nowhere"'],
    );
  });

  test('of type is one of two words', () => {
    assert.deepEqual(warnings({ type: 'inital' }), ['data.states.a.type: expected initial or final']);
  });
});
