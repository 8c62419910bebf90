/** What Leasehold promises: ratios within one run, and figures that any machine should reach. */
import { REFERENCE } from './contenders/index.ts';
import { type Figures, type Place, percentile } from './figures.ts';

export interface Target {
  readonly label: string;
  /** At least, or at most. */
  readonly bound: '≥' | '≤';
  readonly wanted: number;
  readonly unit: '×' | '/s' | 'ms' | 'MB';
  figure(figures: Figures): number | undefined;
}

const ENGINE = 'leasehold';
const LIBRARY = 'library';

type Figure = Target['figure'];
const ratio =
  (over: Place, under: Partial<Place>): Figure =>
  (figures) =>
    figures.ratio(over, { ...over, ...under });
const engine = (key: string, under: Partial<Place>): Figure => ratio({ key, contender: ENGINE }, under);
const library = (key: string): Figure => ratio({ key, contender: LIBRARY }, { contender: ENGINE });
/** `percent`: of samples; the median of the rounds else. */
const plain =
  (key: string, contender: string, percent = 50): Figure =>
  (figures) =>
    percentile(figures.get(key, contender), percent);

const least = (label: string, wanted: number, unit: '×' | '/s', figure: Figure): Target => ({
  label,
  bound: '≥',
  wanted,
  unit,
  figure,
});
const most = (label: string, wanted: number, unit: '×' | 'ms' | 'MB', figure: Figure): Target => ({
  label,
  bound: '≤',
  wanted,
  unit,
  figure,
});

export const targets: readonly Target[] = [
  least('drain, 1 process / plainjob', 5, '×', engine('drain 1', { contender: 'plainjob' })),
  least('drain, 4 processes / plainjob', 2.5, '×', engine('drain 4', { contender: 'plainjob' })),
  least('drain, 1 process / floor batch FULL', 0.35, '×', engine('drain 1', { contender: REFERENCE })),
  least('push, 16 callers / coalesced floor FULL', 0.6, '×', engine('push 16', { contender: REFERENCE })),
  least('push, 256 callers', 60_000, '/s', plain('push 256', ENGINE)),
  least('push, bulk / bulk floor FULL', 0.7, '×', engine('push bulk', { contender: REFERENCE })),
  least('drain, 1 M finished behind / empty', 0.9, '×', engine('growth 1000000', { key: 'growth 0' })),

  least('library: drain, 1 process / engine', 0.7, '×', library('drain 1')),
  least('library: push, 16 callers / engine', 0.7, '×', library('push 16')),
  most('library: push to start in one process, p50', 0.5, 'ms', plain('latency 1', LIBRARY)),
  most('library: push to start across two processes, p50 / floor batch FULL', 1, '×', (figures) =>
    figures.ratioOfMedians({ key: 'latency 2', contender: LIBRARY }, { key: 'latency 2', contender: REFERENCE }),
  ),
  least('library: no-op tasks in child processes, 4 slots', 2000, '/s', plain('children 4', LIBRARY)),
  least('library: no-op tasks in child processes, 8 slots', 2000, '/s', plain('children 8', LIBRARY)),
  most('library: push to start in a warm child, p50', 3, 'ms', plain('children latency', LIBRARY)),
  most('library: child killed to start in the spare, p50', 100, 'ms', plain('children replaced', LIBRARY)),
  most('library: greatest lateness of a 10 ms timer under load', 50, 'ms', plain('timer', LIBRARY, 100)),
  most('library: memory of an idle worker, built package', 80, 'MB', plain('rss built', LIBRARY)),
];

export function met({ bound, wanted }: Target, figure: number): boolean {
  return bound === '≥' ? figure >= wanted : figure <= wanted;
}
