import { fault } from '../errors.ts';

/** The values that each field of a cron expression names, ascending. */
export interface CronFields {
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  /** From 1 to 31. */
  readonly days: readonly number[];
  /** `L`: the last day of the month, besides those in `days`. */
  readonly lastDay: boolean;
  /** From 1 to 12. */
  readonly months: readonly number[];
  /** From 0, Sunday, to 6. */
  readonly weekdays: readonly number[];
  /** With both fields restricted a day needs only one of them, as in every cron since the first; else it needs both. */
  readonly eitherDay: boolean;
}

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const MONTHS = 'JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC'.split(' ');
const WEEKDAYS = 'SUN MON TUE WED THU FRI SAT'.split(' ');
const SECOND: Field = { name: 'second', min: 0, max: 59 };
const MINUTE: Field = { name: 'minute', min: 0, max: 59 };
const HOUR: Field = { name: 'hour', min: 0, max: 23 };
const DAY: Field = { name: 'day of the month', min: 1, max: 31 };
const MONTH: Field = { name: 'month', min: 1, max: 12, names: MONTHS };
/** 7 is Sunday as well. */
const WEEKDAY: Field = { name: 'weekday', min: 0, max: 7, names: WEEKDAYS };

const NICKNAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '@hourly': '0 * * * *',
    '@daily': '0 0 * * *',
    '@midnight': '0 0 * * *',
    '@weekly': '0 0 * * 0',
    '@monthly': '0 0 1 * *',
    '@yearly': '0 0 1 1 *',
    '@annually': '0 0 1 1 *',
  }),
);

/** Reads five fields, or six with the seconds first. */
export function cronFields(expression: string): CronFields {
  const given = (NICKNAMES.get(expression.toLowerCase()) ?? expression).trim().split(/\s+/);
  if (given.length !== 5 && given.length !== 6) {
    throw refused(
      `${JSON.stringify(expression)} is no cron expression, which has five fields (minute, hour, day, month, weekday), or six with the second first`,
    );
  }
  const [second, minute, hour, day, month, weekday] = (given.length === 5 ? ['0', ...given] : given) as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const dayParts = day.split(',');
  const named = dayParts.filter((part) => part.toUpperCase() !== 'L');
  return {
    seconds: valuesOf(SECOND, second),
    minutes: valuesOf(MINUTE, minute),
    hours: valuesOf(HOUR, hour),
    days: named.length === 0 ? [] : valuesOf(DAY, named.join(',')),
    lastDay: named.length < dayParts.length,
    months: valuesOf(MONTH, month),
    weekdays: ascending(valuesOf(WEEKDAY, weekday).map((value) => value % 7)),
    eitherDay: !day.startsWith('*') && !weekday.startsWith('*'),
  };
}

function valuesOf(field: Field, text: string): readonly number[] {
  return ascending(text.split(',').flatMap((part) => rangeOf(field, part)));
}

function rangeOf(field: Field, part: string): number[] {
  const [range = '', step, ...more] = part.split('/');
  const [from = '', to, ...others] = range.split('-');
  const top = field === WEEKDAY ? 6 : field.max;
  if (more.length > 0 || others.length > 0) throw unreadable(field, part);
  let [low, high] = [field.min, top];
  if (range !== '*') {
    low = valueOf(field, from, part);
    high = to !== undefined ? valueOf(field, to, part) : step === undefined ? low : Math.max(low, top);
  }
  if (low > high) throw refused(`${JSON.stringify(part)} in the ${field.name} field runs backwards`);
  const by = step === undefined ? 1 : /^\d{1,2}$/.test(step) ? Number(step) : Number.NaN;
  if (!(by >= 1 && by <= top)) throw unreadable(field, part);
  return Array.from({ length: Math.floor((high - low) / by) + 1 }, (_, i) => low + i * by);
}

function valueOf({ name, min, max, names }: Field, text: string, part: string): number {
  const at = names?.indexOf(text.toUpperCase()) ?? -1;
  if (at >= 0) return at + min;
  const value = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(value)) throw unreadable({ name, min, max }, part);
  if (value < min || value > max) throw refused(`${text} in the ${name} field is not between ${min} and ${max}`);
  return value;
}

const ascending = (values: readonly number[]): readonly number[] => [...new Set(values)].sort((a, b) => a - b);

const unreadable = (field: Field, part: string): Error =>
  refused(`${JSON.stringify(part)} in the ${field.name} field is no value, range or step`);

const refused = (problem: string): Error => fault('INVALID_INPUT', { field: 'cron', problem });
