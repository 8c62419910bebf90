import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLAIN, parseAnsi, plainText } from './ansi.ts';

const texts = (line: string): string =>
  parseAnsi(line)
    .spans.map(({ text }) => text)
    .join('');

test('colours become spans and end with a reset', () => {
  assert.deepEqual(parseAnsi('a \x1b[1;31merror\x1b[0m b').spans, [
    { text: 'a ', style: {} },
    { text: 'error', style: { bold: true, fg: 1 } },
    { text: ' b', style: {} },
  ]);
  assert.deepEqual(parseAnsi('\x1b[91mx\x1b[39my\x1b[102mz\x1b[m.').spans, [
    { text: 'x', style: { fg: 9 } },
    { text: 'y', style: {} },
    { text: 'z', style: { bg: 10 } },
    { text: '.', style: {} },
  ]);
});

test('a colour that was not reset goes on in the next line', () => {
  const { after } = parseAnsi('\x1b[32mgreen');
  assert.deepEqual(parseAnsi('still', after).spans, [{ text: 'still', style: { fg: 2 } }]);
});

test('of 256 and of all colours the exact one is taken', () => {
  assert.deepEqual(parseAnsi('\x1b[38;5;208mo\x1b[48;2;1;2;255mb').spans, [
    { text: 'o', style: { fg: '#ff8700' } },
    { text: 'b', style: { fg: '#ff8700', bg: '#0102ff' } },
  ]);
  assert.deepEqual(parseAnsi('\x1b[38;5;3;1mx').spans, [{ text: 'x', style: { fg: 3, bold: true } }]);
  assert.deepEqual(parseAnsi('\x1b[38;2;999;0;0mx').spans, [{ text: 'x', style: {} }]);
});

test('titles, links and whatever else talks to a terminal is dropped whole', () => {
  assert.equal(texts('a\x1b]0;title\x07b'), 'ab');
  assert.equal(texts('a\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\b'), 'alinkb');
  assert.equal(texts('a\x1bP1$r0m\x1b\\b\x1b_apc\x1b\\c'), 'abc');
  assert.equal(texts('a\x1b[2J\x1b[10;10Hb\x1b[?25lc'), 'abc');
  assert.equal(texts('a\x1b(0b\x1bMc'), 'abc');
  assert.equal(texts('a\x9b31mb\x9d0;t\x07c'), 'abc');
  assert.equal(texts('a\x1b]52;c;never ends'), 'a');
});

test('no control character comes out', () => {
  const nasty = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).join('');
  assert.doesNotMatch(texts(`x${nasty}y\x1b`), /[^\P{Cc}\t]/u);
});

test('markup stays text', () => {
  const line = '<img src=x onerror=alert(1)>';
  assert.deepEqual(parseAnsi(line).spans, [{ text: line, style: PLAIN }]);
});

test('of a progress bar the last state stays', () => {
  assert.equal(texts('10%\r20%\r\x1b[32m100%\x1b[0m'), '100%');
  assert.equal(texts('done\r'), 'done');
});

test('plain text keeps its lines and nothing else', () => {
  assert.equal(plainText('exit 3\n\x1b[31merror:\x1b[0m no \x1b]0;x\x07space'), 'exit 3\nerror: no space');
});
