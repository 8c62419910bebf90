import assert from 'node:assert/strict';
import { test } from 'node:test';
import { giveBack } from './give-back.ts';

test('a chunk that is done with gives its memory back, and a part of something larger does not', () => {
  const own = new Uint8Array(10);
  giveBack(own);
  assert.equal(own.length, 0);
  const whole = new Uint8Array(10);
  giveBack(whole.subarray(2, 4));
  const shared = new Uint8Array(new SharedArrayBuffer(4));
  giveBack(shared);
  assert.deepEqual([whole.length, shared.length], [10, 4]);
});
