import {
  type Figures,
  formatBytes,
  formatCount,
  formatRate,
  formatUptime,
  formatWorker,
  type QueueFigures,
} from '../kit/figures.ts';
import {
  type Banner,
  type Display,
  duties,
  farewell,
  greeting,
  invitation,
  STILL_STOPPING,
  withFields,
} from './display.ts';

export type Style = (format: 'bold' | 'dim' | 'green' | 'yellow' | 'red', text: string) => string;

export interface ScreenOptions {
  readonly write: (text: string) => void;
  readonly size: () => { readonly columns: number; readonly rows: number };
  readonly style: Style;
}

const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';

/** A block of figures at the bottom of the terminal, drawn over itself; whatever is said moves up above it. */
export class ScreenDisplay implements Display {
  readonly #options: ScreenOptions;
  #banner: Banner | undefined;
  #figures: Figures | undefined;
  /** Lines that the block takes now. */
  #height = 0;

  constructor(options: ScreenOptions) {
    this.#options = options;
  }

  started(banner: Banner): void {
    this.#banner = banner;
    this.#options.write(HIDE_CURSOR);
    this.#say(this.#options.style('bold', greeting(banner)));
    this.#say(invitation(banner));
  }

  figures(figures: Figures): void {
    this.#figures = figures;
    this.#options.write(this.#erased() + this.#drawn());
  }

  note(message: string): void {
    this.#say(this.#options.style('green', message));
  }

  info(message: string, fields?: Readonly<Record<string, unknown>>): void {
    this.#say(this.#options.style('dim', withFields(message, fields)));
  }

  warning(message: string, fields?: Readonly<Record<string, unknown>>): void {
    this.#say(this.#options.style('yellow', withFields(message, fields)));
  }

  stopping(): void {
    this.#leave();
    this.#say('Stopping.');
  }

  stillStopping(): void {
    this.#say(STILL_STOPPING);
  }

  stopped(uptimeMs: number): void {
    this.#say(farewell(this.#banner, uptimeMs));
    this.restore();
  }

  restore(): void {
    this.#options.write(SHOW_CURSOR);
  }

  /** After the terminal changed its size; what it did to the old lines cannot be known, so they stay. */
  resized(): void {
    if (this.#height === 0) return;
    this.#options.write(this.#erased() + this.#drawn());
  }

  #say(line: string): void {
    this.#options.write(`${this.#erased()}${line}\n${this.#drawn()}`);
  }

  /** The last block stays where it is; what comes next goes below it. */
  #leave(): void {
    this.#figures = undefined;
    this.#height = 0;
  }

  #erased(): string {
    // To the first line of the block and its first column, since a ^C may stand at the cursor; then clear downwards.
    return `${this.#height === 0 ? '' : `\u001b[${this.#height}A`}\r\u001b[J`;
  }

  #drawn(): string {
    if (this.#figures === undefined || this.#banner === undefined) return '';
    const lines = renderBlock(this.#figures, this.#banner, this.#options);
    this.#height = lines.length;
    return lines.map((line) => `${line}\n`).join('');
  }
}

const COLUMNS = ['ready', 'running', 'scheduled', 'completed', 'failed'] as const;
/** What stands around the rows of the table: greeting, blank, head, blank, worker, duties, store, uptime, cursor. */
const OTHER_LINES = 9;
/** Below this, columns at the right give way to the name. */
const MIN_NAME = 12;

/** The block as lines, none wider than the terminal and all together lower than it. */
export function renderBlock(
  figures: Figures,
  banner: Banner,
  { size, style }: Pick<ScreenOptions, 'size' | 'style'>,
): readonly string[] {
  const { columns, rows } = size();
  const room = Math.max(1, rows - OTHER_LINES);
  const all = figures.queues;
  const shown = all.length <= room ? all : busiest(all, Math.max(0, room - 1));
  const rest = all.length - shown.length;
  const storeSize = figures.storeBytes === undefined ? '' : `   ${formatBytes(figures.storeBytes)}`;
  return [
    '',
    ...renderTable(shown, columns, style),
    ...(rest > 0 ? [style('dim', clip(`  … and ${formatCount(rest)} more`, columns))] : []),
    '',
    ...(figures.worker === undefined
      ? []
      : [`  ${style('dim', 'worker')}   ${clip(formatWorker(figures.worker), columns - 12)}`]),
    `  ${style('dim', 'duties')}   ${clip(duties(figures), columns - 12)}`,
    `  ${style('dim', 'store')}    ${clip(banner.store + storeSize, columns - 12)}`,
    `  ${style('dim', 'uptime')}   ${clip(formatUptime(figures.uptimeMs), columns - 12)}`,
  ];
}

/** The ones that move most, in the order that they had. */
function busiest(queues: readonly QueueFigures[], count: number): readonly QueueFigures[] {
  const chosen = new Set(
    queues
      .toSorted((a, b) => b.running - a.running || (b.perSecond ?? 0) - (a.perSecond ?? 0) || b.ready - a.ready)
      .slice(0, count),
  );
  return queues.filter((queue) => chosen.has(queue));
}

function renderTable(queues: readonly QueueFigures[], columns: number, style: Style): readonly string[] {
  if (queues.length === 0) return [style('dim', clip('  No queues yet: the first push makes one.', columns))];
  const body = queues.map((queue) => [
    queue.paused ? `${queue.name} (paused)` : queue.name,
    ...COLUMNS.map((column) => formatCount(queue[column])),
    formatRate(queue.perSecond),
  ]);
  const head = ['queue', ...COLUMNS, 'rate'];
  const widths = head.map((cell, i) => Math.max(cell.length, ...body.map((row) => (row[i] as string).length)));
  const figuresWidth = widths.slice(1).reduce((sum, width) => sum + width + 3, 2);
  const nameWidth = Math.min(widths[0] as number, Math.max(MIN_NAME, columns - figuresWidth));
  const lay = (row: readonly string[]): string[] => [
    `  ${clip(row[0] as string, nameWidth).padEnd(nameWidth)}`,
    ...row.slice(1).map((cell, i) => cell.padStart((widths[i + 1] as number) + 3)),
  ];
  const headCells = lay(head);
  let kept = headCells.length;
  // Whole columns are left out where the terminal is too narrow; half a number would be a wrong number.
  while (kept > 1 && headCells.slice(0, kept).join('').length > columns) kept -= 1;
  return [
    style('dim', headCells.slice(0, kept).join('')),
    ...body.map((row, r) => {
      const queue = queues[r] as QueueFigures;
      return lay(row)
        .slice(0, kept)
        .map((cell, i) => colour(cell, head[i] as string, queue, style))
        .join('');
    }),
  ];
}

function colour(cell: string, column: string, queue: QueueFigures, style: Style): string {
  if (column === 'failed' && queue.failed > 0) return style('red', cell);
  if (column === 'running' && queue.running > 0) return style('green', cell);
  if (column === 'queue' && queue.paused) return style('yellow', cell);
  return cell;
}

function clip(text: string, width: number): string {
  if (text.length <= width) return text;
  return width < 1 ? '' : `${text.slice(0, width - 1)}…`;
}
