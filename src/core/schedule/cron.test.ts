import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isEngineError } from '../errors.ts';
import { cronFireTimes } from './cron.ts';
import { cronFields } from './cron-fields.ts';
import { nextTimes } from './expression.ts';
import { zoneOf } from './zone.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const utc = (...times: string[]): readonly string[] => times.map((time) => new Date(time).toISOString());

/** The next fire times after an instant, in UTC. */
function slots(cron: string, timezone: string, after: string, count: number): readonly string[] {
  return nextTimes(cronFireTimes(cron, zoneOf(timezone)), Date.parse(after), count).map((at) =>
    new Date(at).toISOString(),
  );
}

function problem(cron: string): string {
  try {
    cronFireTimes(cron, zoneOf('UTC'));
  } catch (error) {
    assert.ok(isEngineError(error, 'INVALID_INPUT'));
    assert.equal(error.details?.field, 'cron');
    return String(error.details?.problem);
  }
  throw new Error(`${cron} was taken`);
}

test('in Berlin a fire time that the change to summer time skips fires at the first moment after the gap', () => {
  assert.deepEqual(
    slots('30 2 * * *', 'Europe/Berlin', '2026-03-27T12:00:00Z', 3),
    utc('2026-03-28T01:30:00Z', '2026-03-29T01:00:00Z', '2026-03-30T00:30:00Z'),
  );
});

test('several fire times that one gap skips fire once', () => {
  assert.deepEqual(
    slots('0,20,40 2,3 * * *', 'Europe/Berlin', '2026-03-29T00:00:00Z', 3),
    utc('2026-03-29T01:00:00Z', '2026-03-29T01:20:00Z', '2026-03-29T01:40:00Z'),
  );
});

