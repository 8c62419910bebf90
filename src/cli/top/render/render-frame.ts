import type { LogLineView } from '../../../operate/views.ts';
import { logLines } from '../../display/log-lines.ts';
import type { Paint } from '../../display/out.ts';
import { safeLine } from '../../display/safe.ts';
import type { Lists } from '../lists.ts';
import type { Open, State } from '../state.ts';
import type { Detail, TopViewModel } from '../view-model.ts';
import { KEYS, renderFooter } from './footer.ts';
import { type Away, renderHeader } from './header.ts';
import { layOutPanels } from './layout.ts';
import { renderPanel } from './panels.ts';
import { cut, padded, styledWidth, wrapped } from './styled-text.ts';

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** All data for one frame. */
export interface FrameInput {
  readonly state: State;
  readonly model: TopViewModel;
  readonly lists: Lists;
  /** The open item; undefined while it is being read. */
  readonly detail: Detail | undefined;
  readonly away: Away | undefined;
  readonly size: Size;
  readonly paint: Paint;
  readonly colours: boolean;
  /** By the clock of the node. */
  readonly now: number;
}

export interface Frame {
  /** One line for each row of the terminal, none wider than it. */
  readonly lines: readonly string[];
  /** For the next key: the visible rows of the part that scrolls. */
  readonly page: number;
  readonly furthest: number;
}

const HEADER = 2;
const FOOTER = 1;
const BETWEEN = ' │ ';

export function renderFrame(input: FrameInput): Frame {
  const { state, model, away, size, paint, now } = input;
  const { columns, rows } = size;
  const header = renderHeader({ model, away, paint, columns, clock: now });
  const room = Math.max(0, rows - HEADER - FOOTER);
  // While the node is away the clock of its data stands still.
  const still: FrameInput = away === undefined ? input : { ...input, now: model.at };
  const { lines, page, furthest } = bodyOf(still, room);
  const body = [...lines, ...Array<string>(Math.max(0, room - lines.length)).fill('')].slice(0, room);
  const all = [...header, ...body, renderFooter(state, paint, columns)].map((line) => cut(line, columns));
  // On the smallest terminals the footer has priority.
  return { lines: rows <= HEADER + FOOTER ? all.slice(all.length - Math.max(1, rows)) : all, page, furthest };
}

function bodyOf(input: FrameInput, room: number): Frame {
  const { state } = input;
  if (state.mode === 'keys') return { lines: keyLines(input), page: room, furthest: 0 };
  return state.open === undefined ? panels(input, room) : detail(input, state.open, room);
}

function keyLines({ paint, size }: FrameInput): readonly string[] {
  const wide = Math.max(...KEYS.map(([keys]) => keys.length));
  return [
    paint('bold', ' Keys'),
    ...KEYS.map(([keys, does]) => cut(`  ${paint('cyan', keys.padEnd(wide))}  ${does}`, size.columns)),
  ];
}

function panels(input: FrameInput, room: number): Frame {
  const { state, lists, size } = input;
  const rows = {
    queues: lists.queues.length,
    workers: lists.workers.length,
    tasks: lists.tasks.length,
    limits: lists.limits.length,
    events: lists.events.length,
  };
  const panelRows = layOutPanels({ columns: size.columns, lines: room, focus: state.panel, rows });
  const lines = panelRows.flatMap(({ panels: beside, height }) => {
    const width = Math.floor((size.columns - BETWEEN.length * (beside.length - 1)) / beside.length);
    const drawn = beside.map((panel) => renderPanel(panel, height, { ...input, columns: width }));
    return Array.from({ length: height }, (_, row) =>
      drawn
        .map((column, i) => (i === beside.length - 1 ? (column[row] ?? '') : padded(column[row] ?? '', width)))
        .join(input.paint('dim', BETWEEN)),
    );
  });
  const focused = panelRows.find(({ panels: beside }) => beside.includes(state.panel));
  return { lines, page: Math.max(1, (focused?.height ?? 0) - 2), furthest: 0 };
}

