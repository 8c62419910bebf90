/** The figures as text: tables that read well in a terminal and are Markdown at the same time. */
import { type Figures, percentile } from './figures.ts';
import type { Row } from './measures/measure.ts';
import { met, type Target } from './targets/target.ts';

const NONE = '–';

export interface TableOptions {
  readonly rows: readonly Row[];
  readonly contenders: readonly string[];
  /** The contender that ratios refer to. */
  readonly reference: string;
  /** Also the lowest and the highest round. */
  readonly spread: boolean;
}

export function figureTable(figures: Figures, options: TableOptions): string {
  const { rows, contenders, reference } = options;
  const body = rows.map((row) => [
    row.unit === '' ? row.label : `${row.label} (${row.unit})`,
    ...contenders.map((name) => cell(figures, row, name, options)),
  ]);
  return markdown([[`medians; × = ratio to ${reference}`, ...contenders], ...body]);
}

/** Targets, and the figures that say whether they are met. */
export interface Promised {
  readonly figures: Figures;
  readonly targets: readonly Target[];
}

export function targetTable(...all: readonly Promised[]): string {
  const pairs = all.flatMap(({ figures, targets }) =>
    targets.map((target) => [target, target.figure(figures)] as const),
  );
  const body = pairs.map(([target, figure]) => {
    const show = (value: number): string =>
      target.unit === '×' ? `×${value.toFixed(2)}` : `${number(value)} ${target.unit}`.trimEnd();
    const verdict = figure === undefined ? NONE : met(target, figure) ? 'met' : 'NOT MET';
    const wanted = `${target.bound} ${show(target.wanted)}`;
    return [target.label, figure === undefined ? NONE : show(figure), wanted, verdict];
  });
  return markdown([['target', 'figure', 'wanted', ''], ...body]);
}

function cell(figures: Figures, row: Row, contender: string, { reference, spread }: TableOptions): string {
  const values = figures.get(row.key, contender);
  const figure = percentile(values, row.percentile ?? 50);
  if (figure === undefined) return NONE;
  const parts = [number(figure)];
  if (spread && !row.percentile) parts.push(`(${number(Math.min(...values))}…${number(Math.max(...values))})`);
  if (row.ratio) {
    const under =
      row.ratio === 'reference' ? { key: row.key, contender: reference } : { key: row.ratio.own, contender };
    const ratio = figures.ratio({ key: row.key, contender }, under);
    if (ratio !== undefined) parts.push(`×${ratio.toFixed(2)}`);
  }
  return parts.join(' ');
}

export function number(value: number): string {
  const digits = value >= 100 || Number.isInteger(value) ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString('en-US', { maximumFractionDigits: digits, minimumFractionDigits: digits });
}

/** First row: heads. First column to the left, the others to the right. */
function markdown(table: readonly (readonly string[])[]): string {
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((text, column) => (column === 0 ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, column) => (column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  const [head = [], ...body] = table;
  return [line(head), rule, ...body.map(line)].join('\n');
}
