import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Point, plotOf, pointAt, pointsOf, rangeFor, totalOf } from './history.ts';

const NOBODY = { busy: 0, idle: 0, starting: 0, leaving: 0 };
const point = (at: number, wish: Partial<Point> = {}): Point => ({ ...NOBODY, want: 0, at, ...wish });
const decided = (at: number, wish: object = {}) => ({ ...NOBODY, want: 0, launched: 0, drained: 0, at, ...wish });

test('a decision counts with what it has done: starts are on their way, workers sent home are leaving', () => {
  const points = pointsOf(
    [decided(20, { idle: 2, drained: 1 }), decided(10, { want: 3, busy: 1, launched: 2 })],
    [],
    point(30, { idle: 1, want: 1 }),
  );
  assert.deepEqual(points, [
    point(10, { want: 3, busy: 1, starting: 2 }),
    point(20, { idle: 1, leaving: 1 }),
    point(30, { idle: 1, want: 1 }),
  ]);
  assert.equal(totalOf(points[0] as Point), 3);
});

test('a worker is starting until its ticket was redeemed, and then does what is known of it next', () => {
  const starts = [
    { at: 10, state: 'used', endedAt: 14 },
    { at: 10, state: 'expired', endedAt: 16 },
    { at: 10, state: 'used', endedAt: 12 },
    { at: 10, state: 'open' },
  ];
  const points = pointsOf(
    [decided(10, { want: 4, launched: 4 })],
    starts,
    point(20, { want: 1, busy: 1, starting: 1 }),
  );
  assert.deepEqual(
    points.map(({ at, starting, busy, idle }) => [at, starting, busy, idle]),
    [
      [10, 4, 0, 0],
      [12, 3, 1, 0],
      [14, 2, 1, 1],
      [16, 1, 1, 1],
      [20, 1, 1, 0],
    ],
  );
});

test('a worker that was sent home is there until it was last heard of, not until something is decided again', () => {
  const starts = [
    { at: 1, state: 'used', endedAt: 2, leftAt: 14 },
    { at: 1, state: 'used', endedAt: 2, leftAt: 16 },
    { at: 1, state: 'used', endedAt: 2 },
  ];
  const points = pointsOf([decided(10, { idle: 3, drained: 2 })], starts, point(90, { idle: 1 }));
  assert.deepEqual(
    points.map(({ at, idle, leaving }) => [at, idle, leaving]),
    [
      [10, 1, 2],
      [14, 1, 1],
      [16, 1, 0],
      [90, 1, 0],
    ],
  );
});

test('a decision from a clock that is ahead of this one is not drawn after the present', () => {
  assert.deepEqual(
    pointsOf([decided(99)], [], point(30)).map(({ at }) => at),
    [30],
  );
});

test('the range is the shortest in which most of the decisions lie', () => {
  const minute = 60_000;
  const now = 100_000 * minute;
  const ago = (...minutes: readonly number[]) => [...minutes.map((one) => point(now - one * minute)), point(now)];
  assert.equal(rangeFor(ago(), now), 'all');
  assert.equal(rangeFor(ago(3, 2, 1), now), 'all');
  assert.equal(rangeFor(ago(60, 3, 2, 1), now), '10m');
  assert.equal(rangeFor(ago(50, 40, 30, 20, 1), now), '1h');
  assert.equal(rangeFor(ago(5000, 4000, 3000, 2000), now), 'all');
});

test('figures are steps that hold until the next one, and areas lie on each other', () => {
  const plot = plotOf([point(0, { want: 2 }), point(50, { want: 2, busy: 1, starting: 1 }), point(100)], 'all');
  assert.equal(plot.top, 2);
  assert.equal(plot.want, 'M0 0L500 0L500 0L1000 0L1000 100');
  assert.deepEqual(
    plot.areas.map(({ kind }) => kind),
    ['busy', 'starting'],
  );
  assert.equal(plot.areas[0]?.path, 'M0 100L500 100L500 50L1000 50L1000 100L1000 100L1000 100L500 100L500 100L0 100Z');
});

test('what held before the left edge is drawn from there', () => {
  const now = 10_000_000;
  const plot = plotOf([point(1, { want: 4 }), point(now, { want: 1 })], '10m');
  assert.equal(plot.points[0]?.at, now - 600_000);
  assert.equal(pointAt(plot, 0.5)?.want, 4);
  assert.equal(pointAt(plot, 1)?.want, 1);
});

test('a pool that was made this instant has a chart as well', () => {
  const plot = plotOf([point(5)], 'all');
  assert.ok(plot.until > plot.from);
  assert.doesNotMatch(plot.want, /NaN|Infinity/);
});

test('the scale ends at a number with a whole half', () => {
  for (const [most, top] of [
    [0, 2],
    [3, 4],
    [7, 8],
    [11, 20],
    [47, 50],
    [4_300, 5_000],
  ] as const)
    assert.equal(plotOf([point(1, { want: most }), point(2)], 'all').top, top);
});
