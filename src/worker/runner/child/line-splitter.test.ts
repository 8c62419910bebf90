import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundedLine, CUT, LineSplitter, MAX_LINE } from './line-splitter.ts';

function linesOf(...chunks: (string | Uint8Array)[]): readonly string[] {
  const out: string[] = [];
  const lines = new LineSplitter((line) => out.push(line));
  for (const chunk of chunks) lines.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  lines.flush();
  return out;
}

test('lines end at newlines, wherever the chunks do, and the last one needs none', () => {
  assert.deepEqual(linesOf('one\ntw', 'o\n\nth', 'ree'), ['one', 'two', '', 'three']);
  assert.deepEqual(linesOf('one\n'), ['one']);
});

test('a character that is divided between two chunks stays whole', () => {
  const bytes = Buffer.from('a€b\n');
  for (let at = 1; at < bytes.length; at++)
    assert.deepEqual(linesOf(bytes.subarray(0, at), bytes.subarray(at)), ['a€b']);
});

test('bytes that are no UTF-8 are replaced', () => {
  assert.deepEqual(linesOf(Buffer.from([0x61, 0xff, 0x62, 0x0a])), ['a\uFFFDb']);
});

test('a line of 16 KiB is whole, and one byte more is cut with a mark', () => {
  const full = 'x'.repeat(MAX_LINE);
  assert.deepEqual(linesOf(`${full}\nnext\n`), [full, 'next']);
  assert.deepEqual(linesOf(`${full}y\nnext\n`), [full + CUT, 'next']);
});

test('the rest of a cut line is thrown away, however many chunks it has', () => {
  const part = 'x'.repeat(10_000);
  assert.deepEqual(linesOf(part, part, part, 'end\nnext'), ['x'.repeat(MAX_LINE) + CUT, 'next']);
});

test('a cut falls between two characters', () => {
  const line = linesOf(`x${'€'.repeat(MAX_LINE)}\n`)[0] ?? '';
  assert.ok(!line.includes('\uFFFD'));
  assert.ok(line.endsWith(`€${CUT}`));
});

test('a text of one entry is bounded in bytes', () => {
  assert.equal(boundedLine('x'.repeat(MAX_LINE)), 'x'.repeat(MAX_LINE));
  assert.equal(boundedLine('x'.repeat(MAX_LINE + 1)), 'x'.repeat(MAX_LINE) + CUT);
  assert.ok(Buffer.byteLength(boundedLine('€'.repeat(MAX_LINE))) <= MAX_LINE + Buffer.byteLength(CUT));
});
