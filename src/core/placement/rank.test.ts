import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Candidate, normalizePlacement, type Placed, type PlacementInput } from './placement.ts';
import { byTurn, type Fleet, GRACE_MS, type Member, rank, waitOf } from './rank.ts';

const NOW = 1_000_000;
const STALE = 30_000;

let last = 0;
function member(name: string, its: Partial<Candidate> = {}, free = 1, seenAt = NOW): Member {
  last++;
  const worker: Candidate = {
    worker: last,
    name,
    state: 'online',
    enabled: true,
    tags: [],
    handlers: undefined,
    queues: undefined,
    version: undefined,
    priority: 0,
    ...its,
  };
  return { worker, free, seenAt };
}

const fleet = (members: readonly Member[], served?: string): Fleet => ({
  members,
  staleMs: STALE,
  servedLast: (key) => (key === 'repo-7' ? served : undefined),
});

const placed = (input: PlacementInput = {}): Placed => ({
  queue: 'mail',
  handler: 'send',
  placement: normalizePlacement(input),
});

/** Name → how long it waits, best first. */
const ranked = (members: readonly Member[], input?: PlacementInput, served?: string): Record<string, number> =>
  Object.fromEntries(
    rank(placed(input), fleet(members, served), NOW).map(({ worker, waitMs }) => [worker.name, waitMs]),
  );

test('of two idle workers the lower ranked leaves a task to the better one for a moment', () => {
  const members = [member('spare', { priority: -1 }), member('good')];
  assert.deepEqual(Object.entries(ranked(members)), [
    ['good', 0],
    ['spare', GRACE_MS],
  ]);
  assert.equal(GRACE_MS, 200);
});

test('a better worker that is full is not waited for', () => {
  assert.deepEqual(ranked([member('good', { priority: 5 }, 0), member('spare')]), { good: 0, spare: 0 });
});

test('a better worker that has been silent for long is not waited for', () => {
  const silent = (ms: number): Member => member('good', { priority: 5 }, 1, NOW - ms);
  assert.deepEqual(ranked([silent(STALE), member('spare')]), { good: 0, spare: GRACE_MS });
  assert.deepEqual(ranked([silent(STALE + 1), member('spare')]), { good: 0, spare: 0 });
});

test('a better worker that may not run the task is not waited for and not ranked', () => {
  const members = [member('good', { priority: 5 }), member('lost', { priority: 9, state: 'lost' }), member('spare')];
  assert.deepEqual(ranked(members, { never: ['good'] }), { spare: 0 });
  assert.deepEqual(ranked(members, { requires: ['gpu'] }), {});
});

test('a worker behind the best one that has room waits, even behind a full one', () => {
  const members = [member('full', { priority: 2 }, 0), member('good', { priority: 1 }), member('spare')];
  assert.deepEqual(ranked(members), { full: 0, good: 0, spare: GRACE_MS });
});

test('workers of equal rank do not wait for each other, and come in the order of their numbers', () => {
  const members = [member('a'), member('b'), member('c')];
  assert.deepEqual(
    rank(placed(), fleet(members.toReversed()), NOW).map(({ worker, waitMs }) => [worker.name, waitMs]),
    [
      ['a', 0],
      ['b', 0],
      ['c', 0],
    ],
  );
});

test('preferences decide among equal priorities, and never over them', () => {
  const prefer = [{ tag: 'gpu', weight: 5 }, { tag: 'zone=eu' }];
  const members = [member('plain'), member('eu', { tags: ['zone=eu'] }), member('gpu', { tags: ['gpu'] })];
  assert.deepEqual(Object.entries(ranked(members, { prefer })), [
    ['gpu', 0],
    ['eu', GRACE_MS],
    ['plain', GRACE_MS],
  ]);
  const other = [...members, member('first', { priority: 1 })];
  assert.deepEqual(Object.keys(ranked(other, { prefer })), ['first', 'gpu', 'eu', 'plain']);
});

test('the worker that last served an affinity key comes before all preferences, and before no higher priority', () => {
  const most = Array.from({ length: 50 }, (_, n) => ({ tag: `t${n}`, weight: 1_000_000 }));
  const members = [
    member('liked', { tags: most.map(({ tag }) => tag) }),
    member('known'),
    member('low', { priority: -1 }),
  ];
  const wish = { prefer: most, affinity: 'repo-7' };
  assert.deepEqual(ranked(members, wish, 'known'), { known: 0, liked: GRACE_MS, low: GRACE_MS });
  assert.deepEqual(Object.keys(ranked(members, wish, 'low')), ['liked', 'known', 'low']);
  assert.deepEqual(ranked(members, { affinity: 'repo-8' }, 'known'), { liked: 0, known: 0, low: GRACE_MS });
  assert.deepEqual(ranked(members, {}, 'known'), { liked: 0, known: 0, low: GRACE_MS });
});

test('the wait of one worker is that of its rank, and 0 for one that is not ranked', () => {
  const [good, spare, banned] = [member('good', { priority: 1 }), member('spare'), member('banned')];
  const wait = ({ worker }: Member): number =>
    waitOf(worker.worker, placed({ never: ['banned'] }), fleet([good, spare, banned]), NOW);
  assert.deepEqual([good, spare, banned].map(wait), [0, GRACE_MS, 0]);
  assert.equal(waitOf(-1, placed(), fleet([good]), NOW), 0);
});

test('whatever the workers, one that waits is behind an online one that has room, and that one does not wait', () => {
  const members = fc.array(
    fc.record({
      priority: fc.integer({ min: 0, max: 2 }),
      gpu: fc.boolean(),
      free: fc.integer({ min: 0, max: 1 }),
      ago: fc.constantFrom(0, STALE, STALE + 1),
    }),
    { maxLength: 6 },
  );
  fc.assert(
    fc.property(members, (all) => {
      const crew = all.map(({ priority, gpu, free, ago }, n) =>
        member(`w${n}`, { priority, tags: gpu ? ['gpu'] : [] }, free, NOW - ago),
      );
      const waits = ranked(crew, { prefer: [{ tag: 'gpu' }] });
      const score = (n: number): number => (all[n]?.priority ?? 0) * 2 + (all[n]?.gpu ? 1 : 0);
      const there = [...all.keys()].filter((n) => all[n]?.free === 1 && all[n]?.ago !== STALE + 1);
      for (const n of all.keys()) {
        assert.equal(waits[`w${n}`], there.some((other) => score(other) > score(n)) ? GRACE_MS : 0);
      }
    }),
  );
});

test('of waiting claims the better worker is served first, then the less busy one, then the one that has waited longer', () => {
  const waiter = (name: string, priority: number, freeShare: number, since: number) => ({
    name,
    priority,
    freeShare,
    since,
  });
  const line = [
    waiter('late', 0, 0.5, 9),
    waiter('early', 0, 0.5, 1),
    waiter('idle', 0, 1, 5),
    waiter('busy and better', 7, 0.1, 8),
    waiter('worse', -1, 1, 0),
  ];
  assert.deepEqual(
    line.toSorted(byTurn).map(({ name }) => name),
    ['busy and better', 'idle', 'early', 'late', 'worse'],
  );
});
