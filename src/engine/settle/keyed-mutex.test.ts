import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyedMutex } from './keyed-mutex.ts';

test('what is done to one thing is done in turns, and other things wait for none of it', async () => {
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

test('who is refused holds nobody up', async () => {
  const turns = new KeyedMutex();
  const refused = turns.take('a', () => Promise.reject(new Error('no')));
  const next = turns.take('a', async () => 'yes');
  await assert.rejects(refused, /no/);
  assert.equal(await next, 'yes');
  assert.equal(await turns.take('a', async () => 'again'), 'again');
});
