import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entryBytes } from './journal-bound.ts';

test('an entry takes the bytes of its key, its value and its usage', () => {
  assert.equal(entryBytes({ key: 'ab' }), 2);
  assert.equal(entryBytes({ key: 'ü', value: '"x"', usage: '{}' }), 7);
});