test('in Berlin a daily fire time in the hour that comes twice fires once', () => {
  assert.deepEqual(
    slots('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2),
    utc('2026-10-25T00:30:00Z', '2026-10-26T01:30:00Z'),
  );
  assert.deepEqual(
    slots('30 2 * * *', 'Europe/Berlin', '2026-10-25T01:10:00Z', 1),
    utc('2026-10-26T01:30:00Z'),
    'nor when asked in the second of the two hours',
  );
});

test('in Berlin an hourly schedule follows the hours that really pass, on both days', () => {
  assert.deepEqual(
    slots('0 * * * *', 'Europe/Berlin', '2026-03-28T23:30:00Z', 4),
    utc('2026-03-29T00:00:00Z', '2026-03-29T01:00:00Z', '2026-03-29T02:00:00Z', '2026-03-29T03:00:00Z'),
  );
  assert.deepEqual(
    slots('0 * * * *', 'Europe/Berlin', '2026-10-24T22:30:00Z', 5),
    utc(
      '2026-10-24T23:00:00Z',
      '2026-10-25T00:00:00Z',
      '2026-10-25T01:00:00Z',
      '2026-10-25T02:00:00Z',
      '2026-10-25T03:00:00Z',
    ),
  );
});

test('in New York the changes are those of America', () => {
  assert.deepEqual(slots('15 2 * * *', 'America/New_York', '2026-03-08T05:00:00Z', 1), utc('2026-03-08T07:00:00Z'));
  assert.deepEqual(
    slots('15 1 * * *', 'America/New_York', '2026-11-01T00:00:00Z', 2),
    utc('2026-11-01T05:15:00Z', '2026-11-02T06:15:00Z'),
  );
});

test('on Lord Howe Island, whose clocks change by half an hour, half an hour is made up for or not repeated', () => {
  assert.deepEqual(
    slots('15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00:00Z', 2),
    utc('2026-10-03T15:30:00Z', '2026-10-04T15:15:00Z'),
  );
  assert.deepEqual(
    slots('45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T00:00:00Z', 2),
    utc('2026-04-04T14:45:00Z', '2026-04-05T15:15:00Z'),
  );
});

test('on the day that Apia skipped a daily schedule fires as the next day begins', () => {
  assert.deepEqual(
    slots('0 9 * * *', 'Pacific/Apia', '2011-12-29T12:00:00Z', 3),
    utc('2011-12-29T19:00:00Z', '2011-12-30T10:00:00Z', '2011-12-30T19:00:00Z'),
  );
});

test('a leap day comes every four years, but not in 2100', () => {
  assert.deepEqual(
    slots('0 0 29 2 *', 'UTC', '2026-01-01T00:00:00Z', 2),
    utc('2028-02-29T00:00:00Z', '2032-02-29T00:00:00Z'),
  );
  assert.deepEqual(slots('0 0 29 2 *', 'UTC', '2096-03-01T00:00:00Z', 1), utc('2104-02-29T00:00:00Z'));
  assert.deepEqual(
    slots('0 0 L 2 *', 'UTC', '2027-01-01T00:00:00Z', 2),
    utc('2027-02-28T00:00:00Z', '2028-02-29T00:00:00Z'),
  );
});

test('at the end of the calendar there is no next fire time', () => {
  const end = Date.parse('+275760-09-12T00:00:00Z');
  for (const cron of ['0 0 29 2 *', '0 * 29 2 *']) assert.equal(cronFireTimes(cron, zoneOf('UTC'))(end), undefined);
});

test('a day that no month has is refused, and says so', () => {
  for (const cron of ['0 0 30 2 *', '0 0 31 2,4,6,9,11 *', '0 0 30 2 */1']) {
    assert.match(problem(cron), /never fires: no month that it names has such a day/, cron);
  }
});

test('with day and weekday both named either is enough, and with a star in one both are needed', () => {
  assert.deepEqual(
    slots('0 0 13 * FRI', 'UTC', '2026-02-01T00:00:00Z', 3),
    utc('2026-02-06T00:00:00Z', '2026-02-13T00:00:00Z', '2026-02-20T00:00:00Z'),
  );
  assert.deepEqual(
    slots('0 0 */7 * 0', 'UTC', '2026-02-01T00:00:00Z', 2),
    utc('2026-02-08T00:00:00Z', '2026-02-15T00:00:00Z'),
  );
});

test('fields are read with lists, ranges, steps, names and 7 for Sunday', () => {
  const fields = cronFields('5,10 */20 8-10 L,1-3/2 jan,DEC mon-wed,7');
  assert.deepEqual(fields, {
    seconds: [5, 10],
    minutes: [0, 20, 40],
    hours: [8, 9, 10],
    days: [1, 3],
    lastDay: true,
    months: [1, 12],
    weekdays: [0, 1, 2, 3],
    eitherDay: true,
  });
  assert.deepEqual(cronFields('10/20 * * * *').minutes, [10, 30, 50]);
  assert.deepEqual(cronFields('0 0 * * 5/1').weekdays, [5, 6]);
  assert.deepEqual(cronFields('0 0 * * 7/2').weekdays, [0]);
  assert.deepEqual(cronFields('@weekly'), cronFields('0 0 * * 0'));
});

test('what is no cron expression is refused with the part that is wrong', () => {
  const wrong: readonly [string, RegExp][] = [
    ['constructor', /"constructor" is no cron expression/],
    ['__proto__', /five fields/],
    ['often', /"often" is no cron expression, which has five fields/],
    ['* * * *', /five fields/],
    ['* * * * * * *', /five fields/],
    ['61 * * * *', /61 in the minute field is not between 0 and 59/],
    ['* 24 * * *', /24 in the hour field/],
    ['* * 0 * *', /0 in the day of the month field is not between 1 and 31/],
    ['* * * 13 *', /13 in the month field/],
    ['* * * * 8', /8 in the weekday field is not between 0 and 7/],
    ['* * * FOO *', /"FOO" in the month field is no value, range or step/],
    ['50-10 * * * *', /"50-10" in the minute field runs backwards/],
    ['*/0 * * * *', /"\*\/0" in the minute field is no value/],
    ['*/60 * * * *', /"\*\/60" in the minute field/],
    ['*/x * * * *', /"\*\/x"/],
    ['1/2/3 * * * *', /"1\/2\/3"/],
    ['1-2-3 * * * *', /"1-2-3"/],
    [', * * * *', /"" in the minute field/],
    ['1.5 * * * *', /"1.5"/],
    ['-1 * * * *', /"-1"/],
  ];
  for (const [cron, wanted] of wrong) assert.match(problem(cron), wanted, cron);
});

/** By the definition: each minute of the time is shown by clocks that know nothing of our arithmetic. */
function everyMinuteOf(cron: string, timezone: string, from: number, to: number): readonly number[] {
  const fields = cronFields(cron);
  const face = new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short', timeStyle: 'short' });
  const named = (local: number): boolean => {
    const date = new Date(local);
    const [ofMonth, ofWeek] = [fields.days.includes(date.getUTCDate()), fields.weekdays.includes(date.getUTCDay())];
    return (
      fields.minutes.includes(date.getUTCMinutes()) &&
      fields.hours.includes(date.getUTCHours()) &&
      fields.months.includes(date.getUTCMonth() + 1) &&
      (fields.eitherDay ? ofMonth || ofWeek : ofMonth && ofWeek)
    );
  };
  const found = new Set<number>();
  let highest = Number.NEGATIVE_INFINITY;
  for (let at = from; at < to; at += MINUTE) {
    const local = Date.parse(`${face.format(at).replace(' ', 'T')}Z`);
    if (fields.hours.length === 24) {
      if (named(local)) found.add(at);
      continue;
    }
    // Each local time up to this one that the clocks have not shown yet is due now.
    if (highest > 0) for (let due = highest + MINUTE; due <= local; due += MINUTE) if (named(due)) found.add(at);
    highest = Math.max(highest, local);
  }
  return [...found];
}

test('around every kind of change of clocks the fire times are those of the definition, minute by minute', () => {
  const changes = {
    'Europe/Berlin': ['2026-03-29', '2026-10-25'],
    'America/New_York': ['2026-03-08', '2026-11-01'],
    'Australia/Lord_Howe': ['2026-04-05', '2026-10-04'],
    'Pacific/Apia': ['2011-12-30'],
    'Africa/Casablanca': ['2026-02-15', '2026-03-22'],
    'America/St_Johns': ['2026-03-08', '2026-11-01'],
    'Asia/Kathmandu': ['2026-05-05'],
    'America/Caracas': ['2016-05-01'],
    UTC: ['2026-03-29'],
  };
  const crons = [
    '30 2 * * *',
    '*/7 * * * *',
    '15,45 * * * *',
    '0 0 * * *',
    '*/15 1-3 * * *',
    '10 0-22 * * *',
    '0 2 * * 0',
    '59 23 30 * *',
    '0 12 29-31 * MON',
  ];
  let compared = 0;
  for (const [zone, days] of Object.entries(changes)) {
    for (const day of days) {
      const noon = Date.parse(`${day}T00:00:00Z`);
      const [from, to] = [noon - 2 * DAY, noon + 3 * DAY];
      for (const cron of crons) {
        const wanted = everyMinuteOf(cron, zone, from, to);
        const next = cronFireTimes(cron, zoneOf(zone));
        const got: number[] = [];
        for (let at = next(from); at !== undefined && at < to; at = next(at)) got.push(at);
        assert.deepEqual(
          got.map((at) => new Date(at).toISOString()),
          wanted.filter((at) => at > from).map((at) => new Date(at).toISOString()),
          `${cron} in ${zone} around ${day}`,
        );
        compared += got.length;
      }
    }
  }
  assert.ok(compared > 10_000, String(compared));
});

test('the next fire time is strictly later, whatever the fraction of a second, the zone and the change of clocks', () => {
  for (const zone of ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'UTC']) {
    for (const cron of ['30 2 * * *', '*/7 * * * *', '0 2 * * 0', '*/20 * 2 * * *']) {
      const next = cronFireTimes(cron, zoneOf(zone));
      for (const day of ['2026-03-08', '2026-03-29', '2026-04-05', '2026-10-04', '2026-10-25', '2026-11-01']) {
        const midnight = Date.parse(`${day}T00:00:00Z`);
        for (let at = midnight - 12 * HOUR; at < midnight + 16 * HOUR; at += 53 * MINUTE + 777) {
          const slot = next(at);
          assert.ok(slot !== undefined && slot > at, `${cron} in ${zone} after ${new Date(at).toISOString()}`);
        }
      }
    }
  }
});

