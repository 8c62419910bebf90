import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commonProtocol, isProtocolRange, LINK_PROTOCOL } from './link-protocol.ts';

test('worker and node speak the newest version that both know', () => {
  assert.equal(commonProtocol([1, 3], [2, 5]), 3);
  assert.equal(commonProtocol([2, 5], [1, 3]), 3);
  assert.equal(commonProtocol([1, 1], [2, 3]), undefined);
  assert.equal(commonProtocol([4, 4], [2, 3]), undefined);
});

test('who says nothing of the protocol speaks the first version', () => {
  assert.equal(commonProtocol(undefined, [1, 4]), 1);
  assert.equal(commonProtocol(undefined, [2, 4]), undefined);
  assert.equal(commonProtocol(LINK_PROTOCOL), LINK_PROTOCOL[1]);
  assert.equal(commonProtocol(undefined), 1);
});

test('a range has two versions, the oldest first', () => {
  assert.equal(isProtocolRange([1, 2]), true);
  for (const value of [[2, 1], [1], [0, 1], [1, 1.5], [1, '2'], 'x', undefined, [1, 2, 3], [1, 99_999]])
    assert.equal(isProtocolRange(value), false);
});
