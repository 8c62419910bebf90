import type { LimitDetailView } from '../../operate/views.ts';
import { formatCount } from '../kit/figures.ts';
import { boundsBrief, boundsText, usedText } from './limit-words.ts';
import type { Out } from './out.ts';
import { safeLine } from './safe.ts';
import { aligned, type Column } from './table.ts';
import { formatRelative, formatTime, formatTook, formatWhen } from './time.ts';

type PageOut = Pick<Out, 'paint' | 'columns' | 'mode'>;
type Key = LimitDetailView['keys'][number];
type Change = LimitDetailView['history'][number];

/** More keys would scroll the rest away. */
const MOST_KEYS = 30;

/** Everything that a person wants to know about a limit, as lines. */
export function describeLimit(limit: LimitDetailView, out: PageOut, now: number): readonly string[] {
  const { keys, history } = limit;
  const shown = out.mode === 'screen' ? keys.slice(0, MOST_KEYS) : keys;
  const more = limit.moreKeys ? 'and more, which were not read' : `and ${formatCount(keys.length - shown.length)} more`;
  return [
    out.paint('bold', limit.name),
    '',
    ...facts(limit, now).map(([name, text]) => `  ${out.paint('dim', name.padEnd(9))} ${safeLine(text)}`),
    ...table(out, 'keys', keyColumns(now), shown),
    ...(shown.length < keys.length || limit.moreKeys ? [out.paint('dim', `    … ${more}`)] : []),
    ...table(out, 'history', CHANGE, history),
  ];
}

function facts(limit: LimitDetailView, now: number): readonly (readonly [string, string])[] {
  const { waiting, pausedUntil, freesAt, changedAt, changedBy, revision } = limit;
  const waits =
    waiting === 0 ? 'nothing waits' : `${formatCount(waiting)} ${waiting === 1 ? 'task waits' : 'tasks wait'}`;
  const all: readonly (readonly [string, string | undefined])[] = [
    ['allows', boundsText(limit)],
    ['in use', `${usedText(limit)}, ${waits}`],
    ['paused', pausedUntil === undefined ? undefined : `until ${formatWhen(pausedUntil, now)}`],
    [
      'next',
      freesAt === undefined || pausedUntil !== undefined
        ? undefined
        : `a task may start ${formatRelative(freesAt, now)}`,
    ],
    ['changed', `${formatWhen(changedAt, now)}${changedBy === '' ? '' : ` by ${changedBy}`}, revision ${revision}`],
  ];
  return all.flatMap(([name, text]) => (text === undefined ? [] : [[name, text] as const]));
}

function keyColumns(now: number): readonly Column<Key>[] {
  return [
    { head: 'key', cell: ({ key }) => key },
    { head: 'in use', cell: usedText, right: true },
    {
      head: '',
      cell: ({ pausedUntil, freesAt }) => {
        if (pausedUntil !== undefined) return `paused until ${formatWhen(pausedUntil, now)}`;
        return freesAt === undefined ? '' : `next start ${formatRelative(freesAt, now)}`;
      },
      rest: true,
    },
  ];
}

function changeText({ limit, paused }: Change): string {
  if (paused !== undefined) return `${paused.key === '' ? '' : `${paused.key} `}paused for ${formatTook(paused.forMs)}`;
  return limit === undefined ? 'removed' : boundsBrief(limit);
}

const CHANGE: readonly Column<Change>[] = [
  { head: 'when', cell: ({ at }) => formatTime(at) },
  { head: 'by', cell: ({ by }) => (by === '' ? '–' : by) },
  { head: 'what', cell: changeText, rest: true },
];

function table<Row>(
  out: PageOut,
  title: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): readonly string[] {
  if (rows.length === 0) return [];
  const lines = aligned(columns, rows, { columns: Math.max(40, out.columns - 4), paint: out.paint });
  return ['', out.paint('dim', `  ${title}`), ...lines.map((line) => `    ${line}`)];
}
