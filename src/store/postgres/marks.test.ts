import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualWorld } from '../conformance/kit/virtual-world.ts';
import { Marks } from './marks.ts';

const BOTTOM = { prio: -32_768, id: 0 };
const SLOW = 20;

function scene(): { readonly world: VirtualWorld; readonly marks: Marks } {
  const world = new VirtualWorld();
  return { world, marks: new Marks(world.clock) };
}

test('as long as claims are quick, each begins at the bottom', () => {
  const { marks } = scene();
  marks.took(1);
  marks.came(1, { prio: 0, id: 500 });
  assert.deepEqual(marks.of(1), BOTTOM);
});

test('once a look from the bottom is slow, a claim begins where the last one came to, for a second', () => {
  const { world, marks } = scene();
  marks.took(SLOW);
  marks.came(1, { prio: 0, id: 500 });
  assert.deepEqual([marks.of(1), marks.of(2)], [{ prio: 0, id: 500 }, BOTTOM]);
  world.elapse(999);
  assert.deepEqual(marks.of(1), { prio: 0, id: 500 });
  world.elapse(1);
  assert.deepEqual(marks.of(1), BOTTOM);
  assert.deepEqual(marks.of(1), BOTTOM, 'and it has to be slow again first');
});

test('what becomes ready below a mark lowers it; what becomes ready above does not', () => {
  const { marks } = scene();
  marks.took(SLOW);
  marks.came(1, { prio: 0, id: 500 });
  marks.lower(1, { prio: 0, id: 600 });
  marks.lower(1, { prio: 5, id: 1 });
  marks.lower(2, { prio: -5, id: 1 });
  assert.deepEqual(marks.of(1), { prio: 0, id: 500 });
  marks.lower(1, { prio: 0, id: 400 });
  assert.deepEqual(marks.of(1), { prio: 0, id: 400 });
  marks.lower(1, { prio: -1, id: 900 });
  assert.deepEqual([marks.of(1), marks.of(2)], [{ prio: -1, id: 900 }, BOTTOM]);
});

test('a hint drops the marks that it speaks of, or all', () => {
  const { marks } = scene();
  marks.took(SLOW);
  for (const lane of [1, 2]) marks.came(lane, { prio: 0, id: 500 });
  marks.drop([1]);
  assert.deepEqual([marks.of(1), marks.of(2)], [BOTTOM, { prio: 0, id: 500 }]);
  marks.drop();
  assert.deepEqual(marks.of(2), BOTTOM);
});

test('a look that is quick again ends it', () => {
  const { marks } = scene();
  marks.took(SLOW);
  marks.came(1, { prio: 0, id: 500 });
  marks.took(2);
  assert.deepEqual(marks.of(1), BOTTOM);
});
