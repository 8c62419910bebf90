import type { Format, Paint } from '../../display/out.ts';
import { safeLine } from '../../display/safe.ts';
import type { Open, State, Status } from '../state.ts';
import { cut } from './styled-text.ts';

const TONES: Readonly<Record<Status['tone'], Format>> = { good: 'green', bad: 'red', plain: 'yellow' };

/** One line: the question, the filter or the status; otherwise the keys. */
export function renderFooter(state: State, paint: Paint, columns: number): string {
  const { mode, asked, filter, status } = state;
  if (mode === 'ask' && asked !== undefined)
    return paint(['bold', 'yellow'], cut(question(asked.text, columns), columns));
  if (mode === 'filter')
    return cut(`${paint('bold', '/')}${safeLine(filter)}█ ${paint('dim', 'Enter keeps it, Esc clears it')}`, columns);
  if (mode === 'keys') return paint('dim', cut('Any key goes back.', columns));
  if (status !== undefined) return paint(TONES[status.tone], cut(safeLine(status.text), columns));
  const hint = filter === '' ? '' : `${paint('yellow', `filter: ${safeLine(filter)}`)}  `;
  return cut(`${hint}${paint('dim', hints(state))}`, columns);
}

/** The answers stay visible, however long the question is. */
function question(text: string, columns: number): string {
  const answers = '  y yes, any other key no';
  const brief = '  y/n';
  const end = columns < text.length + answers.length ? brief : answers;
  return `${cut(text, Math.max(0, columns - end.length))}${end}`;
}

const ACTS: Readonly<Record<Open['panel'], string>> = {
  queues: 'p pause/resume',
  tasks: 'c cancel',
  workers: 'd drain/enable',
  limits: '',
};

function hints({ open, panel }: State): string {
  const act = ACTS[open?.panel ?? (panel === 'events' ? 'limits' : panel)];
  const parts =
    open === undefined
      ? ['? keys', 'q quit', 'Enter open', act, '/ filter', '1–5 panel', 'j k move']
      : ['Esc back', open.panel === 'tasks' ? 'Tab page/log' : '', act, 'j k scroll', '? keys', 'q quit'];
  return parts.filter((part) => part !== '').join('  ');
}

/** All keys, for `?`. */
export const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ['1–5, Tab', 'the panel in focus'],
  ['j k, ↓ ↑', 'move; g G to the ends, PgUp PgDn by pages'],
  ['Enter', 'open the chosen row; for an event, its task'],
  ['Esc', 'back; in the lists: clear the filter'],
  ['Tab', 'in a task: between its page and its log'],
  ['/', 'only rows with this text'],
  ['p', 'pause or resume the queue'],
  ['c', 'cancel the task'],
  ['d', 'drain the worker, or enable it'],
  ['Ctrl-L', 'redraw'],
  ['q, Ctrl-C', 'quit'],
];
