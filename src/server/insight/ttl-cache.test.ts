import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualWorld } from '../../testing.ts';
import { TtlCache } from './ttl-cache.ts';

function rig() {
  const world = new VirtualWorld();
  let looks = 0;
  const cache = new TtlCache<number>(world.clock);
  return { world, cache, look: () => Promise.resolve(++looks), looks: () => looks };
}

test('all who ask within a second have the answer of one look', async () => {
  const { world, cache, look, looks } = rig();
  const answers = await Promise.all(Array.from({ length: 100 }, () => cache.get('', look)));
  assert.deepEqual([new Set(answers).size, looks()], [1, 1]);
  world.elapse(999);
  assert.equal(await cache.get('', look), 1);
  world.elapse(1);
  assert.equal(await cache.get('', look), 2);
});

test('another question has another answer', async () => {
  const { cache, look } = rig();
  assert.deepEqual([await cache.get('a', look), await cache.get('b', look)], [1, 2]);
  assert.equal(await cache.get('a', look), 1);
});

test('what failed is asked for again, and fails only for who asked', async () => {
  const { cache, look } = rig();
  await assert.rejects(
    cache.get('', () => Promise.reject(new Error('away'))),
    /away/,
  );
  assert.equal(await cache.get('', look), 1);
});

test('questions of any number take bounded room; the oldest are forgotten', async () => {
  const { cache, look, looks } = rig();
  for (let i = 0; i < 201; i++) await cache.get(String(i), look);
  await cache.get('200', look);
  assert.equal(looks(), 201);
  await cache.get('0', look);
  assert.equal(looks(), 202);
});
