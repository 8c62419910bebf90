import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clockTime, duration, durationText, exactTime, isDuration, millisecondsOf, relativeTime } from './time.ts';

test('what was and what comes is said in one unit', () => {
  const now = 1_000_000_000;
  assert.equal(relativeTime(now - 200, now), 'now');
  assert.equal(relativeTime(now - 12_900, now), '12s ago');
  assert.equal(relativeTime(now + 180_000, now), 'in 3m');
  assert.equal(relativeTime(now - 7_200_000, now), '2h ago');
  assert.equal(relativeTime(now - 9 * 86_400_000, now), '9d ago');
});

test('how long something took has two units at most', () => {
  assert.deepEqual([-5, 0, 840, 1249, 9999, 59_999, 245_000, 7_800_000, 273_600_000].map(duration), [
    '0ms',
    '0ms',
    '840ms',
    '1.2s',
    '9.9s',
    '59s',
    '4m 05s',
    '2h 10m',
    '3d 4h',
  ]);
});

test('the exact time has its milliseconds, and what is no time is shown as it is', () => {
  assert.match(exactTime(1_700_000_000_123), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.123$/);
  assert.match(clockTime(5), /\.005$/);
  assert.equal(exactTime(Number.NaN), 'NaN');
});

test('a duration is told from other text', () => {
  assert.deepEqual(['30s', '1h30m', '5', '', 's', '3x', '250ms'].map(isDuration), [
    true,
    true,
    false,
    false,
    false,
    false,
    true,
  ]);
});

test('a duration says how long it is', () => {
  assert.deepEqual(
    ['1h30m', '250ms', '2d', '1m5s', 'soon'].map(millisecondsOf),
    [5_400_000, 250, 172_800_000, 65_000, 0],
  );
});

test('a duration is written so that it can be read again without a loss', () => {
  for (const [ms, text] of [
    [0, '0s'],
    [500, '500ms'],
    [90_000, '1m30s'],
    [5_400_000, '1h30m'],
    [90_061_001, '1d1h1m1s1ms'],
  ] as const) {
    assert.equal(durationText(ms), text);
    assert.equal(millisecondsOf(text), ms);
  }
});
