import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clip, widthOf } from './width.ts';

test('a line is as wide as a terminal shows it', () => {
  assert.deepEqual(['', 'abc', 'naïve', 'e\u0301', '中文', '🚀x', '✓ ok'].map(widthOf), [0, 3, 5, 1, 4, 3, 4]);
});

test('what is cut ends in an ellipsis and never exceeds its width', () => {
  assert.deepEqual([clip('abcdef', 6), clip('abcdef', 4), clip('abc', 1), clip('abc', 0)], ['abcdef', 'abc…', '…', '']);
  assert.equal(clip('中文字', 4), '中…');
  for (let width = 0; width < 8; width += 1) assert.ok(widthOf(clip('a中b文c🚀', width)) <= width);
});
