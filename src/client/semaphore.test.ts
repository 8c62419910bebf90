import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Semaphore } from './semaphore.ts';

test('so many pass at once, the others in the order in which they came, and one that fails makes room too', async () => {
  const semaphore = new Semaphore(2);
  const begun: number[] = [];
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const all = ends.map(({ promise }, n) =>
    semaphore.pass(() => {
      begun.push(n);
      return promise;
    }),
  );
  const settled = Promise.allSettled(all);
  assert.deepEqual(begun, [0, 1]);
  ends[1]?.reject(new Error('no'));
  await assert.rejects(all[1] as Promise<void>, /no/);
  assert.deepEqual(begun, [0, 1, 2]);
  for (const { resolve } of ends) resolve();
  await settled;
  assert.deepEqual(begun, [0, 1, 2, 3, 4]);
  assert.equal(await semaphore.pass(() => Promise.resolve('free again')), 'free again');
});