/** A field as text, with the values that it was made of. */
function field(min: number, max: number): fc.Arbitrary<readonly [text: string, values: readonly number[]]> {
  const from = (low: number, high: number, by: number): readonly number[] =>
    Array.from({ length: max + 1 }, (_, n) => n).filter((n) => n >= low && n <= high && (n - low) % by === 0);
  const value = fc.integer({ min, max });
  const step = fc.integer({ min: 1, max: Math.min(9, max) });
  const part = fc
    .tuple(value, value, step, fc.integer({ min: 0, max: 2 }))
    .map(([a, b, by, kind]): readonly [string, readonly number[]] => {
      const [low, high] = [Math.min(a, b), Math.max(a, b)];
      if (kind === 0) return [String(low), [low]];
      return kind === 1 ? [`${low}-${high}`, from(low, high, 1)] : [`${low}-${high}/${by}`, from(low, high, by)];
    });
  return fc.oneof(
    fc.constant<readonly [string, readonly number[]]>(['*', from(min, max, 1)]),
    step.map((by): readonly [string, readonly number[]] => [`*/${by}`, from(min, max, by)]),
    fc
      .array(part, { minLength: 1, maxLength: 3 })
      .map((parts): readonly [string, readonly number[]] => [
        parts.map(([text]) => text).join(','),
        parts.flatMap(([, values]) => values),
      ]),
  );
}

