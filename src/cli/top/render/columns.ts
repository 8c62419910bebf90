import type { LimitView, TaskView, WorkerView } from '../../../operate/views.ts';
import { rateText, usedText } from '../../display/limit-words.ts';
import type { Format, Paint } from '../../display/out.ts';
import { safeLine } from '../../display/safe.ts';
import { paintState, stateText } from '../../display/state.ts';
import type { Column } from '../../display/table.ts';
import { formatClock, formatTook } from '../../display/time.ts';
import { clip } from '../../display/width.ts';
import { formatCount, formatRate, formatUptime } from '../../kit/figures.ts';
import type { EventView, QueueRow } from '../view-model.ts';
import { bar } from './bars.ts';

/** How the rows of a panel look. */
export interface PanelStyle {
  readonly paint: Paint;
  readonly columns: number;
  /** By the clock of the node. */
  readonly now: number;
}

const NONE = '–';
const LONGEST_NAME = 40;
const BAR = 8;
/** Below this an id is shown by its end, which tells tasks of one push apart. */
const WHOLE_IDS = 90;
const SHORT_ID = 12;
/** A lease with less than this left is about to be lost. */
const SHORT_LEASE_MS = 5000;

/** The first column is never left out, so it must not take all the room. */
function name(text: string, columns: number): string {
  return clip(safeLine(text), Math.max(8, Math.min(LONGEST_NAME, Math.floor(columns / 3))));
}

export function idText(id: string, columns: number): string {
  return columns >= WHOLE_IDS || id.length <= SHORT_ID + 1 ? id : `…${id.slice(-SHORT_ID)}`;
}

export function queueColumns({ paint, columns }: PanelStyle): readonly Column<QueueRow>[] {
  const count = (head: 'ready' | 'running' | 'failed', colour: Format): Column<QueueRow> => ({
    head,
    cell: (queue) => formatCount(queue[head]),
    paint: (queue, text) => paint(queue[head] > 0 ? colour : 'dim', text),
    right: true,
  });
  return [
    {
      head: 'queue',
      cell: (queue) => `${name(queue.name, columns)}${queue.paused ? ' ‖ paused' : ''}`,
      paint: ({ paused }, text) => (paused ? paint('yellow', text) : text),
    },
    count('ready', 'blue'),
    count('running', 'cyan'),
    { head: 'rate', cell: ({ perSecond }) => formatRate(perSecond), right: true },
    {
      head: 'oldest',
      cell: ({ ready, oldestMs }) => (ready === 0 || oldestMs === undefined ? NONE : formatUptime(oldestMs)),
      right: true,
    },
    count('failed', 'red'),
    { head: 'scheduled', cell: ({ scheduled }) => formatCount(scheduled), right: true },
    { head: 'waiting', cell: ({ waiting }) => formatCount(waiting), right: true },
    { head: 'completed', cell: ({ completed }) => formatCount(completed), right: true },
  ];
}

const WORKER_STYLES: Readonly<Record<string, readonly [symbol: string, colour: Format]>> = {
  starting: ['◌', 'blue'],
  online: ['●', 'green'],
  draining: ['◒', 'yellow'],
  offline: ['○', 'dim'],
  lost: ['✗', 'red'],
};

export function workerColumns({ paint, columns, now }: PanelStyle): readonly Column<WorkerView>[] {
  const look = ({ state, enabled }: WorkerView): readonly [string, Format] => {
    const [symbol, colour] = WORKER_STYLES[state] ?? ['?', 'dim'];
    return [symbol, enabled || colour === 'red' ? colour : 'yellow'];
  };
  return [
    { head: 'worker', cell: (worker) => name(worker.name, columns) },
    {
      head: 'state',
      cell: (worker) => `${look(worker)[0]} ${worker.state}${worker.enabled ? '' : ' (disabled)'}`,
      paint: (worker, text) => paint(look(worker)[1], text),
    },
    {
      head: 'slots',
      cell: ({ running, slots }) =>
        `${bar(running, slots, Math.min(BAR, Math.max(1, slots)))} ${usedText({ used: running, cap: slots })}`,
      paint: ({ running, slots }, text) => (running > 0 && running >= slots ? paint('yellow', text) : text),
    },
    { head: 'seen', cell: ({ lastSeenAt }) => ago(now - lastSeenAt), right: true },
    { head: 'runs', cell: ({ currentTasks }) => taskWords(currentTasks), rest: true },
  ];
}

