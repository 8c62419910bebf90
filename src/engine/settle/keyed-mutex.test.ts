import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyedMutex } from './keyed-mutex.ts';

test('work on one key runs in turns, and other keys do not wait for it', async () => {
  const turns = new KeyedMutex();
  const said: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = turns.take('a', async () => {
    said.push('first begins');
    await gate.promise;
    said.push('first ends');
    return 1;
  });
  const second = turns.take('a', async () => said.push('second'));
  await turns.take('b', async () => said.push('another'));
  assert.deepEqual(said, ['first begins', 'another']);
  gate.resolve();
  assert.deepEqual([await first, await second], [1, 4]);
  assert.deepEqual(said, ['first begins', 'another', 'first ends', 'second']);
});

test('work that fails does not block the next', async () => {
  const turns = new KeyedMutex();
  const refused = turns.take('a', () => Promise.reject(new Error('no')));
  const next = turns.take('a', async () => 'yes');
  await assert.rejects(refused, /no/);
  assert.equal(await next, 'yes');
  assert.equal(await turns.take('a', async () => 'again'), 'again');
});
