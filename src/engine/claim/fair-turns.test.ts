import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lane } from '../../store/store.ts';
import { FairTurns } from './fair-turns.ts';
import type { ServableLane } from './lane-choice.ts';

const laneOf = (id: number, key: string, weight = 1): Lane =>
  ({
    id,
    queue: 'q',
    handler: 'h',
    rules: { fairness: { key, weight }, placement: {}, uses: [], limits: [] },
  }) as unknown as Lane;
const choices = (lanes: readonly Lane[]): readonly ServableLane[] =>
  lanes.map((lane) => ({ lane, mark: 1, priority: 0 }));

/** Grants what the shares ask for, and tells how much each lane got. */
function drain(
  turns: FairTurns,
  lanes: readonly Lane[],
  claims: number,
  limit: number,
  max: number,
): ReadonlyMap<number, number> {
  const got = new Map<number, number>();
  for (let claim = 0; claim < claims; claim++) {
    let left = max;
    for (const share of turns.share(choices(lanes), limit, max)) {
      const count = Math.min(left, share.max);
      left -= count;
      got.set(share.lane, (got.get(share.lane) ?? 0) + count);
      turns.served(lanes[share.lane] as Lane, count);
    }
    assert.equal(left, 0, 'a claim asks for all it wants');
  }
  return got;
}

test('of ten thousand keys a claim asks only as many as it may, and those that are behind', () => {
  const lanes = Array.from({ length: 10_000 }, (_, id) => laneOf(id, `key ${id}`));
  const turns = new FairTurns();
  const first = turns.share(choices(lanes), 200, 250);
  assert.equal(first.length, 200);
  assert.ok(first.reduce((sum, { max }) => sum + max, 0) >= 250);
  for (const { lane, max } of first) turns.served(lanes[lane] as Lane, max);
  const second = turns.share(choices(lanes), 200, 250);
  assert.deepEqual(
    new Set(second.map(({ lane }) => lane)).intersection(new Set(first.map(({ lane }) => lane))),
    new Set(),
  );
});

test('keys that are asked for several tasks at once get as much as the others in the end', () => {
  const lanes = Array.from({ length: 100 }, (_, id) => laneOf(id, `key ${id}`));
  // Each claim asks ten keys for eight tasks.
  const got = [...drain(new FairTurns(), lanes, 100, 10, 80).values()];
  assert.equal(got.length, 100);
  assert.ok(Math.max(...got) - Math.min(...got) <= 8, `${Math.min(...got)} to ${Math.max(...got)}`);
});

test('a key of three times the weight gets three times as much', () => {
  const got = drain(new FairTurns(), [laneOf(0, 'a', 3), laneOf(1, 'b', 1)], 50, 16, 16);
  assert.deepEqual([got.get(0), got.get(1)], [600, 200]);
});

test('the tasks of a key are shared by its lanes, and a key with many lanes gets no more than one with one', () => {
  const lanes = Array.from({ length: 50 }, (_, id) => laneOf(id, id === 0 ? 'one' : 'many'));
  const got = drain(new FairTurns(), lanes, 10, 16, 10);
  assert.equal(got.get(0), 50);
});

test('a key that is new begins where the slowest of the others is', () => {
  const turns = new FairTurns();
  const old = [laneOf(0, 'a'), laneOf(1, 'b')];
  drain(turns, old, 10, 16, 10);
  const got = drain(turns, [...old, laneOf(2, 'c')], 10, 16, 9);
  assert.deepEqual([got.get(0), got.get(1), got.get(2)], [30, 30, 30]);
});

test('lanes without keys are asked equally', () => {
  const lanes = Array.from({ length: 4 }, (_, id) => ({ id, queue: 'q', handler: 'h' }) as unknown as Lane);
  assert.deepEqual(
    new FairTurns().share(choices(lanes), 2, 10).map(({ lane, max }) => [lane, max]),
    [
      [0, 5],
      [1, 5],
    ],
  );
});
