import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeFailure } from './failure.ts';

const told = (error: unknown): unknown => JSON.parse(describeFailure(error));

test('an error is stored with its name, message, code and stack', () => {
  const error = Object.assign(new TypeError('no'), { code: 'E_NO', more: 1 });
  assert.deepEqual(told(error), { name: 'TypeError', message: 'no', code: 'E_NO', stack: error.stack });
  const plain = Object.assign(new Error('no'), { code: 7 });
  assert.deepEqual(told(plain), { name: 'Error', message: 'no', stack: plain.stack });
});

test('any other value is stored as it is', () => {
  for (const value of [null, 'text', 7, { a: [1] }]) assert.deepEqual(told(value), value);
});

test('a value that cannot be stored becomes text, without what a store refuses', () => {
  assert.deepEqual(told(10n), { message: '10' });
  assert.deepEqual(told(new Error('a\u0000b')), { message: 'Error: a\ufffdb' });
  const mute = {
    loop: undefined as unknown,
    toString: () => {
      throw new Error('mute');
    },
  };
  mute.loop = mute;
  assert.deepEqual(told(mute), { message: 'an error that cannot be told' });
});
