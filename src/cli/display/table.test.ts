import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aligned, type Column, printTable } from './table.ts';
import { testOut } from './test-out.ts';
import { widthOf } from './width.ts';

interface Row {
  readonly name: string;
  readonly count: number;
  readonly text: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { head: 'name', cell: ({ name }) => name },
  { head: 'count', cell: ({ count }) => String(count), show: ({ count }) => `${count} pcs`, right: true },
  { head: 'text', cell: ({ text }) => text, rest: true },
];
const ROWS: readonly Row[] = [
  { name: 'a', count: 1, text: 'short' },
  { name: 'bcd', count: 1000, text: 'a text\nof several lines \u001b[31mand colours' },
];
const plain = (_format: unknown, text: string): string => text;

test('on a terminal columns are aligned under their heads, and the last one takes the room that is left', () => {
  assert.deepEqual(aligned(COLUMNS, ROWS, { columns: 40, paint: plain }), [
    'name     count  text',
    'a        1 pcs  short',
    'bcd   1000 pcs  a text of several lines…',
  ]);
});

test('no line is wider than the terminal, and columns give way whole', () => {
  for (let columns = 5; columns < 60; columns += 1) {
    for (const line of aligned(COLUMNS, ROWS, { columns, paint: plain })) assert.ok(widthOf(line) <= columns);
  }
  assert.deepEqual(aligned(COLUMNS, ROWS, { columns: 10, paint: plain }), ['name', 'a', 'bcd']);
});

test('in a pipe there are tabs, no head and nothing is cut', () => {
  const out = testOut('plain');
  printTable(out, COLUMNS, ROWS);
  assert.deepEqual(out.lines, ['a\t1\tshort', 'bcd\t1000\ta text of several lines and colours']);
});
