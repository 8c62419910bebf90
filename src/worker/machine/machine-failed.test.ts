import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fault } from '../../core/errors.ts';
import { faultOf, MachineFailed } from './machine-failed.ts';

class OutOfStock extends Error {}

test('the type of an error is its name, that of its class, or its code', () => {
  const typeOf = (error: unknown): string => faultOf(error).type;
  assert.equal(typeOf(Object.assign(new Error('x'), { name: 'RateLimitError', code: '429' })), 'RateLimitError');
  assert.equal(typeOf(new OutOfStock('x')), 'OutOfStock');
  assert.equal(typeOf(new TypeError('x')), 'TypeError');
  assert.equal(typeOf(Object.assign(new Error('x'), { code: 'ENOENT' })), 'ENOENT');
  assert.equal(typeOf(new Error('x')), 'Error');
  assert.equal(typeOf('x'), 'Error');
  assert.equal(typeOf(new MachineFailed('TimeoutError', 'x', 'a')), 'TimeoutError');
  assert.equal(typeOf(fault('NOT_FOUND', { kind: 'file', id: 'x' })), 'NOT_FOUND', 'codes are ours');
});
