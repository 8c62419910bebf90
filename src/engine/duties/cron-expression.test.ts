import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fireTimesOf } from './cron-expression.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const utc = (...times: string[]): readonly string[] => times.map((time) => new Date(time).toISOString());

/** The next fire times after an instant, in UTC. */
function slots(cron: string, timezone: string, after: string, count: number): readonly string[] {
  const next = fireTimesOf(cron, timezone);
  const found: string[] = [];
  for (let at: number | undefined = Date.parse(after); found.length < count; ) {
    at = next(at);
    if (at === undefined) break;
    found.push(new Date(at).toISOString());
  }
  return found;
}

test('in Berlin a fire time that the change to summer time skips fires at the first moment after the gap', () => {
  assert.deepEqual(
    slots('30 2 * * *', 'Europe/Berlin', '2026-03-27T12:00:00Z', 3),
    utc('2026-03-28T01:30:00Z', '2026-03-29T01:00:00Z', '2026-03-30T00:30:00Z'),
  );
});

test('in Berlin a daily fire time in the hour that comes twice fires once', () => {
  assert.deepEqual(
    slots('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2),
    utc('2026-10-25T00:30:00Z', '2026-10-26T01:30:00Z'),
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

test('the next fire time is strictly later, whatever the fraction of a second, the zone and the change of clocks', () => {
  for (const zone of ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'UTC']) {
    for (const cron of ['30 2 * * *', '*/7 * * * *', '0 2 * * 0']) {
      const next = fireTimesOf(cron, zone);
      for (const day of ['2026-03-08', '2026-03-29', '2026-04-05', '2026-10-04', '2026-10-25', '2026-11-01']) {
        const noon = Date.parse(`${day}T00:00:00Z`);
        for (let at = noon - 12 * HOUR; at < noon + 16 * HOUR; at += 53 * MINUTE + 777) {
          const slot = next(at);
          assert.ok(slot !== undefined && slot > at, `${cron} in ${zone} after ${new Date(at).toISOString()}`);
        }
      }
    }
  }
});
