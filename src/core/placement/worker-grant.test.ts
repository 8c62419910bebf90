import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../errors.ts';
import { granted, isDecided, normalizeGrant, type WorkerGrant } from './worker-grant.ts';

test('a grant has one form: names sorted and without repeats, and nothing that is not given', () => {
  assert.deepEqual(normalizeGrant({}), {});
  assert.deepEqual(normalizeGrant({ handlers: ['b', 'a', 'b'], queues: [], slots: 3, permissions: {} }), {
    handlers: ['a', 'b'],
    queues: [],
    slots: 3,
  });
  assert.deepEqual(normalizeGrant({ ownCredentials: true }), { ownCredentials: true });
  assert.deepEqual(normalizeGrant({ permissions: { queues: ['x'] } }), { permissions: { queues: ['x'] } });
});

test('what cannot be granted is refused', () => {
  const wrong: readonly WorkerGrant[] = [
    { slots: 0 },
    { ownCredentials: 'yes' as never },
    { slots: 10_001 },
    { slots: 1.5 },
    { handlers: 'a' as never },
    { handlers: ['not a name'] },
    { queues: Array.from({ length: 1001 }, (_, i) => `q${i}`) },
    { permissions: { queues: ['a*b'] } },
  ];
  for (const grant of wrong) {
    assert.throws(
      () => normalizeGrant(grant),
      (error) => isEngineError(error, 'INVALID_INPUT'),
      JSON.stringify(grant),
    );
  }
});

test('a worker has of the names that it gives those that were granted', () => {
  assert.deepEqual(granted(['a', 'b'], undefined), ['a', 'b']);
  assert.deepEqual(granted(['a', 'b'], ['b', 'c']), ['b']);
  assert.deepEqual(granted(['a'], []), []);
});

test('handlers are decided once some were named, none, or all', () => {
  assert.equal(isDecided({ slots: 3 }), false);
  for (const grant of [{ handlers: [] }, { handlers: ['a'] }, { anyHandler: true }] as const) {
    assert.equal(isDecided(grant), true);
  }
});
