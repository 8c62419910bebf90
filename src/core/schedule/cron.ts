import { fault } from '../errors.ts';
import type { CronFields } from './cron-fields.ts';
import { cronFields } from './cron-fields.ts';
import type { NextFireTime } from './due.ts';
import type { LocalTime, Zone } from './zone.ts';

const SECOND = 1_000;
const DAY = 86_400_000;
/** 29 February comes back after at most eight years. */
const SEARCH_DAYS = 8 * 366 + 1;

/**
 * The fire times of a cron expression on the clocks of a zone. An expression that names hours fires at the first instant after a gap
 * for the times that the gap skips, and once for a time that comes twice. One with every hour follows the hours that really pass: it
 * makes up for nothing and repeats the hour that the clocks repeat.
 */
export function cronFireTimes(expression: string, zone: Zone): NextFireTime {
  const fields = cronFields(expression);
  if (nextLocal(fields, Date.UTC(2000, 0)) === undefined) {
    throw fault('INVALID_INPUT', {
      field: 'cron',
      problem: `${JSON.stringify(expression)} never fires: no month that it names has such a day`,
    });
  }
  return fields.hours.length === 24 ? everyHour(fields, zone) : namedHours(fields, zone);
}

/** The instants of ascending local times never descend, so the first local time with a later instant is the next one. */
function namedHours(fields: CronFields, zone: Zone): NextFireTime {
  return (after) => {
    let local: LocalTime | undefined = Math.floor(after / SECOND) * SECOND + zone.offsetAt(after);
    while ((local = nextLocal(fields, local)) !== undefined) {
      const instant = zone.firstInstantOf(local);
      if (instant > after) return instant;
    }
    return undefined;
  };
}

/** From one change of clocks to the next a local time is an instant. */
function everyHour(fields: CronFields, zone: Zone): NextFireTime {
  return (after) => {
    let from = Math.floor(after / SECOND) * SECOND;
    for (;;) {
      const offset = zone.offsetAt(from);
      const local = nextLocal(fields, from + offset);
      if (local === undefined) return undefined;
      const change = zone.changeBetween(from, local - offset);
      if (change === undefined) return local - offset;
      // The second before the change has the old offset; the change itself may be a fire time.
      const shown = change + zone.offsetAt(change);
      if (nextLocal(fields, shown - SECOND) === shown) return change;
      from = change;
    }
  };
}

/** The first time after `after` that the fields name; `undefined` when none of eight years has one. */
function nextLocal(fields: CronFields, after: LocalTime): LocalTime | undefined {
  const first = Math.floor((after + SECOND) / DAY) * DAY;
  let within = after + SECOND - first;
  for (let day = first; day <= first + SEARCH_DAYS * DAY; day += DAY) {
    if (isDay(fields, day)) {
      const time = timeFrom(fields, within);
      if (time !== undefined) return day + time;
    }
    within = 0;
  }
  return undefined;
}

function isDay({ days, lastDay, months, weekdays, eitherDay }: CronFields, day: LocalTime): boolean {
  const date = new Date(day);
  if (!months.includes(date.getUTCMonth() + 1)) return false;
  const isLast = lastDay && new Date(day + DAY).getUTCDate() === 1;
  const ofMonth = isLast || days.includes(date.getUTCDate());
  const ofWeek = weekdays.includes(date.getUTCDay());
  return eitherDay ? ofMonth || ofWeek : ofMonth && ofWeek;
}

/** The first time of a day at or after `within` milliseconds of it. */
function timeFrom({ hours, minutes, seconds }: CronFields, within: number): number | undefined {
  const from = Math.ceil(within / SECOND);
  for (const hour of hours) {
    if (hour * 3600 + 3599 < from) continue;
    for (const minute of minutes) {
      const start = hour * 3600 + minute * 60;
      const second = seconds.find((value) => start + value >= from);
      if (second !== undefined) return (start + second) * SECOND;
    }
  }
  return undefined;
}
