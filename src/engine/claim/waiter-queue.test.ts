import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { byTurn } from '../../core/placement/rank.ts';
import { Line } from './waiter-queue.ts';

test('whoever comes and goes, the line is in the order of turns', () => {
  const waiter = fc.record({ priority: fc.integer({ min: -2, max: 2 }), freeShare: fc.constantFrom(0.25, 0.5, 1) });
  fc.assert(
    fc.property(fc.array(fc.tuple(waiter, fc.boolean())), (acts) => {
      const line = new Line();
      const model = new Set<{ priority: number; freeShare: number; since: number }>();
      for (const [since, [rank, stays]] of acts.entries()) {
        const one = { ...rank, since };
        line.add(one);
        model.add(one);
        const first = [...model][0];
        if (stays || first === undefined) continue;
        line.delete(first);
        line.delete(first);
        model.delete(first);
      }
      assert.deepEqual([...line], [...model].toSorted(byTurn));
      assert.equal(line.size, model.size);
    }),
  );
});
