import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatClock, formatRelative, formatTime, formatTook, formatWhen } from './time.ts';

const at = new Date(2026, 4, 4, 13, 5, 6, 78).getTime();

test('a time is told by the clock on the wall and from now', () => {
  assert.equal(formatTime(at), '2026-05-04 13:05:06');
  assert.equal(formatClock(at), '13:05:06.078');
  assert.equal(formatWhen(at, at + 192_000), '2026-05-04 13:05:06 (3m 12s ago)');
  assert.deepEqual(
    [at - 5000, at, at + 999, at + 5000, at + 7_500_000].map((other) => formatRelative(other, at)),
    ['5s ago', 'now', 'now', 'in 5s', 'in 2h 5m'],
  );
});

test('what took less than a second is told in milliseconds', () => {
  assert.deepEqual([-5, 0, 250.4, 4230, 12_345, 192_000].map(formatTook), [
    '0ms',
    '0ms',
    '250ms',
    '4.2s',
    '12s',
    '3m 12s',
  ]);
});
