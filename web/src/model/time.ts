/** Times and durations as texts. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long ago, or how long until: `now`, `12s ago`, `in 3m`, `2d ago`. */
export function relativeTime(at: number, now: number): string {
  const past = now - at;
  const size = Math.abs(past);
  if (size < 1000) return 'now';
  const text = roughDuration(size);
  return past > 0 ? `${text} ago` : `in ${text}`;
}

/** A duration in one unit: `45s`, `12m`, `3h`, `9d`. */
export function roughDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}ms`;
  if (ms < MINUTE) return `${Math.floor(ms / 1000)}s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)}m`;
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)}h`;
  return `${Math.floor(ms / DAY)}d`;
}

/** A duration in at most two units: `840ms`, `1.2s`, `4m 05s`, `2h 10m`, `3d 4h`. */
export function duration(ms: number): string {
  if (ms < 0) return '0ms';
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`;
  if (ms < MINUTE) return `${Math.floor(ms / 1000)}s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)}m ${String(Math.floor((ms % MINUTE) / 1000)).padStart(2, '0')}s`;
  if (ms < DAY) return twoUnits(Math.floor(ms / HOUR), 'h', Math.floor((ms % HOUR) / MINUTE), 'm');
  return twoUnits(Math.floor(ms / DAY), 'd', Math.floor((ms % DAY) / HOUR), 'h');
}

function twoUnits(large: number, unit: string, small: number, smaller: string): string {
  return small === 0 ? `${large}${unit}` : `${large}${unit} ${small}${smaller}`;
}

/** Local date and time with milliseconds. */
export function exactTime(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? String(at) : `${dayOf(date)} ${clockTime(at)}`;
}

/** Local time of day: `14:03:07.250`. */
export function clockTime(at: number): string {
  const date = new Date(at);
  const pad = (n: number): string => String(n).padStart(2, '0');
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

function dayOf(date: Date): string {
  return `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, '0')}-${String(date.getDate()).padStart(2, '0')}`;
}

/** Whether a text is a duration as the server takes it: `30s`, `5m`, `1h30m`. */
export function isDuration(text: string): boolean {
  return /^(?=\d)(?:\d+w)?(?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+s)?(?:\d+ms)?$/.test(text.trim());
}

/** The exact text of a duration, as the server takes it and shows it: `1h30m`, `500ms`, `0s`. */
export function durationText(ms: number): string {
  let left = Math.round(ms);
  const parts = (['d', 'h', 'm', 's', 'ms'] as const).flatMap((unit) => {
    const size = UNITS[unit] as number;
    const n = Math.floor(left / size);
    left -= n * size;
    return n === 0 ? [] : [`${n}${unit}`];
  });
  return parts.length === 0 ? '0s' : parts.join('');
}

const UNITS: Readonly<Record<string, number>> = { w: 7 * DAY, d: DAY, h: HOUR, m: MINUTE, s: 1000, ms: 1 };

/** The milliseconds of such a text; 0 if it is not a duration. */
export function millisecondsOf(text: string): number {
  if (!isDuration(text)) return 0;
  return [...text.matchAll(/(\d+)(ms|[wdhms])/g)].reduce(
    (sum, [, n, unit]) => sum + Number(n) * (UNITS[unit ?? ''] ?? 0),
    0,
  );
}
