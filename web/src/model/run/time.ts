/**
 * The time scale of a waterfall. A run may wait for days between seconds of work: long gaps, in which nothing but waits goes on,
 * can be cut short, and then the rest is on one scale.
 */

import { duration } from '../time.ts';

export interface Bar {
  readonly from: number;
  /** Undefined: it goes on. */
  readonly until: number | undefined;
}

export interface Gap {
  readonly from: number;
  readonly until: number;
}

export interface TimeScale {
  readonly from: number;
  readonly until: number;
  /** Where a time is, between 0 and 1. */
  readonly partOf: (at: number) => number;
  readonly ticks: readonly { readonly part: number; readonly text: string }[];
  /** What was cut short. */
  readonly gaps: readonly { readonly part: number; readonly size: number; readonly text: string }[];
}

/** A gap is cut if it is longer than this part of all the rest, and at least so long. */
const LONG_PART = 0.25;
const LONG_MS = 3_000;
/** What is left of a gap, as a part of the rest; all of them together have at most half. */
const CUT_PART = 0.08;

/** Times in which no work went on, and that are long beside the others. */
export function idleGaps(work: readonly Bar[], from: number, until: number): readonly Gap[] {
  const busy = work.map((bar) => [bar.from, bar.until ?? until] as const).sort(([a], [b]) => a - b);
  const gaps: Gap[] = [];
  let end = from;
  for (const [start, stop] of busy) {
    if (start > end) gaps.push({ from: end, until: start });
    end = Math.max(end, stop);
  }
  if (until > end) gaps.push({ from: end, until });
  gaps.sort((a, b) => a.until - a.from - (b.until - b.from));
  // The shortest first: a gap is long beside what is shown in full.
  let rest = until - from - gaps.reduce((sum, gap) => sum + gap.until - gap.from, 0);
  // Beside nothing, nothing is long.
  if (rest <= 0) return [];
  return gaps
    .filter((gap) => {
      const ms = gap.until - gap.from;
      if (ms >= LONG_MS && ms > rest * LONG_PART) return true;
      rest += ms;
      return false;
    })
    .sort((a, b) => a.from - b.from);
}

export function timeScale(from: number, until: number, gaps: readonly Gap[] = [], mostTicks = 6): TimeScale {
  const end = Math.max(until, from + 1);
  const cutMs = gaps.reduce((sum, gap) => sum + gap.until - gap.from, 0);
  const full = Math.max(1, end - from - cutMs);
  const cut = gaps.length === 0 ? 0 : full * Math.min(CUT_PART, 0.5 / gaps.length);
  const total = full + cut * gaps.length;
  const partOf = (at: number): number => {
    const time = Math.min(end, Math.max(from, at));
    let scaled = time - from;
    for (const gap of gaps) {
      if (time <= gap.from) break;
      const ms = gap.until - gap.from;
      const within = Math.min(time, gap.until) - gap.from;
      scaled += (within / ms) * cut - within;
    }
    return scaled / total;
  };
  const step = niceStep(total / mostTicks);
  const ticks: { part: number; text: string }[] = [];
  const most = 4 * mostTicks;
  const shown = (at: number): boolean => !gaps.some((gap) => at > gap.from && at < gap.until);
  const starts = [from, ...gaps.map((gap) => gap.until)];
  for (const [i, start] of starts.entries()) {
    const stop = gaps[i]?.from ?? end;
    for (let at = from + Math.ceil((start - from) / step) * step; at <= stop && ticks.length < most; at += step) {
      const part = partOf(at);
      const last = ticks.at(-1);
      if (shown(at) && (last === undefined || part - last.part > 0.4 / mostTicks))
        ticks.push({ part, text: tickText(at - from) });
    }
  }
  return {
    from,
    until: end,
    partOf,
    ticks,
    gaps: gaps.map((gap) => ({
      part: partOf(gap.from),
      size: partOf(gap.until) - partOf(gap.from),
      text: duration(gap.until - gap.from),
    })),
  };
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500].concat(
  [1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  [1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  [1, 2, 4, 6, 12].map((n) => n * HOUR),
  [1, 2, 7, 14, 30, 90, 365].map((n) => n * DAY),
);

const niceStep = (atLeast: number): number => STEPS.find((step) => step >= atLeast) ?? (STEPS.at(-1) as number);

function tickText(ms: number): string {
  if (ms === 0) return '0';
  return ms < MINUTE && ms % SECOND === 0
    ? `${ms / SECOND}s`
    : duration(ms).replace(/ 0\d?s$/, (all) => (all === ' 00s' ? '' : all));
}
