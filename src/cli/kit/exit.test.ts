import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fault } from '../../core/errors.ts';
import { exitCodeOf, exitCodeOfSignal } from './exit.ts';

test('the exit status tells wrong usage, not found, refused and a lost lease from any other failure', () => {
  assert.equal(exitCodeOf(fault('UNKNOWN_OPTION')), 2);
  assert.equal(exitCodeOf(fault('INVALID_INPUT')), 2);
  assert.equal(exitCodeOf(fault('NOT_FOUND')), 3);
  assert.equal(exitCodeOf(fault('WORKER_DISABLED')), 4);
  assert.equal(exitCodeOf(fault('LEASE_LOST')), 5);
  for (const error of [fault('STORE_CORRUPT'), fault('CONFLICT'), new Error('x'), undefined]) {
    assert.equal(exitCodeOf(error), 1);
  }
});

test('a forced end says which signal forced it', () => {
  assert.equal(exitCodeOfSignal('SIGINT'), 130);
  assert.equal(exitCodeOfSignal('SIGTERM'), 143);
});
