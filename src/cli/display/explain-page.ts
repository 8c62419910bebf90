import { stripVTControlCharacters as plain } from 'node:util';
import type { ExplanationView, LimitVerdict, TaskState, WorkerVerdict } from '../../operate/views.ts';
import { formatCount } from '../kit/figures.ts';
import { usedText } from './limit-words.ts';
import type { Out } from './out.ts';
import { isolated, safeLine } from './safe.ts';
import { paintState, stateText } from './state.ts';
import { formatWhen } from './time.ts';
import { widthOf } from './width.ts';

type PageOut = Pick<Out, 'paint' | 'columns' | 'mode'>;

/** On a terminal, more would only push the sentence away. */
const MOST_WORKERS = 30;
const MOST_HOLDERS = 5;

/** Why a task is where it is: the sentence first, then what it is drawn from. */
export function describeExplanation(why: ExplanationView, out: PageOut, now: number): readonly string[] {
  const { taskId, state, summary, reasons, limits, dependencies } = why;
  const workers = why.workers.toSorted((a, b) => Number(b.eligible) - Number(a.eligible));
  const most = out.mode === 'screen' ? MOST_WORKERS : workers.length;
  return [
    `${out.paint('bold', taskId)}  ${paintState(out, state, stateText(state))}`,
    '',
    safeLine(summary),
    ...section(
      out,
      'reasons',
      reasons.map((reason) => [no(out), safeLine(reason)]),
    ),
    ...section(
      out,
      'limits',
      limits.map((limit) => limitRow(limit, out, now)),
    ),
    ...section(
      out,
      'workers',
      workers.slice(0, most).map((worker) => workerRow(worker, out)),
    ),
    ...(workers.length > most
      ? [out.paint('dim', `    … and ${formatCount(workers.length - most)} more; --json has all`)]
      : []),
    ...section(
      out,
      'waits for',
      dependencies.map(({ taskId: id, state: its, optional }) => [
        its === 'gone' ? 'gone' : paintState(out, its as TaskState, stateText(its as TaskState)),
        `${safeLine(id)}${optional ? ' (optional)' : ''}`,
      ]),
    ),
  ];
}

const yes = ({ paint }: PageOut): string => paint('green', '✓');
const no = ({ paint }: PageOut): string => paint('red', '✗');

function limitRow(limit: LimitVerdict, out: PageOut, now: number): readonly string[] {
  const { name, key, holders, freesAt, open } = limit;
  const named = holders.slice(0, MOST_HOLDERS).join(', ');
  const more = holders.length > MOST_HOLDERS ? ` and ${holders.length - MOST_HOLDERS} more` : '';
  const words = [
    `${usedText(limit)} in use`,
    freesAt === undefined ? '' : `nothing starts before ${formatWhen(freesAt, now)}`,
    holders.length === 0 ? '' : `held by ${named}${more}`,
  ];
  return [
    open ? yes(out) : no(out),
    safeLine(key === undefined ? name : `${name}:${key}`),
    safeLine(words.filter((word) => word !== '').join('; ')),
  ];
}

function workerRow({ name, eligible, reasons }: WorkerVerdict, out: PageOut): readonly string[] {
  return [eligible ? yes(out) : no(out), safeLine(name), eligible ? 'may take it' : safeLine(reasons.join('; '))];
}

/** Rows of cells, each column as wide as its widest cell; the last one is never cut: it is what was asked for. */
function section(out: PageOut, title: string, rows: readonly (readonly string[])[]): readonly string[] {
  const [first] = rows;
  if (first === undefined) return [];
  const widths = first.map((_, i) => Math.max(...rows.map((row) => widthOf(plain(row[i] as string)))));
  const lines = rows.map((row) =>
    row
      .map((cell, i) => {
        const pad = i === row.length - 1 ? 0 : (widths[i] as number) - widthOf(plain(cell));
        return isolated(cell) + ' '.repeat(pad);
      })
      .join('  '),
  );
  return ['', out.paint('dim', `  ${title}`), ...lines.map((line) => `    ${line}`)];
}
