import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters as plain } from 'node:util';
import { cut, padded, styledWidth, wrapped } from './styled-text.ts';

const RED = '\u001b[31m';
const END = '\u001b[39m';

test('colours take no columns', () => {
  assert.equal(styledWidth(`${RED}日本${END}!`), 5);
});

test('a painted line is cut between letters, and its colour ends with it', () => {
  assert.equal(cut(`${RED}abcdef${END}`, 4), `${RED}abc\u001b[0m…`);
  assert.equal(cut(`${RED}abcd${END}`, 4), `${RED}abcd${END}`);
  assert.equal(styledWidth(cut(`${RED}日本語${END}`, 4)), 3);
  assert.equal(plain(cut(`${RED}abc${END}`, 0)), '');
});

test('a padded line has exactly its width, unless a wide letter does not fit', () => {
  for (const text of ['', 'ab', 'abcdefgh', `${RED}abcdefgh${END}`]) assert.equal(styledWidth(padded(text, 5)), 5);
});

test('a long line is wrapped at spaces, with its indent, and nothing of it is lost', () => {
  const lines = wrapped('  the task waits for a limit that is full', 20);
  assert.deepEqual(lines, ['  the task waits for', '  a limit that is', '  full']);
});

test('a colour that spans lines is painted on each of them', () => {
  const lines = wrapped(`${RED}aaaaaaaaaabbbbbbbbbbcc${END}`, 10);
  assert.deepEqual(lines.map(plain), ['aaaaaaaaaa', 'bbbbbbbbbb', 'cc']);
  for (const line of lines) assert.ok(line.startsWith(RED), JSON.stringify(line));
});

test('no wrapped line is wider than it may be', () => {
  const text = `x ${RED}日本 語 ${END}${'word '.repeat(30)}${'y'.repeat(90)}`;
  for (let width = 10; width < 60; width += 1)
    for (const line of wrapped(text, width)) assert.ok(styledWidth(line) <= width, `${width}: ${line}`);
});
