import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { keyIdOf, openSigned, signTask } from '../../protocol/signed-task.ts';
import type { LogSink, RunHost, Runner, RunOutcome, RunRequest } from '../runner/runner.ts';
import { GuardedRunner } from './guarded-runner.ts';
import { TaskGate } from './task-gate.ts';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const key = { id: keyIdOf(publicKey), key: privateKey };
const keys = new Map([[key.id, publicKey]]);
const REQUEST: RunRequest = {
  task: 1,
  attempt: 1,
  id: 'x',
  queue: 'q',
  handler: 'h',
  payload: '1',
  tries: 1,
  maxTries: 3,
  alone: false,
};

/** As a worker makes it of what a node has sent. */
function request(notAfter?: number, more: Partial<RunRequest> = {}): RunRequest {
  const signed = openSigned(JSON.stringify(signTask({ queue: 'q', handler: 'h', payload: '{"a":1}' }, key, notAfter)));
  return { ...REQUEST, payload: '{"a":1}', signed, ...more };
}

const codeOf = (error: Error | undefined): string | undefined => (isEngineError(error) ? error.code : undefined);

test('a signature is good until its time, by the clock of the worker, and for nothing else', () => {
  const gate = (now: number) => new TaskGate({ keys }, () => now);
  assert.equal(gate(5).refusalOf(request(5)), undefined);
  assert.equal(gate(1e15).refusalOf(request()), undefined);
  assert.match(gate(6).refusalOf(request(5))?.message ?? '', /not to be used any more/);
  assert.match(gate(Number.NaN).refusalOf(request(5))?.message ?? '', /not to be used/);
  for (const more of [{ queue: 'r' }, { handler: 'g' }, { signed: undefined }])
    assert.equal(codeOf(gate(1).refusalOf(request(5, more))), 'TASK_NOT_SIGNED');
  const stranger = new TaskGate({ keys: new Map() }, () => 1);
  assert.match(stranger.refusalOf(request(5))?.message ?? '', /does not trust/);
});

test('with a list of commands no handler is run whose input could name others', () => {
  const gate = new TaskGate({ commands: ['date'] }, () => 1);
  for (const handler of ['js', 'machine', 'agent', 'shell'])
    assert.equal(codeOf(gate.refusalOf({ ...REQUEST, handler, payload: '{}' })), 'COMMAND_NOT_ALLOWED', handler);
  assert.equal(gate.refusalOf({ ...REQUEST, handler: 'shell', payload: '{"argv":["date"]}' }), undefined);
  assert.equal(gate.refusalOf({ ...REQUEST, handler: 'own', payload: '{}' }), undefined);
});

test('a refused task reaches no runner, is told in its log and fails for good, also when the check itself fails', async () => {
  const ran: unknown[] = [];
  const inner = {
    isolates: false,
    handlers: ['h', 'shell'],
    start: async () => {},
    close: async () => {},
    run: (one: RunRequest) => ({
      stop: () => {},
      ended: Promise.resolve({ kind: 'done', result: ran.push(one) } as const),
    }),
    begin: (one: RunRequest, _: LogSink, host: RunHost) => {
      ran.push(one);
      queueMicrotask(() => host.ended({ kind: 'done', result: 1 }));
      return { stop: () => {} };
    },
  } satisfies Runner;
  const lines: string[] = [];
  const sink: LogSink = { line: (_, text) => void lines.push(text), progress: () => {} };
  const guarded = new GuardedRunner(inner, new TaskGate({ keys, commands: ['date'] }, () => 1));
  assert.deepEqual(guarded.handlers, ['h', 'shell']);
  const begun = (one: RunRequest): Promise<RunOutcome> =>
    new Promise((ended) => {
      let returned = false;
      const host = {
        session: undefined as never,
        ended: (outcome: RunOutcome) => ended(returned ? outcome : { kind: 'parked' }),
      };
      guarded.begin?.(one, sink, host);
      returned = true;
    });
  for (const end of [await guarded.run(REQUEST, sink).ended, await begun(REQUEST)]) {
    assert.equal(end.kind, 'giveUp');
    assert.equal(codeOf((end as { readonly error: Error }).error), 'TASK_NOT_SIGNED');
  }
  const broken = { ...request(), handler: 'shell', payload: 'no JSON' };
  const open = new GuardedRunner(inner, new TaskGate({ commands: ['date'] }, () => 1));
  assert.equal((await open.run(broken, sink).ended).kind, 'giveUp');
  assert.equal(ran.length, 0);
  assert.equal(lines.length, 3);
  assert.deepEqual([(await guarded.run(request(), sink).ended).kind, (await begun(request())).kind], ['done', 'done']);
  assert.equal(ran.length, 2);
});
