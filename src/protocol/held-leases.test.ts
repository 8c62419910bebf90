import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeldLeases } from './held-leases.ts';

const lease = (task: number, attempt = 1): { task: number; attempt: number } => ({ task, attempt });

function scene() {
  let now = 0;
  const held = new HeldLeases(() => now);
  const pass = (ms: number): void => void (now += ms);
  return { held, pass, tasks: () => held.all().map(({ task }) => task) };
}

test('a lease is known by its task and attempt, until it is dropped', () => {
  const { held } = scene();
  held.put(lease(1, 2));
  assert.deepEqual(held.get(lease(1, 2)), lease(1, 2));
  assert.equal(held.get(lease(1, 1)), undefined);
  assert.equal(held.has(1), true);
  assert.equal(held.has(2), false);
  held.drop(lease(1, 2));
  assert.equal(held.get(lease(1, 2)), undefined);
  assert.equal(held.has(1), false);
});

test('what was heard of longest ago comes first, and goes first', () => {
  const { held, pass, tasks } = scene();
  for (const task of [1, 2, 3]) {
    held.put(lease(task));
    pass(10);
  }
  held.renewed(lease(1));
  assert.deepEqual(tasks(), [2, 3, 1]);
  // At 30: 2 was heard of at 10, 3 at 20.
  held.dropOlderThan(20);
  assert.deepEqual(tasks(), [2, 3, 1]);
  held.dropOlderThan(19);
  assert.deepEqual(tasks(), [3, 1]);
  pass(1000);
  held.dropOlderThan(999);
  assert.deepEqual(tasks(), []);
});

test('what is not held cannot be renewed', () => {
  const { held, tasks } = scene();
  held.renewed(lease(1));
  assert.deepEqual(tasks(), []);
});
