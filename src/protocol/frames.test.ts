import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Connect, Join, REQUEST_TYPES, Take, WorkerRequest } from './frames.ts';

const LEASE = { task: 1, attempt: 1, token: 't', later: true };
const CONNECT = { name: 'a', incarnation: 'one', slots: 1, tags: [], handlers: ['h'], holding: [LEASE] };

test('words that a newer worker says are ignored, at the beginning and in every request', () => {
  const extra = { later: { much: 1 } };
  const { holding: _, ...join } = CONNECT;
  const connect = Connect.parse({ type: 'connect', secret: 's', ...CONNECT, ...extra });
  assert.deepEqual(connect, { type: 'connect', secret: 's', ...join, holding: [{ task: 1, attempt: 1, token: 't' }] });
  assert.deepEqual(Join.parse({ ...join, ...extra }), join);
  assert.deepEqual(Take.parse({ n: 1, max: 1, waitMs: 0, holding: [], ...extra }), {
    n: 1,
    max: 1,
    waitMs: 0,
    holding: [],
  });
  const turn = {
    type: 'task_turn',
    n: 1,
    lease: LEASE,
    entries: [{ key: 'c', kind: 'child', child: { queue: 'q', handler: 'h' }, ...extra }],
    then: { go: 'park', key: 'w', timeoutMs: 5, ...extra },
    ...extra,
  };
  assert.deepEqual(WorkerRequest.parse(turn), {
    type: 'task_turn',
    n: 1,
    lease: { task: 1, attempt: 1, token: 't' },
    entries: [{ key: 'c', kind: 'child', child: { queue: 'q', handler: 'h' } }],
    then: { go: 'park', key: 'w', timeoutMs: 5 },
  });
});

test('a node names everything that it can be asked', () => {
  assert.equal(REQUEST_TYPES.length, 26);
  assert.ok(REQUEST_TYPES.includes('task_turn') && REQUEST_TYPES.includes('lease_renew'));
});
