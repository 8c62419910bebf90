/** What Leasehold promises, as ratios within one run. */
import { REFERENCE } from './contenders/index.ts';
import { type Figures, percentile } from './figures.ts';

export interface Target {
  readonly label: string;
  readonly wanted: number;
  readonly unit: '×' | '/s';
  figure(figures: Figures): number | undefined;
}

const OURS = 'leasehold';

const ratio = (label: string, wanted: number, key: string, other: { contender?: string; key?: string }): Target => ({
  label,
  wanted,
  unit: '×',
  figure: (figures) => figures.ratio({ key, contender: OURS }, { key, contender: OURS, ...other }),
});

export const targets: readonly Target[] = [
  ratio('drain, 1 process / plainjob', 5, 'drain 1', { contender: 'plainjob' }),
  ratio('drain, 4 processes / plainjob', 2.5, 'drain 4', { contender: 'plainjob' }),
  ratio('drain, 1 process / floor batch FULL', 0.35, 'drain 1', { contender: REFERENCE }),
  ratio('push, 16 callers / coalesced floor FULL', 0.6, 'push 16', { contender: REFERENCE }),
  {
    label: 'push, 256 callers',
    wanted: 60_000,
    unit: '/s',
    figure: (figures) => percentile(figures.get('push 256', OURS), 50),
  },
  ratio('push, bulk / bulk floor FULL', 0.7, 'push bulk', { contender: REFERENCE }),
  ratio('drain, 1 M finished behind / empty', 0.9, 'growth 1000000', { key: 'growth 0' }),
];
