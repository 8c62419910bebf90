import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shellWord } from './shell-word.ts';

test('a plain text is a word as it is', () => {
  for (const text of ['render', 'gpu=nvidia', 'a.b-c_d:e@f/g+h,i', 'Ada:1']) assert.equal(shellWord(text), text);
});

test('any other text is quoted, so that a shell reads it as one word and runs nothing of it', () => {
  assert.equal(shellWord(''), "''");
  assert.equal(shellWord('render-*'), "'render-*'");
  assert.equal(shellWord('memory_gb>=16'), "'memory_gb>=16'");
  assert.equal(shellWord("a'; rm -rf ~ #"), "'a'\\''; rm -rf ~ #'");
  assert.equal(shellWord('$(date)'), "'$(date)'");
});
