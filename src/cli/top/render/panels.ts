import { stripVTControlCharacters as plain } from 'node:util';
import { safeLine } from '../../display/safe.ts';
import { aligned, type Column } from '../../display/table.ts';
import { formatCount } from '../../kit/figures.ts';
import { indexOf } from '../key-reducer.ts';
import { type Entry, type Lists, PANELS, type Panel } from '../lists.ts';
import type { State } from '../state.ts';
import type { TopViewModel } from '../view-model.ts';
import { eventColumns, limitColumns, type PanelStyle, queueColumns, taskColumns, workerColumns } from './columns.ts';
import { cut, padded, styledWidth } from './styled-text.ts';

export interface PanelInput extends PanelStyle {
  readonly state: State;
  readonly lists: Lists;
  readonly model: TopViewModel;
}

const EMPTY: Readonly<Record<Panel, string>> = {
  queues: 'No queues yet: the first push makes one.',
  workers: 'No workers: "leasehold up" or "leasehold worker" brings one.',
  tasks: 'Nothing runs.',
  limits: 'No limits: "leasehold limits set NAME --concurrent 4" makes one.',
  events: 'Nothing has happened yet.',
};

/** One panel as lines: exactly so many, none wider than it may be. */
export function renderPanel(panel: Panel, height: number, input: PanelInput): readonly string[] {
  if (height <= 0) return [];
  const { columns } = input;
  const lines = [titleOf(panel, input), ...bodyOf(panel, height - 1, input)];
  return [...lines, ...Array<string>(Math.max(0, height - lines.length)).fill('')].map((line) => cut(line, columns));
}

/** `▸1 queues ── 12 ready, 3 running ─────`. */
function titleOf(panel: Panel, { state, model, lists, paint, columns }: PanelInput): string {
  const focused = state.panel === panel;
  const title = `${focused ? '▸' : ' '}${PANELS.indexOf(panel) + 1} ${panel === 'tasks' ? 'running tasks' : panel}`;
  const said = state.filter === '' ? summaryOf(panel, model) : `${formatCount(lists[panel].length)} match`;
  const left = `${title} ${paint('dim', '──')} ${said} `;
  const rule = paint('dim', '─'.repeat(Math.max(0, columns - styledWidth(left))));
  return `${focused ? paint(['bold', 'cyan'], title) : paint('bold', title)}${left.slice(title.length)}${rule}`;
}

function summaryOf(panel: Panel, { overview, queues, tasks, limits, events }: TopViewModel): string {
  switch (panel) {
    case 'queues': {
      const paused = queues.filter((queue) => queue.paused).length;
      return words([`${formatCount(overview.tasks.ready)} ready`, paused > 0 && `${formatCount(paused)} paused`]);
    }
    case 'workers': {
      const { online, draining, disabled } = overview.workers;
      return words([
        `${formatCount(online)} online`,
        draining > 0 && `${formatCount(draining)} draining`,
        disabled > 0 && `${formatCount(disabled)} disabled`,
        `${formatCount(overview.slots.busy)} of ${formatCount(overview.slots.all)} slots busy`,
      ]);
    }
    case 'tasks': {
      const { running } = overview.tasks;
      return tasks.length < running
        ? `${formatCount(tasks.length)} of ${formatCount(running)}`
        : formatCount(tasks.length);
    }
    case 'limits': {
      const full = limits.filter(({ concurrent, active }) => concurrent !== undefined && active >= concurrent).length;
      return words([formatCount(limits.length), full > 0 && `${formatCount(full)} full`]);
    }
    case 'events': {
      const last = events.at(-1);
      return last === undefined ? 'none' : `the last one: ${safeLine(last.kind)}`;
    }
  }
}

function words(parts: readonly (string | false)[]): string {
  return parts.filter((part) => part !== false).join(', ');
}

function bodyOf(panel: Panel, height: number, input: PanelInput): readonly string[] {
  const { lists, state } = input;
  switch (panel) {
    case 'queues':
      return table(panel, lists.queues, queueColumns(inner(input)), height, input);
    case 'workers':
      return table(panel, lists.workers, workerColumns(inner(input)), height, input);
    case 'tasks':
      return table(panel, lists.tasks, taskColumns(inner(input)), height, input);
    case 'limits':
      return table(panel, lists.limits, limitColumns(inner(input)), height, input);
    case 'events':
      return table(panel, lists.events, eventColumns(inner(input)), height, { ...input, state });
  }
}

/** Beside the mark of the chosen row. */
function inner(input: PanelInput): PanelInput {
  return { ...input, columns: input.columns - 2 };
}

function table<T>(
  panel: Panel,
  entries: readonly Entry<T>[],
  columns: readonly Column<T>[],
  height: number,
  input: PanelInput,
): readonly string[] {
  const { state, paint } = input;
  if (height <= 0) return [];
  if (entries.length === 0)
    return [`  ${paint('dim', state.filter === '' ? EMPTY[panel] : 'Nothing here matches the filter.')}`];
  // A head without a row says nothing.
  const rows = height === 1 ? 1 : height - 1;
  const index = indexOf(state, panel, entries);
  const from = windowFrom(entries.length, index, rows);
  const shown = entries.slice(from, from + rows);
  const [head = '', ...lines] = aligned(
    columns,
    shown.map(({ item }) => item),
    inner(input),
  );
  const body = lines.map((line, i) =>
    from + i === index && state.panel === panel ? marked(line, input) : `  ${line}`,
  );
  return height === 1 ? body : [`  ${head}`, ...body];
}

/** The first row that is shown, so that the chosen one is in the middle, as far as that goes. */
export function windowFrom(count: number, index: number, rows: number): number {
  return Math.max(0, Math.min(count - rows, index - Math.floor(rows / 2)));
}

/** By a sign as well as by colour: not everybody has colours. */
function marked(line: string, { paint, columns }: PanelInput): string {
  return paint('inverse', padded(`▸ ${plain(line)}`, columns));
}