test('in UTC any expression fires at the times that it was made of, and at no others', () => {
  // A day that each month has, beside any others.
  const days = field(1, 31).filter(([, values]) => values.some((day) => day <= 28));
  const fields = fc.tuple(field(0, 59), field(0, 59), field(0, 23), days, field(1, 12), field(0, 6));
  const starts = fc.integer({ min: Date.UTC(2026, 0), max: Date.UTC(2030, 0) });
  fc.assert(
    fc.property(fields, starts, ([second, minute, hour, day, month, weekday], start) => {
      const cron = [second, minute, hour, day, month, weekday].map(([text]) => text).join(' ');
      const either = !day[0].startsWith('*') && !weekday[0].startsWith('*');
      const wanted: number[] = [];
      for (let midnight = Math.floor(start / DAY) * DAY; wanted.length < 4; midnight += DAY) {
        const date = new Date(midnight);
        const [ofMonth, ofWeek] = [day[1].includes(date.getUTCDate()), weekday[1].includes(date.getUTCDay())];
        if (!month[1].includes(date.getUTCMonth() + 1) || !(either ? ofMonth || ofWeek : ofMonth && ofWeek)) continue;
        for (let at = 0; at < 86_400 && wanted.length < 4; at++) {
          const [h, m, s] = [Math.floor(at / 3600), Math.floor(at / 60) % 60, at % 60];
          if (midnight + at * 1000 <= start || !hour[1].includes(h) || !minute[1].includes(m)) continue;
          if (second[1].includes(s)) wanted.push(midnight + at * 1000);
        }
      }
      assert.deepEqual(nextTimes(cronFireTimes(cron, zoneOf('UTC')), start, 4), wanted);
    }),
    { numRuns: 300 },
  );
});
