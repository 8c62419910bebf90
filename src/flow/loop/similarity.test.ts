import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SAME, similarity } from './similarity.ts';

test('the same words are the same text, whatever the blanks and the case', () => {
  assert.equal(similarity('Added the parser.\n', 'added  the parser.'), 1);
  assert.equal(similarity('', ' \n'), 1);
  assert.equal(similarity('done', 'done'), 1);
});

test('texts without a common pair of words have nothing in common', () => {
  assert.equal(similarity('one two three', 'four five six'), 0);
  assert.equal(similarity('done', ''), 0);
});

test('one word that changed in a long report is the same again, another report is not', () => {
  const report = (n: number): string =>
    `I looked at task ${n} and tried to fix the failing build of the parser, but the same error came again and I could not go on from there today.`;
  assert.ok(similarity(report(1), report(2)) > SAME);
  assert.ok(similarity(report(1), 'I wrote the tests of the lexer, and all of them pass now.') < 0.3);
});

test('it does not matter which of the two came first', () => {
  const [a, b] = ['one two three four', 'two three four five six'];
  assert.equal(similarity(a, b), similarity(b, a));
});
