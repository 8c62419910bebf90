import assert from 'node:assert/strict';
import { test } from 'node:test';
import { texts } from '../arrays.ts';

test('a text in an array has a backslash before each quote and each backslash, and nothing else is changed', () => {
  const asked = ['', '{"a":"b\\n"}', 'a\nb', '\t"\\', '😀"', '\ud83d"', '\u2028"\u007f'];
  for (let unit = 0; unit <= 0xffff; unit++) asked.push(`"${String.fromCharCode(unit)}\\`);
  for (const text of asked) assert.equal(texts([text]), `{"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"}`);
});

test('what is not there is NULL, and the word is a text', () => {
  assert.equal(texts([null, 'NULL', undefined]), '{NULL,"NULL",NULL}');
  assert.equal(texts([]), '{}');
});
