import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../errors.ts';
import { expressionOf, fireTimesOf, nextTimes, type ScheduleTimes, timesOf } from './expression.ts';

const utc = (...times: string[]): readonly string[] => times.map((time) => new Date(time).toISOString());

function fires(times: ScheduleTimes, timezone: string, after: string, count: number): readonly string[] {
  const next = fireTimesOf(expressionOf(times, timezone), timezone);
  return nextTimes(next, Date.parse(after), count).map((at) => new Date(at).toISOString());
}

function refusal(times: Record<string, unknown>, timezone = 'UTC'): readonly [unknown, string] {
  try {
    expressionOf(times as ScheduleTimes, timezone);
  } catch (error) {
    assert.ok(isEngineError(error, 'INVALID_INPUT'), String(error));
    return [error.details?.field, String(error.details?.problem)];
  }
  throw new Error(`${JSON.stringify(times)} was taken`);
}

test('every kind of schedule has one text, which is read back', () => {
  const kinds: readonly [ScheduleTimes, string, ScheduleTimes][] = [
    [{ cron: ' 0  9 * * mon-fri ' }, '0 9 * * mon-fri', { cron: '0 9 * * mon-fri' }],
    [{ cron: '@daily' }, '@daily', { cron: '@daily' }],
    [{ cron: '@hourly' }, '@hourly', { cron: '@hourly' }],
    [{ every: 90_000 }, '@every 1m30s', { every: '1m30s' }],
    [
      { every: '15m', from: '2026-01-01T00:05' },
      '@every 15m from 2025-12-31T23:05:00.000Z',
      { every: '15m', from: '2025-12-31T23:05:00.000Z' },
    ],
    [{ at: '2026-12-24T18:00:00Z' }, '@at 2026-12-24T18:00:00.000Z', { at: '2026-12-24T18:00:00.000Z' }],
    [{ at: '2026-12-24 18:00' }, '@at 2026-12-24T17:00:00.000Z', { at: '2026-12-24T17:00:00.000Z' }],
    [{ at: '2026-12-24' }, '@at 2026-12-23T23:00:00.000Z', { at: '2026-12-23T23:00:00.000Z' }],
    [{ daily: '09:30' }, '@daily 09:30', { daily: '09:30' }],
    [{ weekly: 'Mon,WED@09:30' }, '@weekly mon,wed@09:30', { weekly: 'mon,wed@09:30' }],
    [{ monthly: '1,15@09:30:15' }, '@monthly 1,15@09:30:15', { monthly: '1,15@09:30:15' }],
  ];
  for (const [times, text, read] of kinds) {
    assert.equal(expressionOf(times, 'Europe/Berlin'), text);
    assert.deepEqual(timesOf(text), read);
    assert.equal(expressionOf(read, 'Europe/Berlin'), text);
  }
});

test('daily, weekly and monthly follow the clocks of the zone', () => {
  assert.deepEqual(
    fires({ daily: '09:30' }, 'Europe/Berlin', '2026-03-28T00:00:00Z', 2),
    utc('2026-03-28T08:30:00Z', '2026-03-29T07:30:00Z'),
  );
  assert.deepEqual(
    fires({ weekly: 'mon,wed@09:30:10' }, 'America/New_York', '2026-03-03T00:00:00Z', 3),
    utc('2026-03-04T14:30:10Z', '2026-03-09T13:30:10Z', '2026-03-11T13:30:10Z'),
  );
  assert.deepEqual(
    fires({ monthly: '31,last@00:00' }, 'UTC', '2026-01-15T00:00:00Z', 3),
    utc('2026-01-31T00:00:00Z', '2026-02-28T00:00:00Z', '2026-03-31T00:00:00Z'),
  );
});

test('steps are counted from their beginning, whatever the clocks show', () => {
  assert.deepEqual(
    fires({ every: '6h' }, 'Europe/Berlin', '2026-03-29T00:00:00Z', 2),
    utc('2026-03-29T06:00:00Z', '2026-03-29T12:00:00Z'),
  );
  assert.deepEqual(
    fires({ every: '1h', from: '2026-01-01T00:05:00Z' }, 'UTC', '2025-01-01T00:00:00Z', 2),
    utc('2026-01-01T00:05:00Z', '2026-01-01T01:05:00Z'),
    'not before it',
  );
  assert.deepEqual(fires({ every: '1h' }, 'UTC', '2026-01-01T00:00:00Z', 1), utc('2026-01-01T01:00:00Z'));
});

test('a single time fires once', () => {
  const at = { at: '2026-12-24T18:00' };
  assert.deepEqual(fires(at, 'Europe/Berlin', '2026-01-01T00:00:00Z', 5), utc('2026-12-24T17:00:00Z'));
  assert.deepEqual(fires(at, 'Europe/Berlin', '2026-12-24T17:00:00Z', 5), []);
});

test('a schedule says exactly one kind of when', () => {
  assert.match(refusal({})[1], /one of cron, every, at, daily, weekly, monthly, and this one has none/);
  assert.match(refusal({ cron: '* * * * *', every: '5m' })[1], /has cron and every/);
  assert.deepEqual(refusal({ daily: '09:00', from: '2026-01-01' }), ['from', 'only a schedule with every has a from']);
});

test('what is written wrongly is refused with its field', () => {
  const wrong: readonly [Record<string, unknown>, string, RegExp][] = [
    [{ every: '999ms' }, 'every', /at least 1s/],
    [{ every: 'soon' }, 'every', /no duration|not a duration/],
    [{ every: '1h', from: 'noon' }, 'from', /"noon" is no time/],
    [{ at: 'tomorrow' }, 'at', /"tomorrow" is no time/],
    [{ at: '2026-13-01T00:00' }, 'at', /is no time/],
    [{ at: '2026-13-01' }, 'at', /is no time/],
    [{ daily: '9:30' }, 'daily', /"9:30" is no time of the day/],
    [{ daily: '24:00' }, 'daily', /no time of the day/],
    [{ weekly: 'monday' }, 'weekly', /is not written like mon,wed@09:30/],
    [{ weekly: 'mon@@09:30' }, 'weekly', /not written like/],
    [{ weekly: '@09:30' }, 'weekly', /not written like/],
    [{ weekly: '*@09:30' }, 'weekly', /not written like/],
    [{ weekly: 'noday@09:30' }, 'cron', /"noday" in the weekday field/],
    [{ monthly: 'x' }, 'monthly', /not written like 1,15@09:30/],
    [{ monthly: '32@09:30' }, 'cron', /32 in the day of the month field/],
    [{ cron: '@every 1ms' }, 'cron', /is no cron expression/],
    [{ cron: '@sometimes' }, 'cron', /five fields/],
    [{ cron: `${'0,'.repeat(100)}0 * * * *` }, 'cron', /longer than 200/],
  ];
  for (const [times, field, said] of wrong) {
    const [at, problem] = refusal(times);
    assert.equal(at, field, JSON.stringify(times));
    assert.match(problem, said);
  }
  assert.equal(refusal({ daily: '09:00' }, 'Nowhere')[0], 'timezone');
});
