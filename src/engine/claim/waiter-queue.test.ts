import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { byTurn } from '../../core/placement/rank.ts';
import { WaiterQueue } from './waiter-queue.ts';

test('whatever is added and deleted, the queue stays in order', () => {
  const waiter = fc.record({ priority: fc.integer({ min: -2, max: 2 }), freeShare: fc.constantFrom(0.25, 0.5, 1) });
  fc.assert(
    fc.property(fc.array(fc.tuple(waiter, fc.boolean())), (acts) => {
      const queue = new WaiterQueue();
      const model = new Set<{ priority: number; freeShare: number; since: number }>();
      for (const [since, [rank, stays]] of acts.entries()) {
        const one = { ...rank, since };
        queue.add(one);
        model.add(one);
        const first = [...model][0];
        if (stays || first === undefined) continue;
        queue.delete(first);
        queue.delete(first);
        model.delete(first);
      }
      assert.deepEqual([...queue], [...model].toSorted(byTurn));
      assert.equal(queue.size, model.size);
    }),
  );
});
