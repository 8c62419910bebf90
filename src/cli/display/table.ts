import type { Out } from './out.ts';
import { isolated, safeLine } from './safe.ts';
import { clip, widthOf } from './width.ts';

/** One column: its head, and its cell for a row. */
export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => string;
  /** The cell for people, where it differs: a symbol before the word, a time in words. */
  readonly show?: (row: Row) => string;
  readonly paint?: (row: Row, text: string) => string;
  readonly right?: true;
  /** Takes the rest of the line, and is cut to it. Only for the last column. */
  readonly rest?: true;
}

const GAP = 2;
/** The least width of a column that takes the rest. */
const LEAST_REST = 8;

/**
 * Prints rows for a terminal (aligned, with a head, cut to its width) or for a pipe (tabs, no head, nothing cut, made for `cut` and
 * `awk`).
 */
export function printTable<Row>(out: Out, columns: readonly Column<Row>[], rows: readonly Row[]): void {
  const lines = out.mode === 'screen' ? aligned(columns, rows, out) : tabbed(columns, rows);
  for (const line of lines) out.line(line);
}

/** Prints rows as objects, one a line, or as a table. */
export function printList<Row>(out: Out, columns: readonly Column<Row>[], rows: readonly Row[]): void {
  if (out.mode === 'json') for (const row of rows) out.json(row);
  else printTable(out, columns, rows);
}

function tabbed<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): readonly string[] {
  return rows.map((row) => columns.map(({ cell }) => safeLine(cell(row))).join('\t'));
}

export function aligned<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { columns: room, paint }: Pick<Out, 'columns' | 'paint'>,
): readonly string[] {
  const texts = rows.map((row) => columns.map(({ cell, show }) => safeLine((show ?? cell)(row))));
  const widths = columns.map(({ head }, i) => Math.max(head.length, ...texts.map((row) => widthOf(row[i] as string))));
  const fitting = fit(columns, widths, room);
  const lay = (text: string, i: number, last: boolean): string => {
    const clipped = clip(text, fitting[i] as number);
    const pad = ' '.repeat((fitting[i] as number) - widthOf(clipped));
    if (columns[i]?.right) return pad + clipped;
    return last ? clipped : clipped + pad;
  };
  const join = (cells: readonly string[]): string => cells.join(' '.repeat(GAP)).trimEnd();
  const end = fitting.length - 1;
  return [
    join(fitting.map((_, i) => paint('dim', lay((columns[i] as Column<Row>).head, i, i === end)))),
    ...texts.map((row, r) =>
      join(
        fitting.map((_, i) => {
          const text = isolated(lay(row[i] as string, i, i === end));
          return (columns[i] as Column<Row>).paint?.(rows[r] as Row, text) ?? text;
        }),
      ),
    ),
  ];
}

/** Whole columns at the right are left out on a narrow terminal: half an id or number is a wrong one. */
function fit<Row>(columns: readonly Column<Row>[], widths: readonly number[], room: number): readonly number[] {
  const fitting: number[] = [];
  let used = 0;
  for (const [i, width] of widths.entries()) {
    const gap = i === 0 ? 0 : GAP;
    const left = room - used - gap;
    if (columns[i]?.rest && left >= Math.min(width, LEAST_REST)) fitting.push(Math.min(width, left));
    else if (width <= left || i === 0) fitting.push(width);
    else break;
    used += gap + (fitting[i] as number);
  }
  return fitting;
}
