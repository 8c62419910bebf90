/** Every default of the language, and every field of a state by what it does. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Machine, State } from './definition.ts';
import { readMachine } from './read-machine.ts';
import { machineOf } from './test-driver.ts';

const bare = machineOf({ states: { only: { type: 'final' } } });
const state = bare.states.get('only') as State;

describe('what a machine is when its file does not say', () => {
  const defaults: Readonly<Partial<Record<keyof Machine, unknown>>> = {
    name: 'unnamed-machine',
    templateMode: 'native',
    context: [],
    initial: 'only',
    maxSteps: 1000,
    maxDepth: 32,
    maxAgentCalls: undefined,
    settings: {},
    agents: {},
    machines: {},
    persistence: {},
    hooks: [],
    lifecycleHooks: [],
    metadata: {},
  };
  for (const [field, expected] of Object.entries(defaults)) {
    test(field, () => assert.deepEqual(bare[field as keyof Machine], expected));
  }

  test('its conditions are simple ones', () => {
    const machine = machineOf({
      states: { a: { transitions: [{ condition: '1 < 2', to: 'b' }] }, b: { type: 'final' } },
    });
    assert.equal(machine.states.get('a')?.transitions[0]?.condition?.engine, 'simple');
  });

  test('it begins at start, or at its first state', () => {
    assert.equal(machineOf({ states: { a: { type: 'final' }, start: { type: 'final' } } }).initial, 'start');
    assert.equal(machineOf({ states: { a: { type: 'final' }, b: { type: 'final' } } }).initial, 'a');
  });
});

describe('what a state is when its file does not say', () => {
  const nothing = { kind: 'constant', value: {} };
  const defaults: Readonly<Partial<Record<keyof State, unknown>>> = {
    waitFor: undefined,
    action: undefined,
    launch: [],
    launchInput: nothing,
    machines: [],
    several: false,
    agent: undefined,
    execution: undefined,
    toolLoop: undefined,
    sessionId: undefined,
    foreach: undefined,
    as: 'item',
    key: undefined,
    mode: 'settled',
    losers: 'cancel',
    onChildError: 'collect',
    timeout: undefined,
    input: nothing,
    outputToContext: [],
    output: undefined,
    onError: new Map(),
    transitions: [],
    hooks: [],
  };
  for (const [field, expected] of Object.entries(defaults)) {
    test(field, () => assert.deepEqual(state[field as keyof State], expected));
  }
});

describe('every version is read without a warning', () => {
  const common = { a: { transitions: [{ condition: 'context.n > 1', to: 'b' }, { to: 'b' }] }, b: { type: 'final' } };
  const of: Readonly<Record<string, object>> = {
    '0.1.0': { context: { n: 1 }, agents: { x: './x.yml' }, settings: { hooks: 'a.b', max_steps: 3 } },
    '0.2.0': { persistence: { enabled: true, backend: 'local', checkpoint_on: ['execute'] } },
    '0.4.0': { machines: { m: './m.yml', n: { path: './n.yml' } }, settings: { parallel_fallback: 'sequential' } },
    '0.8.3': {
      hooks: { module: 'x.y', class: 'H', args: { a: 1 } },
      settings: { heartbeat_interval: 30, worker_pool: 'p' },
    },
    '0.9.0': { profiles: './profiles.yml' },
    '1.1.1': { agents: { x: { type: 'pi-agent', ref: './x', config: {} } }, hooks: { file: './h.js', class: 'H' } },
    '2.2.2': { hooks: ['logging', { name: 'mine', args: {} }], settings: { backends: { persistence: 'sqlite' } } },
    '4.2.1': {
      lifecycle_hooks: 'mine',
      settings: { max_depth: 3 },
      states: { ...common, c: { hooks: 'x', session_id: 's', type: 'final' } },
    },
  };
  for (const [version, data] of Object.entries(of)) {
    test(version, () => {
      const value = {
        spec: 'flatmachine',
        spec_version: version,
        data: { states: common, ...data },
        metadata: { a: 1 },
      };
      assert.deepEqual(readMachine(value, { strict: true }).problems, []);
    });
  }

  test('every field of a state', () => {
    const all = {
      type: 'initial',
      agent: 'a',
      execution: { type: 'retry', backoffs: [1], jitter: 0 },
      machine: [{ name: 'm', input: { a: 1 } }],
      key: '{{ item }}',
      foreach: 'context.list',
      as: 'item',
      mode: 'any',
      timeout: 3,
      launch: ['l'],
      launch_input: { a: 1 },
      action: 'x',
      wait_for: 'c',
      input: { a: 1 },
      output_to_context: { a: 'output' },
      output: { a: 1 },
      on_error: { TimeoutError: 'b', default: 'b' },
      transitions: [{ to: 'b' }],
      tool_loop: { max_turns: 3 },
      sampling: 'single',
      session_id: 's',
      hooks: 'h',
      losers: 'keep',
      on_child_error: 'fail',
    };
    const value = { spec: 'flatmachine', spec_version: '4.2.1', data: { states: { a: all, b: { type: 'final' } } } };
    assert.deepEqual(readMachine(value, { strict: true }).problems, []);
  });
});
