import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idleGaps, timeScale } from './time.ts';

const HOUR = 3_600_000;
const bar = (from: number, until: number | undefined) => ({ from, until });

test('without gaps the scale is even, with a tick at round times', () => {
  const { partOf, ticks } = timeScale(1000, 11_000);
  assert.deepEqual([partOf(1000), partOf(6000), partOf(11_000), partOf(99_000)], [0, 0.5, 1, 1]);
  assert.deepEqual(
    ticks.map(({ text }) => text),
    ['0', '2s', '4s', '6s', '8s', '10s'],
  );
});

test('a wait of hours between seconds of work is cut short', () => {
  const bars = [bar(0, 2000), bar(2000 + 3 * HOUR, 5000 + 3 * HOUR)];
  const until = 5000 + 3 * HOUR;
  const gaps = idleGaps(bars, 0, until);
  assert.deepEqual(gaps, [{ from: 2000, until: 2000 + 3 * HOUR }]);
  const scale = timeScale(0, until, gaps);
  assert.ok(scale.partOf(2000) > 0.3, 'the work before it is seen');
  assert.ok(scale.partOf(until) === 1);
  assert.equal(scale.gaps[0]?.text, '3h');
  assert.ok((scale.gaps[0]?.size ?? 1) < 0.1);
});

test('times stay in order across gaps', () => {
  const gaps = [
    { from: 1000, until: 90_000 },
    { from: 95_000, until: 400_000 },
  ];
  const { partOf } = timeScale(0, 410_000, gaps);
  const parts = [0, 500, 1000, 40_000, 90_000, 95_000, 200_000, 400_000, 410_000].map(partOf);
  assert.deepEqual(
    parts,
    [...parts].sort((a, b) => a - b),
  );
  assert.equal(new Set(parts).size, parts.length);
});

test('short pauses stay, and what goes on is not idle', () => {
  assert.deepEqual(idleGaps([bar(0, 1000), bar(2000, 10_000)], 0, 10_000), []);
  assert.deepEqual(idleGaps([bar(0, undefined)], 0, HOUR), []);
});

test('a run that only waits is shown whole', () => {
  const gaps = idleGaps([], 0, HOUR);
  const { partOf } = timeScale(0, HOUR, gaps);
  assert.equal(partOf(HOUR), 1);
  assert.ok(Number.isFinite(partOf(HOUR / 2)));
});

test('no time at all is a scale too', () => {
  const { partOf, ticks } = timeScale(5, 5);
  assert.ok(Number.isFinite(partOf(5)) && ticks.length >= 1);
});
