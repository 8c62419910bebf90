import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BlockedLanes } from './blocked-lanes.ts';

const entry = { mark: 1, priority: 0 };
const SLOT = 7;

/** Lanes 1, 2 and 3 are blocked by one counter; a task of lane 3 takes two of it. */
function rig(): { readonly held: BlockedLanes; readonly may: () => readonly number[] } {
  const held = new BlockedLanes((lane) => (lane === 3 ? 2 : 1));
  for (const lane of [1, 2, 3]) held.add(lane, entry, SLOT, 0, held.frees);
  return { held, may: () => [...held.unblocked(() => true)].map(([lane]) => lane) };
}

test('no lane is tried while there is no room, and then no more than there is room for', () => {
  const { held, may } = rig();
  assert.deepEqual(may(), []);
  assert.equal(held.freed(SLOT, 1), true);
  assert.deepEqual(may(), [1]);
  held.freed(SLOT, 1);
  assert.deepEqual(may(), [1, 2]);
  held.remove(1, true);
  held.remove(2, true);
  assert.deepEqual(may(), []);
});

test('a heavy lane does not keep a lighter one from trying', () => {
  const { held, may } = rig();
  held.remove(1, false);
  held.remove(2, false);
  held.add(2, entry, SLOT, 0, held.frees);
  held.freed(SLOT, 1);
  assert.deepEqual(may(), [2]);
});

test('a counter that blocks no lane wakes no claim', () => {
  const { held } = rig();
  assert.equal(held.freed(8, 1), false);
  assert.equal(held.freeing(8, 1), false);
});

test('room that was given back while a claim was on its way is still there', () => {
  const { held, may } = rig();
  const at = held.frees;
  held.remove(1, true);
  held.freed(SLOT, 1);
  held.add(1, entry, SLOT, 0, at);
  assert.deepEqual(may(), [2]);
});

test('room that was announced before it was given back is announced once', () => {
  const { held, may } = rig();
  assert.equal(held.freeing(SLOT, 2), true);
  assert.deepEqual(may(), [1, 2]);
  held.remove(1, true);
  held.remove(2, true);
  assert.equal(held.freed(SLOT, 1), false);
  assert.equal(held.freed(SLOT, 1), false);
  assert.deepEqual(may(), []);
  assert.equal(held.freed(SLOT, 1), true, 'this one is new');
});

test('a claim that came too early for such room is woken when it is there', () => {
  const { held, may } = rig();
  held.freeing(SLOT, 1);
  const at = held.frees;
  held.remove(1, true);
  held.add(1, entry, SLOT, 0, at);
  assert.deepEqual(may(), []);
  assert.equal(held.freed(SLOT, 1), true);
  assert.deepEqual(may(), [2]);
});

test('a lane keeps its entry while it is blocked', () => {
  const { held } = rig();
  held.update(2, { mark: 9, priority: 4 });
  assert.deepEqual(held.entry(2), { mark: 9, priority: 4 });
  assert.deepEqual(held.remove(2, false), { mark: 9, priority: 4 });
  assert.equal(held.entry(2), undefined);
  assert.equal(held.remove(2, false), undefined);
});

test('of lanes that one counter blocks the most urgent is tried first, also when that has changed, or the oldest where that is asked for', () => {
  const held = new BlockedLanes(() => 1);
  for (const [lane, priority] of [
    [1, 0],
    [2, 5],
    [3, -2],
    [4, 5],
  ] as const)
    held.add(lane, { mark: 1, priority }, SLOT, 0, held.frees);
  held.freed(SLOT, 9);
  const may = (first?: 'oldest'): readonly number[] => [...held.unblocked(() => true, first)].map(([lane]) => lane);
  assert.deepEqual(may(), [2, 4, 1, 3]);
  assert.deepEqual(may('oldest'), [1, 2, 3, 4]);
  held.update(3, { mark: 2, priority: 9 });
  held.remove(2, false);
  assert.deepEqual(may(), [3, 4, 1]);
  assert.deepEqual(
    [...held.unblocked((lane) => lane !== 3)].map(([lane]) => lane),
    [4, 1],
  );
});
