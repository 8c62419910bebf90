/** The chart of a pool: desired and actual workers over time, from the decisions that were kept and the present. */

import { STAFF, type Staff } from './words.ts';

export interface Point extends Staff {
  readonly at: number;
  readonly want: number;
}

interface Decided extends Staff {
  readonly at: number;
  readonly want: number;
  readonly launched: number;
  readonly drained: number;
}

export const totalOf = ({ busy, idle, starting, leaving }: Staff): number => busy + idle + starting + leaving;

interface Start {
  readonly at: number;
  readonly state: string;
  readonly endedAt?: number | undefined;
  readonly leftAt?: number | undefined;
}

type Change = { readonly at: number; readonly what: 'came' | 'never' | 'left' };

/**
 * Figures right after each decision, the oldest first, and as they are now. Nothing is decided when a worker comes or goes, so its ticket says
 * when that was.
 */
export function pointsOf(
  decisions: readonly Decided[],
  starts: readonly Start[],
  now: { readonly at: number } & Staff & { readonly want: number },
): readonly Point[] {
  const { at, want, busy, idle, starting, leaving } = now;
  const known = [
    ...decisions.filter((one) => one.at < at).toSorted((a, b) => a.at - b.at),
    { at, want, busy, idle, starting, leaving, launched: 0, drained: 0 },
  ];
  const changes = starts.flatMap(changesOf).toSorted((a, b) => a.at - b.at);
  return known.flatMap((one, i) => {
    const next = known[i + 1];
    const points = [afterDecision(one)];
    if (next === undefined) return points;
    for (const change of changes) {
      if (change.at <= one.at || change.at >= next.at) continue;
      const point = afterChange(points.at(-1) as Point, change, next);
      if (point !== undefined) points.push(point);
    }
    return points;
  });
}

function changesOf({ state, endedAt, leftAt }: Start): readonly Change[] {
  if (endedAt === undefined) return [];
  const came: Change = { at: endedAt, what: state === 'used' ? 'came' : 'never' };
  return leftAt === undefined ? [came] : [came, { at: Math.max(leftAt, endedAt), what: 'left' }];
}

/** What is known next tells what a worker that came has done, and which one has left. Undefined: it is counted already. */
function afterChange(point: Point, { at, what }: Change, next: Staff): Point | undefined {
  if (what === 'left') {
    const kind = (['leaving', 'idle', 'busy'] as const).find((one) => point[one] > next[one]);
    return kind && { ...point, at, [kind]: point[kind] - 1 };
  }
  if (point.starting === 0) return undefined;
  const kind = point.busy < next.busy ? 'busy' : 'idle';
  return { ...point, at, starting: point.starting - 1, ...(what === 'came' && { [kind]: point[kind] + 1 }) };
}

function afterDecision({ at, want, busy, idle, starting, leaving, launched, drained }: Decided): Point {
  const sent = Math.min(idle, drained);
  return { at, want, busy, idle: idle - sent, starting: starting + launched, leaving: leaving + sent };
}

const MINUTE = 60_000;
export const RANGES = { '10m': 10 * MINUTE, '1h': 60 * MINUTE, '1d': 24 * 60 * MINUTE, all: 0 } as const;
export type Range = keyof typeof RANGES;

/** The shortest range that shows most of what has happened; all of it while that is short. */
export function rangeFor(points: readonly Point[], now: number): Range {
  if (now - (points[0]?.at ?? now) < RANGES['10m']) return 'all';
  const half = points.length / 2;
  const fits = (ms: number): boolean => points.filter(({ at }) => at >= now - ms).length > half;
  return (['10m', '1h', '1d'] as const).find((range) => fits(RANGES[range])) ?? 'all';
}

export interface Plot {
  readonly from: number;
  readonly until: number;
  /** The number of workers at the top. */
  readonly top: number;
  /** Of each kind of workers an area, from the bottom of the chart. */
  readonly areas: readonly { readonly kind: keyof Staff; readonly path: string }[];
  readonly want: string;
  /** The points that are seen, and the one that holds at the left edge. */
  readonly points: readonly Point[];
}

export const WIDTH = 1000;
export const HEIGHT = 100;

/** Steps: each figure holds until the next one is known. */
export function plotOf(points: readonly Point[], range: Range): Plot {
  const until = points.at(-1)?.at ?? 0;
  const first = points[0]?.at ?? until;
  const from = Math.min(until - 1, range === 'all' ? first : until - RANGES[range]);
  const before = points.findLast(({ at }) => at <= from);
  const seen = points.filter(({ at }) => at > from);
  const shown = before === undefined ? seen : [{ ...before, at: from }, ...seen];
  const top = niceTop(Math.max(1, ...shown.map((point) => Math.max(point.want, totalOf(point)))));
  const x = (at: number): number => round(((at - from) / (until - from)) * WIDTH);
  const y = (count: number): number => round(HEIGHT - (count / top) * HEIGHT);
  const steps = (value: (point: Point) => number): readonly (readonly [number, number])[] =>
    shown.flatMap((point, i) => {
      const next = shown[i + 1];
      const start = [x(point.at), y(value(point))] as const;
      return next === undefined ? [start] : [start, [x(next.at), y(value(point))] as const];
    });
  const sums = STAFF.map((_, i) => (point: Point) => STAFF.slice(0, i + 1).reduce((sum, kind) => sum + point[kind], 0));
  return {
    from,
    until,
    top,
    areas: STAFF.flatMap((kind, i) => {
      if (shown.every((point) => point[kind] === 0)) return [];
      const below = sums[i - 1] ?? (() => 0);
      const path = [...steps(sums[i] as (point: Point) => number), ...steps(below).toReversed()];
      return [{ kind, path: `M${path.map(([px, py]) => `${px} ${py}`).join('L')}Z` }];
    }),
    want: `M${steps(({ want }) => want)
      .map(([px, py]) => `${px} ${py}`)
      .join('L')}`,
    points: shown,
  };
}

/** What held at a part of the width, 0 to 1; undefined: nothing was known yet. */
export function pointAt({ points, from, until }: Plot, part: number): Point | undefined {
  const at = from + part * (until - from);
  return points.findLast((point) => point.at <= at);
}

/** A whole number with a whole half, so that the lines of the chart have whole numbers of workers. */
function niceTop(most: number): number {
  if (most <= 2) return 2;
  const unit = 10 ** Math.floor(Math.log10(most));
  const steps = unit === 1 ? [2, 4, 6, 8, 10] : [1, 2, 3, 4, 5, 6, 8, 10];
  return (steps.find((step) => step * unit >= most) ?? 10) * unit;
}

const round = (value: number): number => Math.round(value * 100) / 100;
