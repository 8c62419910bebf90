import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rangeOf } from './byte-range.ts';

test('one range is cut to the bytes that there are', () => {
  assert.deepEqual(rangeOf('bytes=0-4', 10), { start: 0, end: 5 });
  assert.deepEqual(rangeOf('bytes=7-', 10), { start: 7, end: 10 });
  assert.deepEqual(rangeOf('bytes=-3', 10), { start: 7, end: 10 });
  assert.deepEqual(rangeOf('bytes=-30', 10), { start: 0, end: 10 });
  assert.deepEqual(rangeOf('bytes=8-99', 10), { start: 8, end: 10 });
});

test('what is no range, or several, asks for all', () => {
  for (const header of [
    undefined,
    '',
    'bytes=-',
    'bytes=5-4',
    'bytes=0-1,3-4',
    'rows=0-1',
    'bytes= 0-1',
    'bytes=a-b',
  ]) {
    assert.equal(rangeOf(header, 10), undefined, String(header));
  }
});

test('a range of bytes that are not there is none', () => {
  assert.equal(rangeOf('bytes=10-', 10), 'none');
  assert.equal(rangeOf('bytes=-0', 10), 'none');
  assert.equal(rangeOf('bytes=0-', 0), 'none');
  assert.equal(rangeOf('bytes=-5', 0), 'none');
});
