import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RPC_ERRORS, readRequest } from './envelope.ts';
import { METHODS, mayCallMethod, methodNamed } from './methods.ts';

const call = (more: object): object => ({ jsonrpc: '2.0', method: 'm', ...more });

test('a call has an id that is a text, a number or null; without one it is a notification', () => {
  for (const id of ['a', '', 0, -1, 1.5, null]) {
    assert.deepEqual(readRequest(call({ id })), { method: 'm', params: undefined, id });
  }
  assert.deepEqual(readRequest(call({})), { method: 'm', params: undefined, id: undefined });
  assert.deepEqual(readRequest(call({ params: [1], id: 1 })), { method: 'm', params: [1], id: 1 });
});

test('what is no call is refused, under its id where it has one', () => {
  for (const [value, id] of [
    [null, null],
    [1, null],
    ['x', null],
    [[], null],
    [{}, null],
    [call({ id: {} }), null],
    [call({ id: true }), null],
    [call({ id: 'x'.repeat(300) }), null],
    [call({ id: 7, jsonrpc: '1.0' }), 7],
    [call({ id: 7, method: 7 }), 7],
    [call({ id: 7, method: '' }), 7],
    [call({ id: 7, method: 'x'.repeat(300) }), 7],
    [call({ id: 7, params: 'x' }), 7],
    [call({ id: 7, params: null }), 7],
    [call({ id: 7, extra: 1 }), 7],
  ] as const) {
    const read = readRequest(value);
    assert.ok('problem' in read, JSON.stringify(value));
    assert.equal(read.id, id, JSON.stringify(value));
  }
});

test('errors have the codes of the standard and of apflow, each once', () => {
  const codes = Object.values(RPC_ERRORS).map(({ code }) => code);
  assert.deepEqual(
    codes.toSorted((a, b) => b - a),
    [...Array.from({ length: 12 }, (_, i) => -32001 - i), -32600, -32601, -32602, -32603, -32700],
  );
});

test('methods of the leader are known under a longer name too, and no others are', () => {
  assert.equal(methodNamed('renew_lease'), 'renew_lease');
  assert.equal(methodNamed('distributed.renew_lease'), 'renew_lease');
  assert.equal(methodNamed('tasks.get'), 'tasks.get');
  for (const name of ['distributed.tasks.get', 'distributed.', 'distributed.distributed.heartbeat', 'toString', 'x']) {
    assert.equal(methodNamed(name), undefined, name);
  }
});

test('who only reads changes nothing, a worker acts for nodes alone, and who operates may do all of it', () => {
  const may = (role: 'admin' | 'operator' | 'read' | 'worker'): readonly string[] =>
    Object.entries(METHODS)
      .filter(([, one]) => mayCallMethod(role, one))
      .map(([name]) => name);
  const all = Object.keys(METHODS);
  assert.deepEqual(may('admin'), all);
  assert.deepEqual(may('operator'), all);
  assert.deepEqual(may('read'), [
    'tasks.get',
    'tasks.detail',
    'tasks.tree',
    'tasks.list',
    'tasks.children',
    'tasks.count',
    'tasks.running.list',
    'tasks.running.status',
    'tasks.running.count',
    'tasks.scheduled.list',
    'tasks.scheduled.due',
    'tasks.scheduled.complete',
    'system.health',
    'system.executors',
  ]);
  assert.deepEqual(may('worker'), [
    'register_node',
    'heartbeat',
    'deregister_node',
    'find_executable_tasks',
    'acquire_lease',
    'renew_lease',
    'release_lease',
    'report_completion',
  ]);
});
