import type { Format, Paint } from '../../display/out.ts';
import { safeLine } from '../../display/safe.ts';
import { formatTime } from '../../display/time.ts';
import { widthOf } from '../../display/width.ts';
import { formatCount, formatRate } from '../../kit/figures.ts';
import type { Overview, TopViewModel } from '../view-model.ts';
import { spark } from './bars.ts';
import { since } from './columns.ts';
import { cut, padded } from './styled-text.ts';

/** Since when the node did not answer, and why. */
export interface Away {
  readonly since: number;
  readonly problem: string;
}

export interface HeaderInput {
  readonly model: TopViewModel;
  readonly away: Away | undefined;
  readonly paint: Paint;
  readonly columns: number;
  /** By the clock of the node. */
  readonly clock: number;
}

const HEALTH_STYLES: Readonly<Record<Overview['health'], readonly [symbol: string, colour: Format]>> = {
  well: ['●', 'green'],
  attention: ['▲', 'yellow'],
  trouble: ['✗', 'red'],
};
const SPARK = 20;
const WIDE = 100;

/** Two lines: how it stands, and who says so. */
export function renderHeader(input: HeaderInput): readonly string[] {
  const { model, paint, columns, clock, away } = input;
  const [symbol, colour] = HEALTH_STYLES[model.overview.health];
  const sentence = cut(`${symbol} ${safeLine(model.overview.sentence)}`, columns);
  const time = formatTime(clock).slice(columns < WIDE ? 11 : 0);
  const room = Math.max(0, columns - widthOf(time) - 2);
  const left =
    away === undefined ? paint('dim', cut(factsOf(input), room)) : paint('red', cut(awayWords(away, clock), room));
  return [
    away === undefined ? paint(['bold', colour], sentence) : paint('dim', sentence),
    cut(`${padded(left, room)}  ${paint('bold', time)}`, columns),
  ];
}

function awayWords({ since: from, problem }: Away, now: number): string {
  return `✗ node away since ${formatTime(from).slice(11)} (${since(from, now)}): ${safeLine(problem)}`;
}

/** What matters most comes first: the end is cut on a narrow terminal. */
function factsOf({ model, columns }: HeaderInput): string {
  const { overview, version, address, role } = model;
  const { tasks, series, approvals, leader } = overview;
  const rate = series.completed.at(-1);
  const facts = [
    `leader ${leader === undefined ? 'none' : safeLine(leader)}`,
    `leasehold ${safeLine(version)}`,
    role === 'read' && 'may only read',
    `${formatCount(tasks.completed)} completed`,
    `${formatCount(tasks.failed)} failed`,
    approvals > 0 && `${formatCount(approvals)} to decide`,
    columns >= WIDE &&
      series.completed.length > 0 &&
      `${spark(series.completed, SPARK)} ${formatRate(rate ?? undefined)}`,
    safeLine(address),
  ];
  return facts.filter((fact) => fact !== false).join(' · ');
}
