/** Times and durations of CEL, in nanoseconds. */
import { ExpressionError } from '../expression/expression-error.ts';
import { Duration, Timestamp } from './values.ts';

const SECOND = 1_000_000_000n;
const UNITS: ReadonlyMap<string, bigint> = new Map([
  ['h', 3600n * SECOND],
  ['m', 60n * SECOND],
  ['s', SECOND],
  ['ms', 1_000_000n],
  ['us', 1000n],
  ['µs', 1000n],
  ['ns', 1n],
  ['d', 86_400n * SECOND],
]);

/** `1h30m`, `-1.5s`; and `1d`, which CEL itself does not have. */
export function parseDuration(text: string, at: number): Duration {
  const found = /^([+-]?)((?:\d+(?:\.\d+)?(?:ms|us|µs|ns|[dhms]))+|0)$/.exec(text.slice(0, 100));
  if (found === null || text.length > 100) throw new ExpressionError('a duration is written as "1h30m" or "24h"', at);
  let nanos = 0n;
  for (const [, whole = '0', part = '', unit = 's'] of (found[2] ?? '').matchAll(
    /(\d+)(?:\.(\d+))?(ms|us|µs|ns|[dhms])/g,
  )) {
    const factor = UNITS.get(unit) as bigint;
    nanos += BigInt(whole) * factor + (part === '' ? 0n : (BigInt(part) * factor) / 10n ** BigInt(part.length));
  }
  return durationOf(found[1] === '-' ? -nanos : nanos, at);
}

export function durationText({ nanos }: Duration): string {
  const [sign, size] = nanos < 0n ? ['-', -nanos] : ['', nanos];
  const part = (size % SECOND).toString().padStart(9, '0').replace(/0+$/, '');
  return `${sign}${size / SECOND}${part === '' ? '' : `.${part}`}s`;
}

/** RFC 3339. */
export function parseTimestamp(text: string, at: number): Timestamp {
  const found = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/i.exec(text);
  const ms = found === null ? Number.NaN : Date.parse(`${found[1]}${found[3]}`.toUpperCase());
  if (found === null || Number.isNaN(ms)) {
    throw new ExpressionError('a time is written as "2026-01-31T12:00:00Z"', at);
  }
  return timestampOf(BigInt(ms) * 1_000_000n + BigInt((found[2] ?? '').padEnd(9, '0')), at);
}

/** The time that a text of a context says; in UTC, if it names no zone. */
export function timeIn(text: string, at: number): Timestamp | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)?$/i.test(text)) return undefined;
  return parseTimestamp(/T.*[Z+-]/i.test(text) ? text : `${text}Z`, at);
}

const FIRST = BigInt(Date.parse('0001-01-01T00:00:00Z')) * 1_000_000n;
const LAST = BigInt(Date.parse('9999-12-31T23:59:59Z')) * 1_000_000n + 999_999_999n;
const LONGEST = 315_576_000_000n * SECOND;

/** The bounds are those of CEL. */
export function timestampOf(nanos: bigint, at: number): Timestamp {
  if (nanos >= FIRST && nanos <= LAST) return new Timestamp(nanos);
  throw new ExpressionError('this is no time between the years 1 and 9999', at);
}

export function durationOf(nanos: bigint, at: number): Duration {
  if (nanos >= -LONGEST && nanos <= LONGEST) return new Duration(nanos);
  throw new ExpressionError('a duration is at most 10,000 years', at);
}

export function timestampText({ nanos }: Timestamp): string {
  const seconds = floorDivide(nanos, SECOND);
  const part = (nanos - seconds * SECOND).toString().padStart(9, '0').replace(/0+$/, '');
  const text = dateOf(seconds * 1000n)
    .toISOString()
    .slice(0, 19);
  return `${text}${part === '' ? '' : `.${part}`}Z`;
}

function floorDivide(a: bigint, b: bigint): bigint {
  return a / b - (a % b < 0n ? 1n : 0n);
}

const dateOf = (ms: bigint): Date => new Date(Number(ms));

export type TimeField =
  | 'year'
  | 'month'
  | 'dayOfMonth'
  | 'dayOfWeek'
  | 'dayOfYear'
  | 'hours'
  | 'minutes'
  | 'seconds'
  | 'milliseconds';

/** A part of a time in a zone: a name such as `Europe/Berlin`, or an offset such as `+02:00`. */
export function fieldOf({ nanos }: Timestamp, field: TimeField, zone: string, at: number): bigint {
  const ms = floorDivide(nanos, 1_000_000n);
  const local = dateOf(ms + BigInt(offsetOf(ms, zone, at)));
  switch (field) {
    case 'year':
      return BigInt(local.getUTCFullYear());
    case 'month':
      return BigInt(local.getUTCMonth());
    case 'dayOfMonth':
      return BigInt(local.getUTCDate());
    case 'dayOfWeek':
      return BigInt(local.getUTCDay());
    case 'dayOfYear':
      return BigInt(
        Math.floor(
          (Date.UTC(local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()) -
            Date.UTC(local.getUTCFullYear(), 0, 1)) /
            86_400_000,
        ),
      );
    case 'hours':
      return BigInt(local.getUTCHours());
    case 'minutes':
      return BigInt(local.getUTCMinutes());
    case 'seconds':
      return BigInt(local.getUTCSeconds());
    case 'milliseconds':
      return BigInt(local.getUTCMilliseconds());
  }
}

/** Of a duration, all of it in the unit, without the rest; milliseconds are those beyond the seconds. */
export function durationFieldOf({ nanos }: Duration, field: TimeField): bigint | undefined {
  if (field === 'hours') return nanos / (3600n * SECOND);
  if (field === 'minutes') return nanos / (60n * SECOND);
  if (field === 'seconds') return nanos / SECOND;
  return field === 'milliseconds' ? (nanos % SECOND) / 1_000_000n : undefined;
}

function offsetOf(ms: bigint, zone: string, at: number): number {
  if (zone === 'UTC' || zone === 'Z') return 0;
  const fixed = /^([+-]?)(\d\d):(\d\d)$/.exec(zone);
  if (fixed !== null) return (Number(fixed[2]) * 60 + Number(fixed[3])) * 60_000 * (fixed[1] === '-' ? -1 : 1);
  try {
    const parts = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    }).formatToParts(dateOf(ms));
    const of = (type: string): number => Number(parts.find((part) => part.type === type)?.value);
    const local = Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'));
    return local - Math.floor(Number(ms) / 1000) * 1000;
  } catch {
    throw new ExpressionError(`there is no time zone "${zone}"`, at);
  }
}
