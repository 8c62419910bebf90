/** Arithmetic for charts: the bars of a histogram, the brush over it, axis ticks, polylines. */

const STACK = ['failed', 'cancelled', 'completed', 'running', 'ready', 'scheduled', 'waiting'] as const;
export type StackState = (typeof STACK)[number];
type Counts = Readonly<Record<StackState, number>>;

export interface Segment {
  readonly state: StackState;
  readonly count: number;
  /** `from` and `to` are parts of the height, from the bottom. */
  readonly from: number;
  readonly to: number;
}

export interface Bar {
  readonly at: number;
  readonly until: number;
  readonly total: number;
  readonly segments: readonly Segment[];
}

/** A bar for each step. Failed tasks are at the bottom, where they are seen. A bar that is not empty has a least height. */
export function barsOf({
  from,
  stepMs,
  buckets,
}: {
  readonly from: number;
  readonly stepMs: number;
  readonly buckets: readonly Counts[];
}): readonly Bar[] {
  const totals = buckets.map((counts) => STACK.reduce((sum, state) => sum + counts[state], 0));
  const max = Math.max(1, ...totals);
  return buckets.map((counts, i) => {
    const total = totals[i] as number;
    const height = total === 0 ? 0 : Math.max(0.04, total / max);
    let below = 0;
    const segments = STACK.flatMap((state) => {
      const count = counts[state];
      if (count === 0) return [];
      const start = (below / total) * height;
      below += count;
      return [{ state, count, from: start, to: (below / total) * height }];
    });
    return { at: from + i * stepMs, until: from + (i + 1) * stepMs, total, segments };
  });
}

/** Two positions (0 is the left edge, 1 the right one) as the range of whole steps that they touch. */
export function brushRange(
  a: number,
  b: number,
  {
    from,
    stepMs,
    buckets,
  }: { readonly from: number; readonly stepMs: number; readonly buckets: { readonly length: number } },
): { readonly from: number; readonly until: number } {
  const n = buckets.length;
  const step = (part: number): number => Math.min(n - 1, Math.max(0, Math.floor(part * n)));
  return {
    from: Math.floor(from + step(Math.min(a, b)) * stepMs),
    until: Math.ceil(from + (step(Math.max(a, b)) + 1) * stepMs),
  };
}

/** At most `max` ticks for a time axis, at round times of the local day. */
export function ticksOf(from: number, until: number, max: number): readonly number[] {
  const STEPS = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
    2_592_000,
  ];
  const span = until - from;
  if (!(span > 0) || max < 1) return [];
  const step = (STEPS.find((seconds) => span / (seconds * 1000) <= max) ?? (STEPS.at(-1) as number)) * 1000;
  // Round in local time: a day begins at local midnight.
  const shift = new Date(from).getTimezoneOffset() * 60_000;
  const ticks: number[] = [];
  for (let at = Math.ceil((from - shift) / step) * step + shift; at <= until && ticks.length <= max; at += step)
    ticks.push(at);
  return ticks;
}

/** Polylines through values, in a box of width × height. A null is a gap that begins a new line. */
export function polylinesOf(
  values: readonly (number | null)[],
  width: number,
  height: number,
  max = Math.max(1, ...values.map((value) => value ?? 0)),
): readonly string[] {
  const pieces: string[][] = [];
  let piece: string[] | undefined;
  values.forEach((value, i) => {
    if (value === null) {
      piece = undefined;
      return;
    }
    if (piece === undefined) {
      piece = [];
      pieces.push(piece);
    }
    const x = values.length < 2 ? width : (i / (values.length - 1)) * width;
    piece.push(`${round(x)},${round(height - (Math.min(value, max) / max) * height)}`);
  });
  return pieces.map((points) => points.join(' '));
}

const round = (n: number): number => Math.round(n * 10) / 10;
