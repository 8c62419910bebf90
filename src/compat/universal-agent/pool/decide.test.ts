import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decideByDemand, decideByThreshold, type PoolMember, type WorkerStatus } from './decide.ts';

const RULE = { minWorkers: 1, maxWorkers: 4, scaleUpThreshold: 5, scaleDownIdleSeconds: 300 };
let names = 0;
const member = (status: WorkerStatus, idleMs = 0): PoolMember => ({
  id: `w${names++}`,
  status,
  running: status === 'processing' ? 1 : 0,
  idleMs: status === 'processing' ? 0 : idleMs,
});
const some = (count: number, status: WorkerStatus, idleMs = 0): PoolMember[] =>
  Array.from({ length: count }, () => member(status, idleMs));
const decide = (runnable: number, members: readonly PoolMember[], rule = RULE) => {
  const { spawn, remove } = decideByThreshold({ runnable }, members, rule);
  return [spawn, remove.length];
};

test('at the threshold a look adds one worker, and below it none', () => {
  assert.deepEqual(decide(4, some(1, 'processing')), [0, 0]);
  assert.deepEqual(decide(5, some(1, 'processing')), [1, 0]);
  assert.deepEqual(decide(500, some(3, 'processing')), [1, 0]);
  assert.deepEqual(decide(500, some(4, 'processing')), [0, 0]);
});

test('the diagram of the document: depth 5 makes two workers, depth 10 ends at four, no depth and time at one', () => {
  let members = some(1, 'processing');
  const grow = (depth: number): number => {
    members = [...members, ...some(decideByThreshold({ runnable: depth }, members, RULE).spawn, 'processing')];
    return members.length;
  };
  assert.equal(grow(5), 2);
  assert.deepEqual([grow(10), grow(10), grow(10)], [3, 4, 4]);
  members = some(4, 'idle', 300_001);
  const counts: number[] = [];
  for (let look = 0; look < 4; look++) {
    const { remove } = decideByThreshold({ runnable: 0 }, members, RULE);
    members = members.filter(({ id }) => !remove.includes(id));
    counts.push(members.length);
  }
  assert.deepEqual(counts, [3, 2, 1, 1]);
});

test('an idle worker leaves when its time is over, nothing waits and the others are enough', () => {
  assert.deepEqual(decide(0, some(2, 'idle', 300_000)), [0, 0], 'not longer than the time');
  assert.deepEqual(decide(0, some(2, 'idle', 300_001)), [0, 1]);
  assert.deepEqual(decide(1, some(2, 'idle', 300_001)), [0, 0]);
  assert.deepEqual(decide(0, some(1, 'idle', 1e9)), [0, 0]);
  const [young, old] = [member('idle', 400_000), member('idle', 500_000)];
  assert.deepEqual(decideByThreshold({ runnable: 0 }, [young, old], RULE).remove, [old.id]);
});

test('dead workers are replaced at once, and those who leave do not count as staying', () => {
  const rule = { ...RULE, minWorkers: 3 };
  assert.deepEqual(decide(0, [], rule), [3, 0]);
  assert.deepEqual(decide(0, [...some(1, 'idle'), ...some(2, 'stopped')], rule), [2, 0]);
  assert.deepEqual(decide(0, [...some(2, 'idle'), ...some(2, 'draining')], rule), [0, 0], 'there is no room yet');
  assert.deepEqual(decide(0, [...some(1, 'draining', 1e9), ...some(1, 'idle', 1e9)]), [0, 0]);
});

test('by demand there are as many workers as runs wait, at once, and spare ones leave after their time', () => {
  const of = (runnable: number, members: readonly PoolMember[], runsPerWorker = 1) => {
    const { spawn, remove } = decideByDemand({ runnable, oldestAgeMs: 0 }, members, RULE, runsPerWorker);
    return [spawn, remove.length];
  };
  assert.deepEqual(of(4, some(1, 'processing')), [3, 0], 'where the threshold would never be reached');
  assert.deepEqual(of(2, [...some(1, 'processing'), ...some(1, 'idle')]), [1, 0]);
  assert.deepEqual(of(10, some(1, 'processing'), 4), [2, 0]);
  assert.deepEqual(of(0, some(3, 'idle', 300_001)), [0, 2]);
  assert.deepEqual(of(0, [...some(1, 'idle', 1), ...some(2, 'processing')]), [0, 0]);
});

const STATUSES = ['idle', 'processing', 'draining', 'stopped'] as const;
const anyMembers = fc
  .array(fc.record({ status: fc.constantFrom(...STATUSES), idleMs: fc.nat(700_000) }), { maxLength: 12 })
  .map((list) => list.map(({ status, idleMs }) => member(status, idleMs)));
const anyRule = fc
  .record({
    minWorkers: fc.nat(4),
    more: fc.integer({ min: 1, max: 8 }),
    scaleUpThreshold: fc.integer({ min: 1, max: 10 }),
    scaleDownIdleSeconds: fc.nat(600),
  })
  .map(({ more, ...rule }) => ({ ...rule, maxWorkers: rule.minWorkers + more }));
const ways = [
  ['threshold', decideByThreshold],
  ['demand', decideByDemand],
] as const;

for (const [name, way] of ways) {
  const each = (holds: (depth: number, members: PoolMember[], rule: typeof RULE) => void) =>
    fc.assert(fc.property(fc.nat(20), anyMembers, anyRule, holds), { numRuns: 1000 });
  const on = (depth: number, members: PoolMember[], rule: typeof RULE) =>
    way({ runnable: depth, oldestAgeMs: 0 }, members, rule);

  test(`${name}: whatever is found, there are never more than the most by a start, nor fewer than the least by a stop`, () => {
    each((depth, members, rule) => {
      const { spawn, remove } = on(depth, members, rule);
      const there = members.filter(({ status }) => status !== 'stopped');
      const staying = there.filter(({ status }) => status !== 'draining');
      assert.ok(spawn >= 0 && (spawn === 0 || spawn + there.length <= rule.maxWorkers));
      assert.ok(remove.length === 0 || staying.length - remove.length >= rule.minWorkers);
      assert.ok(spawn === 0 || remove.length === 0);
    });
  });

  test(`${name}: whatever is found, nobody is stopped who is busy, has just had a run, or is leaving`, () => {
    each((depth, members, rule) => {
      for (const id of on(depth, members, rule).remove) {
        const one = members.find((each) => each.id === id);
        assert.equal(one?.status, 'idle');
        assert.ok(one.idleMs >= rule.scaleDownIdleSeconds * 1000);
      }
    });
  });

  test(`${name}: whatever is found, the least number of workers is seen to as far as there is room`, () => {
    each((depth, members, rule) => {
      const there = members.filter(({ status }) => status !== 'stopped');
      const staying = there.filter(({ status }) => status !== 'draining').length;
      const room = Math.max(0, rule.maxWorkers - there.length);
      if (staying < rule.minWorkers)
        assert.ok(on(depth, members, rule).spawn >= Math.min(room, rule.minWorkers - staying));
    });
  });
}

test('threshold: beyond the least number, a look changes one worker at most', () => {
  fc.assert(
    fc.property(fc.nat(20), anyMembers, anyRule, (depth, members, rule) => {
      const { spawn, remove } = decideByThreshold({ runnable: depth }, members, rule);
      const staying = members.filter(({ status }) => status === 'idle' || status === 'processing').length;
      assert.ok(spawn <= Math.max(1, rule.minWorkers - staying));
      assert.ok(remove.length <= 1);
    }),
    { numRuns: 1000 },
  );
});
