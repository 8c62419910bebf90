import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LogOrder } from './log-order.ts';

test('who ends an attempt waits for its lines that are on their way, and for no others', async () => {
  const order = new LogOrder();
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  order.add([1, 2], first.promise);
  order.add([2], second.promise);
  assert.equal(order.behind([{ task: 3 }]), undefined);
  const ends: string[] = [];
  const one = order.behind([{ task: 1 }, { task: 3 }])?.then(() => ends.push('one'));
  const two = order.behind([{ task: 2 }])?.then(() => ends.push('two'));
  first.resolve();
  await one;
  assert.deepEqual(ends, ['one']);
  second.reject(new Error('the store is away'));
  await two;
  assert.deepEqual(ends, ['one', 'two'], 'also when they did not arrive');
  assert.equal(order.behind([{ task: 1 }, { task: 2 }]), undefined, 'nothing is kept');
});
