import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualWorld } from '../../testing.ts';
import { Remembered } from './remembered.ts';

function rig() {
  const world = new VirtualWorld();
  let looks = 0;
  const remembered = new Remembered<number>(world.clock);
  return { world, remembered, look: () => Promise.resolve(++looks), looks: () => looks };
}

test('all who ask within a second have the answer of one look', async () => {
  const { world, remembered, look, looks } = rig();
  const answers = await Promise.all(Array.from({ length: 100 }, () => remembered.get('', look)));
  assert.deepEqual([new Set(answers).size, looks()], [1, 1]);
  world.elapse(999);
  assert.equal(await remembered.get('', look), 1);
  world.elapse(1);
  assert.equal(await remembered.get('', look), 2);
});

test('another question has another answer', async () => {
  const { remembered, look } = rig();
  assert.deepEqual([await remembered.get('a', look), await remembered.get('b', look)], [1, 2]);
  assert.equal(await remembered.get('a', look), 1);
});

test('what failed is asked for again, and fails only for who asked', async () => {
  const { remembered, look } = rig();
  await assert.rejects(
    remembered.get('', () => Promise.reject(new Error('away'))),
    /away/,
  );
  assert.equal(await remembered.get('', look), 1);
});

test('questions of any number take bounded room; the oldest are forgotten', async () => {
  const { remembered, look, looks } = rig();
  for (let i = 0; i < 201; i++) await remembered.get(String(i), look);
  await remembered.get('200', look);
  assert.equal(looks(), 201);
  await remembered.get('0', look);
  assert.equal(looks(), 202);
});
