/** `report.tsv`: one row for each phase of a run. A phase that is done again after a crash replaces its row. */

export interface ReportRow {
  readonly timestamp_ms: number;
  /** The phase as its files name it; `run`: the end of the run. */
  readonly kind: string;
  readonly iteration: number;
  readonly duration_ms: number | undefined;
  readonly exit_code: number | undefined;
  readonly output_bytes: number | undefined;
  readonly output_lines: number | undefined;
  readonly output_path: string | undefined;
  readonly message: string | undefined;
  readonly tasks_done: number | undefined;
  readonly tasks_total: number | undefined;
}

const COLUMNS = [
  'timestamp_ms',
  'kind',
  'iteration',
  'duration_ms',
  'exit_code',
  'output_bytes',
  'output_lines',
  'output_path',
  'message',
  'tasks_done',
  'tasks_total',
] as const satisfies readonly (keyof ReportRow)[];

const HEADER = COLUMNS.join('\t');
const MOST_VALUE = 500;
/** In characters: some thousand rows. The oldest ones go first. */
export const MOST_REPORT = 512 * 1024;

/** The report with one more row. `before`: the report so far, which may be any text. */
export function withRow(before: string, row: ReportRow, most: number = MOST_REPORT): string {
  const added = COLUMNS.map((column) => cellOf(row[column])).join('\t');
  const key = keyOf(added);
  const rows = before
    .split('\n')
    .filter((line) => line !== HEADER && line.split('\t').length === COLUMNS.length && keyOf(line) !== key);
  rows.push(added);
  let length = rows.reduce((sum, { length: one }) => sum + one + 1, HEADER.length + 1);
  let from = 0;
  for (; length > most && from < rows.length - 1; from++) length -= (rows[from] as string).length + 1;
  return `${[HEADER, ...rows.slice(from)].join('\n')}\n`;
}

/** Kind and iteration: no run has two rows with the same ones. */
const keyOf = (line: string): string => line.split('\t').slice(1, 3).join('\t');

/** No value ends its cell or its row, and none is a formula to a program of tables. */
function cellOf(value: string | number | undefined): string {
  if (value === undefined) return '';
  const text = String(value)
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, MOST_VALUE)
    .toWellFormed();
  return typeof value === 'string' && /^[=+@-]/.test(text) ? `'${text}` : text;
}
