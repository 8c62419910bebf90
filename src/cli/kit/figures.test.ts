import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EMPTY_STATS } from '../../core/task/event.ts';
import {
  figuresOf,
  formatBytes,
  formatCount,
  formatRate,
  formatUptime,
  isNews,
  type TimedSnapshot,
} from './figures.ts';

const look = (at: number, queues: Record<string, Partial<typeof EMPTY_STATS>>): TimedSnapshot => ({
  at,
  queues: Object.entries(queues).map(([name, stats]) => ({ name, paused: false, stats: { ...EMPTY_STATS, ...stats } })),
  duties: ['reaper'],
  storeBytes: 10,
  worker: undefined,
});

test('a rate is what ended since the look before, over the time between', () => {
  const before = look(1000, { a: { completed: 10, failed: 1 }, b: { completed: 5 } });
  const now = look(3000, { a: { completed: 15, failed: 2, cancelled: 2 }, b: { completed: 5 }, c: { completed: 4 } });
  const { queues, uptimeMs } = figuresOf(now, before, 500);
  assert.deepEqual(
    queues.map(({ name, perSecond }) => [name, perSecond]),
    [
      ['a', 4],
      ['b', 0],
      ['c', 2],
    ],
  );
  assert.equal(uptimeMs, 2500);
});

test('there is no rate at the first look, and none below zero', () => {
  const first = look(1000, { a: { completed: 10 } });
  assert.equal(figuresOf(first, undefined, 0).queues[0]?.perSecond, undefined);
  assert.equal(figuresOf(look(2000, { a: { completed: 3 } }), first, 0).queues[0]?.perSecond, 0);
});

test('time passing and a rate falling to zero are no news; a counter, a pause or a duty is', () => {
  const first = look(1000, { a: { ready: 1 } });
  const shown = figuresOf(first, undefined, 0);
  assert.ok(isNews(shown, undefined));
  assert.equal(isNews(figuresOf({ ...first, at: 2000 }, first, 0), shown), false);
  assert.ok(isNews(figuresOf(look(2000, { a: { ready: 2 } }), first, 0), shown));
  assert.ok(isNews(figuresOf({ ...first, duties: [] }, first, 0), shown));
});

test('figures are written for people', () => {
  assert.deepEqual([0, 999, 1000, 1234567].map(formatCount), ['0', '999', '1,000', '1,234,567']);
  assert.deepEqual([undefined, 0, 0.25, 9.96, 42.4, 12_345].map(formatRate), [
    '–',
    '0/s',
    '0.3/s',
    '10.0/s',
    '42/s',
    '12,345/s',
  ]);
  assert.deepEqual([0, 999, 1000, 123_456, 4_300_000, 5e12].map(formatBytes), [
    '0 B',
    '999 B',
    '1.0 kB',
    '123 kB',
    '4.3 MB',
    '5.0 TB',
  ]);
  const s = 1000;
  assert.deepEqual([0, 999, 4 * s, 192 * s, 3600 * s, 7500 * s, 273_600 * s].map(formatUptime), [
    '0s',
    '0s',
    '4s',
    '3m 12s',
    '1h',
    '2h 5m',
    '3d 4h',
  ]);
});
