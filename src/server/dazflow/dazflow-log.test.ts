import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entriesOf } from './dazflow-log.ts';

test('lines are numbered on behind those before them, and keep their order', () => {
  const entries = entriesOf(['a', { line: 'b' }, { line: 'c', timestamp: null }], 7, 1000.5);
  assert.deepEqual(
    entries.map(({ seq, at, stream, text }) => [seq, at, stream, text]),
    [
      [8, 1000, 'log', 'a'],
      [9, 1000, 'log', 'b'],
      [10, 1000, 'log', 'c'],
    ],
  );
});

test('a time is taken in milliseconds, in seconds and as a text; one that is none is now', () => {
  const at = (timestamp: number | string): unknown => entriesOf([{ line: '', timestamp }], 0, 5)[0]?.at;
  assert.equal(at(1_705_746_600_000), 1_705_746_600_000);
  assert.equal(at(1_705_746_600.25), 1_705_746_600_250);
  assert.equal(at('2024-01-20T10:30:00Z'), 1_705_746_600_000);
  for (const bad of ['yesterday', '', -1, Number.NaN, Number.POSITIVE_INFINITY]) assert.equal(at(bad), 5, String(bad));
});

test('a line that no entry holds becomes several, cut between characters', () => {
  const line = `x${'😀'.repeat(30_000)}`;
  const entries = entriesOf([line, 'after'], 0, 0);
  assert.equal(
    entries
      .slice(0, -1)
      .map(({ text }) => text)
      .join(''),
    line,
  );
  for (const [i, { seq, text }] of entries.entries()) {
    assert.equal(seq, i + 1);
    assert.ok(text.isWellFormed() && Buffer.byteLength(text) <= 65_536);
  }
  assert.equal(entries.at(-1)?.text, 'after');
});