function taskWords(ids: readonly string[]): string {
  const [first, ...others] = ids;
  if (first === undefined) return '';
  return `${idText(first, 0)}${others.length === 0 ? '' : ` +${others.length}`}`;
}

/** Since when, without words that would be in each row. */
function ago(ms: number): string {
  return ms < 1000 ? 'now' : formatUptime(ms);
}

export function taskColumns({ paint, columns, now }: PanelStyle): readonly Column<TaskView>[] {
  // Three names in a row: each may take less.
  const part = (text: string): string => name(text, columns / 2);
  return [
    { head: 'task', cell: ({ id }) => idText(id, columns) },
    { head: 'queue', cell: ({ queue }) => part(queue) },
    { head: 'handler', cell: ({ handler }) => part(handler) },
    { head: 'worker', cell: ({ worker }) => (worker === undefined ? NONE : part(worker)) },
    { head: 'since', cell: ({ startedAt }) => (startedAt === undefined ? NONE : ago(now - startedAt)), right: true },
    {
      head: 'lease',
      cell: ({ leaseExpiresAt }) => leaseText(leaseExpiresAt, now),
      paint: ({ leaseExpiresAt }, text) => {
        if (leaseExpiresAt === undefined || leaseExpiresAt - now > SHORT_LEASE_MS) return text;
        return paint(leaseExpiresAt <= now ? 'red' : 'yellow', text);
      },
      right: true,
    },
    { head: 'try', cell: ({ tries, maxAttempts }) => `${tries}/${maxAttempts}`, right: true },
    {
      head: '',
      cell: ({ cancelRequestedAt }) => (cancelRequestedAt === undefined ? '' : 'asked to stop'),
      paint: (_task, text) => paint('yellow', text),
      rest: true,
    },
  ];
}

function leaseText(expiresAt: number | undefined, now: number): string {
  if (expiresAt === undefined) return NONE;
  return expiresAt <= now ? 'ran out' : formatUptime(Math.ceil((expiresAt - now) / 1000) * 1000);
}

export function limitColumns({ paint, columns }: PanelStyle): readonly Column<LimitView>[] {
  const full = ({ concurrent, active }: LimitView): boolean => concurrent !== undefined && active >= concurrent;
  return [
    {
      head: 'limit',
      cell: (limit) => name(limit.name, columns),
      paint: (limit, text) => (full(limit) ? paint('yellow', text) : text),
    },
    {
      head: 'in use',
      cell: ({ active, concurrent }) =>
        `${concurrent === undefined ? '' : `${bar(active, concurrent, BAR)} `}${usedText({ used: active, cap: concurrent })}`,
      paint: (limit, text) => (full(limit) ? paint('yellow', text) : text),
    },
    {
      head: 'waiting',
      cell: ({ waiting }) => formatCount(waiting),
      paint: ({ waiting }, text) => paint(waiting > 0 ? 'blue' : 'dim', text),
      right: true,
    },
    { head: 'rate', cell: ({ rate }) => (rate === undefined ? NONE : rateText(rate)), rest: true },
  ];
}

export function eventColumns({ paint, columns }: PanelStyle): readonly Column<EventView>[] {
  return [
    {
      head: 'time',
      cell: ({ at }) => formatClock(at).slice(0, columns < 80 ? 8 : 12),
      paint: (_event, text) => paint('dim', text),
    },
    { head: 'event', cell: ({ kind }) => kind },
    {
      head: 'state',
      cell: ({ state }) => (state === undefined ? NONE : stateText(state)),
      paint: ({ state }, text) => (state === undefined ? text : paintState({ paint }, state, text)),
    },
    { head: 'queue', cell: ({ queue }) => (queue === undefined ? NONE : name(queue, columns)) },
    {
      head: 'of',
      cell: ({ task, worker }) => (task === undefined ? (worker ?? '') : idText(task, columns)),
      rest: true,
    },
  ];
}

/** `3.4s`, for the clock beside what is away. */
export function since(at: number, now: number): string {
  return formatTook(Math.max(0, now - at));
}
