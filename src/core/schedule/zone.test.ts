import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../errors.ts';
import { zoneOf } from './zone.ts';

test('an offset is that of the instant, in summer, in winter and before there were zones', () => {
  const berlin = zoneOf('Europe/Berlin');
  assert.equal(berlin.offsetAt(Date.parse('2026-07-01T00:00:00Z')), 7_200_000);
  assert.equal(berlin.offsetAt(Date.parse('2026-01-01T00:00:00.999Z')), 3_600_000);
  assert.equal(zoneOf('Asia/Kathmandu').offsetAt(0), 5.5 * 3_600_000);
  assert.equal(zoneOf('+02:00').offsetAt(0), 7_200_000);
});

test('a change is found to the second, and none between instants with one offset', () => {
  const [from, to] = [Date.parse('2026-03-28T12:34:56.789Z'), Date.parse('2026-03-30T00:00:00Z')];
  assert.equal(zoneOf('Europe/Berlin').changeBetween(from, to), Date.parse('2026-03-29T01:00:00Z'));
  assert.equal(zoneOf('Europe/Berlin').changeBetween(from, from + 1), undefined);
  assert.equal(zoneOf('UTC').changeBetween(from, to), undefined);
});

test('a local time is the first instant that shows it, and one in a gap the first after it', () => {
  const first = (zone: string, local: string): string =>
    new Date(zoneOf(zone).firstInstantOf(Date.parse(`${local}Z`))).toISOString();
  assert.equal(first('Europe/Berlin', '2026-10-25T02:30'), '2026-10-25T00:30:00.000Z');
  assert.equal(first('Europe/Berlin', '2026-03-29T02:30'), '2026-03-29T01:00:00.000Z');
  assert.equal(first('Pacific/Apia', '2011-12-30T09:00'), '2011-12-30T10:00:00.000Z');
  assert.equal(first('UTC', '2026-03-29T02:30'), '2026-03-29T02:30:00.000Z');
});

test('what is no zone is refused by its name', () => {
  for (const name of ['Mars/Olympus', '', 'x'.repeat(100)]) {
    assert.throws(
      () => zoneOf(name),
      (error) => isEngineError(error, 'INVALID_INPUT') && error.details?.field === 'timezone',
    );
  }
});
