import { type Duration, formatDuration, parseDuration } from '../duration.ts';
import { fault } from '../errors.ts';
import { cronFireTimes } from './cron.ts';
import type { NextFireTime } from './due.ts';
import { zoneOf } from './zone.ts';

/** When a schedule fires: one of these, and `from` only beside `every`. */
export interface ScheduleTimes {
  /** Five fields, or six with the second first: `0 9 * * mon-fri`. */
  readonly cron?: string | undefined;
  /** Steps of the same length, at least a second, counted from `from`. */
  readonly every?: Duration | undefined;
  /** An instant; default the beginning of 1970 in UTC, so that `15m` means each quarter of an hour. */
  readonly from?: string | undefined;
  /** Once: an instant, or a local time in the zone of the schedule. */
  readonly at?: string | undefined;
  /** `09:30` */
  readonly daily?: string | undefined;
  /** `mon,wed@09:30` */
  readonly weekly?: string | undefined;
  /** `1,15@09:30`, or `last@09:30` */
  readonly monthly?: string | undefined;
}

/** A schedule as a store keeps it: the same times have the same text. */
export type ScheduleExpression = string;

const KINDS = ['cron', 'every', 'at', 'daily', 'weekly', 'monthly'] as const;
const MAX_EXPRESSION = 200;
const SECOND = 1_000;
const TIME = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/;
const INSTANT = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)?(Z|[+-]\d\d:\d\d)?$/;

/** The one text of these times, or the reason why they are none. */
export function expressionOf(times: ScheduleTimes, timezone: string): ScheduleExpression {
  const named = KINDS.filter((kind) => times[kind] !== undefined);
  const [kind] = named;
  if (kind === undefined || named.length > 1) {
    throw refused(
      'schedule',
      `it says when by one of ${KINDS.join(', ')}, and this one has ${named.join(' and ') || 'none'}`,
    );
  }
  if (times.from !== undefined && kind !== 'every') throw refused('from', 'only a schedule with every has a from');
  const expression = textOf(kind, times, timezone);
  if (expression.length > MAX_EXPRESSION) throw refused(kind, `it is longer than ${MAX_EXPRESSION} characters`);
  fireTimesOf(expression, timezone);
  return expression;
}

/** What `expressionOf` was given, with every time in one spelling. */
export function timesOf(expression: ScheduleExpression): ScheduleTimes {
  const [word = '', ...rest] = expression.split(' ');
  const said = rest.join(' ');
  switch (word) {
    case '@every': {
      const [every = '', from] = said.split(/ from /);
      return from === undefined ? { every } : { every, from };
    }
    case '@at':
      return { at: said };
    case '@daily':
    case '@weekly':
    case '@monthly':
      return said === '' ? { cron: word } : { [word.slice(1)]: said };
    default:
      return { cron: expression };
  }
}

/** The fire times of a schedule on the clocks of a zone, at whole milliseconds and the same at every call. */
export function fireTimesOf(expression: ScheduleExpression, timezone: string): NextFireTime {
  const zone = zoneOf(timezone);
  const { cron, every, from, at, daily, weekly, monthly } = timesOf(expression);
  if (every !== undefined) return steps(parseDuration(every, 'every'), from === undefined ? 0 : Date.parse(from));
  if (at !== undefined) return once(Date.parse(at));
  if (daily !== undefined) return cronFireTimes(`${clock('daily', daily)} * * *`, zone);
  if (weekly !== undefined) {
    const [days, time] = split('weekly', weekly);
    return cronFireTimes(`${time} * * ${days}`, zone);
  }
  if (monthly !== undefined) {
    const [days, time] = split('monthly', monthly);
    return cronFireTimes(`${time} ${days.replaceAll(/\blast\b/gi, 'L')} * *`, zone);
  }
  return cronFireTimes(cron as string, zone);
}

/** The next fire times after an instant, at most `count`. */
export function nextTimes(next: NextFireTime, after: number, count: number): readonly number[] {
  const found: number[] = [];
  for (let at = next(after); at !== undefined && found.length < count; at = next(at)) found.push(at);
  return found;
}

function textOf(kind: (typeof KINDS)[number], times: ScheduleTimes, timezone: string): ScheduleExpression {
  const said = String(times[kind]).trim().replaceAll(/\s+/g, ' ');
  switch (kind) {
    case 'every': {
      const ms = parseDuration(times.every as Duration, 'every');
      if (ms < SECOND) throw refused('every', 'it is at least 1s');
      const from = times.from === undefined ? '' : ` from ${instantOf('from', times.from, timezone)}`;
      return `@every ${formatDuration(ms)}${from}`;
    }
    case 'at':
      return `@at ${instantOf('at', said, timezone)}`;
    case 'daily':
    case 'weekly':
    case 'monthly':
      return `@${kind} ${said.toLowerCase()}`;
    case 'cron':
      if (timesOf(said).cron === undefined) throw refused('cron', `${JSON.stringify(said)} is no cron expression`);
      return said;
  }
}

/** A text without an offset is a time on the clocks of the zone. */
function instantOf(field: string, text: string, timezone: string): string {
  const found = INSTANT.exec(text);
  const ms = found === null ? Number.NaN : Date.parse(found[1] === undefined ? `${text.replace(' ', 'T')}Z` : text);
  // Without hours the parser takes no "Z".
  const day = found !== null && Number.isNaN(ms) ? Date.parse(text) : ms;
  if (Number.isNaN(day)) {
    throw refused(
      field,
      `${JSON.stringify(text.slice(0, 40))} is no time, which is written like 2026-12-24T18:00 or 2026-12-24T18:00:00Z`,
    );
  }
  return new Date(found?.[1] === undefined ? zoneOf(timezone).firstInstantOf(day) : day).toISOString();
}

function steps(every: number, from: number): NextFireTime {
  return (after) => from + Math.max(0, Math.floor((after - from) / every) + 1) * every;
}

const once =
  (at: number): NextFireTime =>
  (after) =>
    at > after ? at : undefined;

function split(field: string, text: string): readonly [string, string] {
  const [days = '', time, ...more] = text.split('@');
  if (time === undefined || more.length > 0 || days === '' || /[\s*]/.test(days)) {
    const example = field === 'weekly' ? 'mon,wed@09:30' : '1,15@09:30';
    throw refused(field, `${JSON.stringify(text)} is not written like ${example}`);
  }
  return [days, clock(field, time)];
}

/** Second, minute and hour as cron has them. */
function clock(field: string, text: string): string {
  const found = TIME.exec(text);
  if (found === null)
    throw refused(field, `${JSON.stringify(text)} is no time of the day, which is written like 09:30`);
  const [, hour, minute, second = '0'] = found;
  return `${Number(second)} ${Number(minute)} ${Number(hour)}`;
}

const refused = (field: string, problem: string): Error => fault('INVALID_INPUT', { field, problem });
