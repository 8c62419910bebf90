import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fault, isEngineError } from '../../../core/errors.ts';
import { VirtualWorld } from '../../../store/conformance/kit/virtual-world.ts';
import { AgentRegistry } from '../../agents/registry.ts';
import type { AnyTask } from '../../define/definition.ts';
import type { AttemptSession, RunOutcome } from '../../runner/runner.ts';
import { HooksRegistry } from '../hooks-registry.ts';
import { bundleMachine } from './bundle.ts';
import { machineTask } from './machine-task.ts';

const MACHINE = {
  value: {
    spec: 'flatmachine',
    spec_version: '2.0.0',
    data: { states: { end: { type: 'final', output: { ok: true } } } },
  },
  folder: '/',
  name: 'test',
};

const handler = (): AnyTask =>
  machineTask({
    world: new VirtualWorld(),
    hooks: new HooksRegistry({ onLog: () => {} }),
    agents: new AgentRegistry(),
    environment: () => ({}),
  });

/** One attempt whose calls are answered so, and what it has committed. */
function attempt(task: AnyTask, hash: string, definition: AttemptSession['definition']) {
  const committed: string[] = [];
  const session: AttemptSession = {
    definition,
    journal: async () => [],
    waited: async () => undefined,
    results: async () => [],
    dependencies: async () => [],
    cancelChildren: async () => {},
    turn: async ({ then, entries }) => {
      committed.push(then.go);
      return { went: 'ended', state: 'completed', entries: entries.map(() => null) };
    },
  };
  const request = {
    task: 1,
    attempt: 1,
    id: 'task_1',
    queue: 'machines',
    handler: 'machine',
    payload: '',
    tries: 1,
    maxTries: 25,
    alone: false,
  };
  const { signal } = new AbortController();
  const outcome = task.drive?.({ definition: hash }, { request, session, signal, log: () => {}, progress: () => {} });
  return { outcome: outcome as Promise<RunOutcome>, committed };
}

const lost = (): Error => fault('LEASE_LOST', { task: 'task_1', attempt: 1 });

test('a lease that is lost while the definition is read does not fail the run', async () => {
  const { hash } = await bundleMachine(MACHINE);
  const { outcome } = attempt(handler(), hash, () => Promise.reject(lost()));
  await assert.rejects(outcome, (error) => isEngineError(error, 'LEASE_LOST'));
});

test('an attempt that hoped for what another was reading reads it itself when that one has lost its lease', async () => {
  const { hash, text } = await bundleMachine(MACHINE);
  const task = handler();
  const reading = Promise.withResolvers<string>();
  const first = attempt(task, hash, () => reading.promise);
  const second = attempt(task, hash, () => Promise.resolve(text));
  reading.reject(lost());
  await assert.rejects(first.outcome, (error) => isEngineError(error, 'LEASE_LOST'));
  assert.deepEqual(await second.outcome, { kind: 'parked' });
  assert.deepEqual(second.committed, ['complete']);
});

test('a definition that is not there fails the run at once', async () => {
  const { outcome } = attempt(handler(), 'no such hash', () => Promise.resolve(undefined));
  const { kind } = await outcome;
  assert.equal(kind, 'giveUp');
});
