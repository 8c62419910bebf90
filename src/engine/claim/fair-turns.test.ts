import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lane } from '../../store/store.ts';
import { FairTurns } from './fair-turns.ts';

const laneOf = (id: number, key: string, weight = 1): Lane =>
  ({
    id,
    queue: 'q',
    handler: 'h',
    rules: { fairness: { key, weight }, placement: {}, uses: [], limits: [] },
  }) as unknown as Lane;
const any = (): boolean => true;

function turnsOf(lanes: readonly Lane[], priority = 0): FairTurns {
  const turns = new FairTurns();
  for (const lane of lanes) turns.set(lane, { mark: 1, priority });
  return turns;
}

interface Drain {
  readonly claims: number;
  readonly limit: number;
  readonly max: number;
  readonly wants?: (lane: number) => boolean;
}

/** Grants what the shares ask for, and tells how much each lane got. `lanes`: by their numbers. */
function drain(
  turns: FairTurns,
  lanes: readonly Lane[],
  { claims, limit, max, wants = any }: Drain,
): ReadonlyMap<number, number> {
  const got = new Map<number, number>();
  for (let claim = 0; claim < claims; claim++) {
    let left = max;
    for (const share of turns.share(wants, limit, max)) {
      const count = Math.min(left, share.max);
      left -= count;
      got.set(share.lane, (got.get(share.lane) ?? 0) + count);
      turns.toBack(share.lane);
      turns.served(lanes[share.lane] as Lane, count);
    }
    assert.equal(left, 0, 'a claim asks for all it wants');
  }
  return got;
}

test('of ten thousand keys a claim asks only as many as it may, and those that are behind', () => {
  const lanes = Array.from({ length: 10_000 }, (_, id) => laneOf(id, `key ${id}`));
  const turns = turnsOf(lanes);
  const first = turns.share(any, 200, 250);
  assert.equal(first.length, 200);
  assert.ok(first.reduce((sum, { max }) => sum + max, 0) >= 250);
  for (const { lane, max } of first) turns.served(lanes[lane] as Lane, max);
  const second = turns.share(any, 200, 250);
  assert.deepEqual(
    new Set(second.map(({ lane }) => lane)).intersection(new Set(first.map(({ lane }) => lane))),
    new Set(),
  );
});

test('a claim looks at no lane besides those it asks', () => {
  const lanes = Array.from({ length: 10_000 }, (_, id) => laneOf(id, `key ${id}`));
  const turns = turnsOf(lanes);
  drain(turns, lanes, { claims: 100, limit: 200, max: 200 });
  const looked = new Set<number>();
  const asked = turns.share((lane) => looked.add(lane) !== undefined, 200, 200);
  assert.deepEqual(looked, new Set(asked.map(({ lane }) => lane)));
});

test('keys that are asked for several tasks at once get as much as the others in the end', () => {
  const lanes = Array.from({ length: 100 }, (_, id) => laneOf(id, `key ${id}`));
  // Each claim asks ten keys for eight tasks.
  const got = [...drain(turnsOf(lanes), lanes, { claims: 100, limit: 10, max: 80 }).values()];
  assert.equal(got.length, 100);
  assert.ok(Math.max(...got) - Math.min(...got) <= 8, `${Math.min(...got)} to ${Math.max(...got)}`);
});

test('a key of three times the weight gets three times as much', () => {
  const lanes = [laneOf(0, 'a', 3), laneOf(1, 'b', 1)];
  const got = drain(turnsOf(lanes), lanes, { claims: 50, limit: 16, max: 16 });
  assert.deepEqual([got.get(0), got.get(1)], [600, 200]);
});

test('the tasks of a key are shared by its lanes, and a key with many lanes gets no more than one with one', () => {
  const lanes = Array.from({ length: 50 }, (_, id) => laneOf(id, id === 0 ? 'one' : 'many'));
  const got = drain(turnsOf(lanes), lanes, { claims: 10, limit: 16, max: 10 });
  assert.equal(got.get(0), 50);
});

test('a key that is new begins where the slowest of the others is', () => {
  const lanes = [laneOf(0, 'a'), laneOf(1, 'b'), laneOf(2, 'c')];
  const turns = turnsOf(lanes.slice(0, 2));
  drain(turns, lanes, { claims: 10, limit: 16, max: 10 });
  turns.set(lanes[2] as Lane, { mark: 1, priority: 0 });
  const got = drain(turns, lanes, { claims: 10, limit: 16, max: 9 });
  assert.deepEqual([got.get(0), got.get(1), got.get(2)], [30, 30, 30]);
});

test('a key that was away has not saved up turns, nor lost those that it took before', () => {
  const lanes = [laneOf(0, 'a'), laneOf(1, 'b'), laneOf(2, 'c')];
  const turns = turnsOf(lanes);
  drain(turns, lanes, { claims: 10, limit: 16, max: 9 });
  turns.delete(0);
  drain(turns, lanes, { claims: 100, limit: 16, max: 10 });
  turns.set(lanes[0] as Lane, { mark: 2, priority: 0 });
  const got = drain(turns, lanes, { claims: 10, limit: 16, max: 9 });
  assert.deepEqual([got.get(0), got.get(1), got.get(2)], [30, 30, 30]);
  // It took ten more than the others just before it left.
  turns.served(lanes[0] as Lane, 10);
  turns.delete(0);
  turns.set(lanes[0] as Lane, { mark: 3, priority: 0 });
  const then = drain(turns, lanes, { claims: 10, limit: 16, max: 2 });
  assert.deepEqual([then.get(0), then.get(1), then.get(2)], [undefined, 10, 10]);
});

test('keys that come and go leave nothing behind', () => {
  const slow = laneOf(0, 'slow');
  const others = [slow, laneOf(1, 'fast'), laneOf(2, 'other')];
  const turns = turnsOf(others);
  turns.share(any, 16, 3);
  turns.served(others[1] as Lane, 1_000_000);
  // Nobody takes from the slow one, so that the fast ones never come to the front.
  for (let i = 0; i < 1000; i++) {
    turns.delete(1);
    turns.set(others[1] as Lane, { mark: i, priority: 0 });
    assert.equal(turns.share((lane) => lane !== 0, 16, 2).length > 0, true);
  }
  assert.deepEqual(
    turns.share(any, 16, 2).map(({ lane }) => lane),
    [0, 2],
  );
});

test('the highest priority that is wanted comes first, and a lane may change its own', () => {
  const lanes = [laneOf(0, 'a'), laneOf(1, 'b'), laneOf(2, 'c')];
  const turns = new FairTurns();
  for (const [id, lane] of lanes.entries()) turns.set(lane, { mark: 1, priority: id });
  const asked = (wants: (lane: number) => boolean): readonly number[] =>
    turns.share(wants, 16, 1).map(({ lane }) => lane);
  assert.deepEqual([asked(any), turns.top(any)], [[2], 2]);
  assert.deepEqual(
    asked((lane) => lane !== 2),
    [1],
  );
  turns.set(lanes[0] as Lane, { mark: 2, priority: 9 });
  assert.deepEqual([asked(any), turns.top(any)], [[0], 9]);
  turns.delete(0);
  assert.deepEqual([asked(any), turns.top(any)], [[2], 2]);
});

test('lanes without keys are asked equally', () => {
  const lanes = Array.from({ length: 4 }, (_, id) => ({ id, queue: 'q', handler: 'h' }) as unknown as Lane);
  assert.deepEqual(
    turnsOf(lanes)
      .share(any, 2, 10)
      .map(({ lane, max }) => [lane, max]),
    [
      [0, 5],
      [1, 5],
    ],
  );
});
