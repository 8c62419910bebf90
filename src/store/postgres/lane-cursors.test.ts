import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualWorld } from '../conformance/kit/virtual-world.ts';
import { LaneCursors } from './lane-cursors.ts';

const BOTTOM = { prio: -32_768, id: 0 };
const SLOW = 20;

function scene(): { readonly world: VirtualWorld; readonly cursors: LaneCursors } {
  const world = new VirtualWorld();
  return { world, cursors: new LaneCursors(world.clock) };
}

test('as long as claims are quick, each begins at the bottom', () => {
  const { cursors } = scene();
  cursors.took(1);
  cursors.came(1, { prio: 0, id: 500 });
  assert.deepEqual(cursors.of(1), BOTTOM);
});

test('once a look from the bottom is slow, a claim begins where the last one came to, for a second', () => {
  const { world, cursors } = scene();
  cursors.took(SLOW);
  cursors.came(1, { prio: 0, id: 500 });
  assert.deepEqual([cursors.of(1), cursors.of(2)], [{ prio: 0, id: 500 }, BOTTOM]);
  world.elapse(999);
  assert.deepEqual(cursors.of(1), { prio: 0, id: 500 });
  world.elapse(1);
  assert.deepEqual(cursors.of(1), BOTTOM);
  assert.deepEqual(cursors.of(1), BOTTOM, 'and it has to be slow again first');
});

test('what becomes ready below a mark lowers it; what becomes ready above does not', () => {
  const { cursors } = scene();
  cursors.took(SLOW);
  cursors.came(1, { prio: 0, id: 500 });
  cursors.lower(1, { prio: 0, id: 600 });
  cursors.lower(1, { prio: 5, id: 1 });
  cursors.lower(2, { prio: -5, id: 1 });
  assert.deepEqual(cursors.of(1), { prio: 0, id: 500 });
  cursors.lower(1, { prio: 0, id: 400 });
  assert.deepEqual(cursors.of(1), { prio: 0, id: 400 });
  cursors.lower(1, { prio: -1, id: 900 });
  assert.deepEqual([cursors.of(1), cursors.of(2)], [{ prio: -1, id: 900 }, BOTTOM]);
});

test('a hint drops the marks that it speaks of, or all', () => {
  const { cursors } = scene();
  cursors.took(SLOW);
  for (const lane of [1, 2]) cursors.came(lane, { prio: 0, id: 500 });
  cursors.drop([1]);
  assert.deepEqual([cursors.of(1), cursors.of(2)], [BOTTOM, { prio: 0, id: 500 }]);
  cursors.drop();
  assert.deepEqual(cursors.of(2), BOTTOM);
});

test('a look that is quick again ends it', () => {
  const { cursors } = scene();
  cursors.took(SLOW);
  cursors.came(1, { prio: 0, id: 500 });
  cursors.took(2);
  assert.deepEqual(cursors.of(1), BOTTOM);
});
