/** What Leasehold promises: ratios within one run, and figures that any machine should reach. */
import { type Figures, type Place, percentile } from '../figures.ts';

export interface Target {
  readonly label: string;
  /** At least, or at most. */
  readonly bound: '≥' | '≤';
  readonly wanted: number;
  readonly unit: '' | '×' | '/s' | 'ms' | 'µs' | 'MB' | 's' | 'kB' | '%';
  figure(figures: Figures): number | undefined;
}

export const ENGINE = 'leasehold';

type Figure = Target['figure'];

export const ratio =
  (over: Place, under: Partial<Place>): Figure =>
  (figures) =>
    figures.ratio(over, { ...over, ...under });

export const engine = (key: string, under: Partial<Place>): Figure => ratio({ key, contender: ENGINE }, under);

/** `percent`: of samples; the median of the rounds else. */
export const plain =
  (key: string, contender: string, percent = 50): Figure =>
  (figures) =>
    percentile(figures.get(key, contender), percent);

/** Against the peer that is the fastest. */
export const fastest =
  (key: string, peers: readonly string[], contender = ENGINE): Figure =>
  (figures) =>
    least(peers.map((peer) => ratio({ key, contender }, { contender: peer })(figures)));

/** A percentile of the samples over the lowest one that a peer has. */
export const lowest =
  (key: string, percent: number, peers: readonly string[], contender = ENGINE): Figure =>
  (figures) => {
    const own = percentile(figures.get(key, contender), percent);
    const best = least(peers.map((peer) => percentile(figures.get(key, peer), percent)));
    return own === undefined || best === undefined ? undefined : own / best;
  };

function least(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

export const atLeast = (label: string, wanted: number, unit: Target['unit'], figure: Figure): Target => ({
  label,
  bound: '≥',
  wanted,
  unit,
  figure,
});

export const atMost = (label: string, wanted: number, unit: Target['unit'], figure: Figure): Target => ({
  label,
  bound: '≤',
  wanted,
  unit,
  figure,
});

export function met({ bound, wanted }: Target, figure: number): boolean {
  return bound === '≥' ? figure >= wanted : figure <= wanted;
}
