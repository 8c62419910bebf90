import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffFrames } from './frame-diff.ts';

test('the first frame wipes the screen and has every line', () => {
  const text = diffFrames(undefined, ['a', 'b'], 10);
  assert.equal(text, '\u001b[?2026h\u001b[0m\u001b[2J\u001b[1;1Ha\u001b[K\u001b[2;1Hb\u001b[K\u001b[?2026l');
});

test('only lines that differ are written, and nothing at all where none does', () => {
  assert.equal(diffFrames(['a', 'b'], ['a', 'c'], 10), '\u001b[?2026h\u001b[2;1Hc\u001b[K\u001b[?2026l');
  assert.equal(diffFrames(['a', 'b'], ['a', 'b'], 10), '');
});

test('a line of full width is not wiped at its end, and lines that are gone are', () => {
  assert.equal(diffFrames(['a', 'b'], ['abc'], 3), '\u001b[?2026h\u001b[1;1Habc\u001b[2;1H\u001b[K\u001b[?2026l');
});
