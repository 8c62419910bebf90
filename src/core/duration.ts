import { fault, invariant } from './errors.ts';

/** A duration at the edges: milliseconds, or text such as `30s` and `1h30m`. Inside, only milliseconds. */
export type Duration = number | string;

/** 100 years: far above any use, and any sum with a calendar time stays an exact integer. */
export const MAX_DURATION_MS = 36_525 * 86_400_000;

const UNITS = [
  ['w', 604_800_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;

// Each unit once, largest first, whole numbers: every accepted text has one meaning.
const PATTERN = /^(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/;

/** Whole milliseconds from 0 to 100 years. `field` names the place in the error. */
export function parseDuration(input: Duration, field = 'duration'): number {
  const ms = typeof input === 'string' ? parseText(input) : input;
  if (!Number.isInteger(ms)) {
    throw fault('INVALID_INPUT', {
      field,
      problem: `${describe(input)} is not a duration, which is written like 250ms, 30s, 5m, 1h30m, 2d or 1w`,
    });
  }
  if (ms < 0 || ms > MAX_DURATION_MS) {
    throw fault('INVALID_INPUT', { field, problem: `${describe(input)} is not between 0ms and 100 years` });
  }
  return ms;
}

/** The exact form with the largest units first: `1h30m`, `1s500ms`, `0ms`. `parseDuration` reads it back. */
export function formatDuration(ms: number): string {
  invariant(Number.isSafeInteger(ms) && ms >= 0, `a duration is a whole number of milliseconds, not ${ms}`);
  let rest = ms;
  let text = '';
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * size;
  }
  return text === '' ? '0ms' : text;
}

function parseText(text: string): number {
  const found = text === '' ? null : PATTERN.exec(text);
  if (found === null) return Number.NaN;
  return UNITS.reduce((sum, [, size], index) => sum + Number(found[index + 1] ?? 0) * size, 0);
}

function describe(input: unknown): string {
  return typeof input === 'string' ? JSON.stringify(input.slice(0, 40)) : String(input);
}