/** A title, the page, and the log of a task; the part that scrolls has most of the room. */
function detail(input: FrameInput, open: Open, room: number): Frame {
  const { detail: found, size, now, paint } = input;
  const { columns } = size;
  const title = rule(`${paint(['bold', 'cyan'], `▸${ONE[open.panel]}`)} ${safeLine(open.name)}`, input);
  if (found === undefined) return { lines: [title, paint('dim', '  Asking the node …')], page: 1, furthest: 0 };
  const page = found.page(columns, now).flatMap((line) => wrapped(untabbed(line), columns));
  if (found.log === undefined) {
    const part = windowOf(page, open.scroll, room - 1);
    return { lines: [title, ...part.lines], page: room - 1, furthest: part.furthest };
  }
  const log = loggedLines(found.log, input);
  const heights = shared(room - 2, page.length, Math.max(1, log.length), open.part);
  const moving = open.part === 'page' ? windowOf(page, open.scroll, heights.page) : undefined;
  const tail = open.part === 'log' ? Math.min(open.scroll, Math.max(0, log.length - heights.log)) : 0;
  const shownLog = log.slice(Math.max(0, log.length - tail - heights.log), log.length - tail);
  const mark = open.part === 'log' ? '▸' : ' ';
  const behind = tail > 0 ? `, ${tail} lines back; G follows again` : '';
  return {
    lines: [
      title,
      ...(moving?.lines ?? withRest(page, heights.page, input)),
      rule(`${mark}log${behind}`, input),
      ...(log.length === 0 ? [paint('dim', '  The log is empty.')] : shownLog),
    ],
    page: open.part === 'page' ? heights.page : heights.log,
    furthest: moving?.furthest ?? Math.max(0, log.length - heights.log),
  };
}

const ONE: Readonly<Record<Open['panel'], string>> = {
  queues: 'queue',
  workers: 'worker',
  tasks: 'task',
  limits: 'limit',
};

function rule(text: string, { size, paint }: FrameInput): string {
  const left = cut(text, size.columns);
  return `${left} ${paint('dim', '─'.repeat(Math.max(0, size.columns - styledWidth(left) - 1)))}`;
}

function loggedLines(log: readonly LogLineView[], { paint, colours, size }: FrameInput): readonly string[] {
  return log
    .flatMap((line) => logLines(line, { mode: 'screen', paint, colours }))
    .map((line) => cut(untabbed(line), size.columns));
}

/** The width of a tab depends on the terminal. */
function untabbed(line: string): string {
  return line.replaceAll('\t', '    ');
}

/** The heights of page and log: all that they need if it fits, otherwise up to two thirds for the part that scrolls. */
function shared(
  room: number,
  page: number,
  log: number,
  moves: Open['part'],
): { readonly page: number; readonly log: number } {
  const all = Math.max(0, room);
  if (page + log <= all) return { page, log: all - page };
  const most = Math.ceil((all * 2) / 3);
  if (moves === 'page') {
    const mine = Math.min(page, Math.max(most, all - log));
    return { page: mine, log: all - mine };
  }
  const mine = Math.min(log, Math.max(most, all - page));
  return { page: all - mine, log: mine };
}

function windowOf(
  lines: readonly string[],
  scroll: number,
  height: number,
): { readonly lines: readonly string[]; readonly furthest: number } {
  const furthest = Math.max(0, lines.length - Math.max(0, height));
  const from = Math.min(scroll, furthest);
  return { lines: lines.slice(from, from + Math.max(0, height)), furthest };
}

function withRest(lines: readonly string[], height: number, { paint }: FrameInput): readonly string[] {
  if (lines.length <= height) return lines;
  return height < 1
    ? []
    : [...lines.slice(0, height - 1), paint('dim', `  … ${lines.length - height + 1} more lines: Tab`)];
}
