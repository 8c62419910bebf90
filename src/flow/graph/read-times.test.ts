import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Value } from '../expression/values.ts';
import { pathText } from '../machine/problems.ts';
import { readGraph } from './read-graph.ts';
import { workflow } from './test-graphs.ts';

function read(data: object): { readonly times: unknown; readonly problems: readonly string[] } {
  const { graph, problems } = readGraph(workflow({ tick: { typeId: 'core/scheduled', data } }, []) as Value);
  const work = graph?.nodes[0]?.work;
  return {
    times: work?.do === 'scheduled' ? work.times : undefined,
    problems: problems.map(({ level, path, message }) => `${level} ${pathText(path)}: ${message}`),
  };
}

const UTC = { timezone: 'UTC', missed: 'latest' };

describe('a node that starts runs by a clock', () => {
  test('has the times of the editor of dazflow: steps in seconds, minutes, hours and days, and cron', () => {
    const steps = (data: object): unknown => read({ mode: 'interval', ...data }).times;
    assert.deepEqual(steps({ interval: 90, unit: 'seconds' }), { every: '90000ms', ...UTC });
    assert.deepEqual(steps({ interval: '10' }), { every: '600000ms', ...UTC });
    assert.deepEqual(steps({ interval: 2, unit: 'hours' }), { every: '7200000ms', ...UTC });
    assert.deepEqual(steps({ interval: 1.5, unit: 'days' }), { every: '129600000ms', ...UTC });
    assert.deepEqual(steps({ cron: 'left over' }), { every: '300000ms', ...UTC });
    assert.deepEqual(read({ interval: 3, unit: 'hours' }).times, { every: '10800000ms', ...UTC });
    assert.deepEqual(read({ mode: 'cron', cron: '0 9 * * 1-5' }).times, { cron: '0 9 * * 1-5', ...UTC });
    assert.deepEqual(read({ mode: 'cron' }).times, { cron: '*/5 * * * *', ...UTC });
  });

  test('has what a trigger of dazflow answers: an instant, steps or cron', () => {
    const timed = (data: object): unknown => read({ type: 'timed', ...data }).times;
    assert.deepEqual(timed({ trigger_at: 1_800_000_000.5 }), { at: '2027-01-15T08:00:00.500Z', ...UTC });
    assert.deepEqual(timed({ trigger_at: '2027-01-15T08:00:00Z' }), { at: '2027-01-15T08:00:00Z', ...UTC });
    assert.deepEqual(timed({ trigger_at: 1, interval_seconds: 60 }), { every: '60000ms', ...UTC });
    assert.deepEqual(timed({ trigger_at: 1, cron: '0 9 * * *' }), { cron: '0 9 * * *', ...UTC });
  });

  test('has the times of schedules', () => {
    const zone = { timezone: 'Europe/Berlin', missed: 'skip' };
    assert.deepEqual(read({ daily: '09:30', ...zone }).times, { daily: '09:30', ...zone });
    assert.deepEqual(read({ every: 5000 }).times, { every: '5000ms', ...UTC });
    assert.deepEqual(read({ every: '15m', from: '2026-01-01' }).times, { every: '15m', from: '2026-01-01', ...UTC });
    assert.deepEqual(read({ weekly: 'mon@09:00', daily: '' }).times, { weekly: 'mon@09:00', ...UTC });
  });

  test('that says no time starts nothing by itself, and is warned of', () => {
    assert.deepEqual(read({}), {
      times: undefined,
      problems: ['warning nodes[0].data: it says no time, so it starts no runs by itself'],
    });
  });

  test('is told all that is wrong with its times', () => {
    const wrong: readonly (readonly [object, RegExp])[] = [
      [{ mode: 'never' }, /^error nodes\[0\]\.data\.mode: expected "interval" or "cron"$/],
      [{ mode: 'interval', interval: 0 }, /\.interval: expected a number above 0/],
      [{ mode: 'interval', unit: 'weeks' }, /\.unit: expected one of seconds, minutes, hours, days/],
      [{ mode: 'interval', interval: 0.5, unit: 'seconds' }, /it is at least 1s/],
      [{ mode: 'interval', interval: 1e300, unit: 'days' }, /\.interval: it is too long/],
      [{ mode: 'cron', cron: 'every day' }, /\.cron: /],
      [{ cron: 7 }, /\.cron: expected a text, found a number/],
      [{ daily: '25:00' }, /\.daily: "25:00" is no time of the day/],
      [{ daily: '09:00', cron: '* * * * *' }, /it says when by one of/],
      [{ type: 'timed' }, /\.trigger_at: expected a time/],
      [{ daily: '09:00', missed: 'never' }, /\.missed: expected one of skip, latest, all/],
      [{ daily: '09:00', timezone: 'Mars/Base' }, /Mars\/Base/],
    ];
    for (const [data, problem] of wrong) {
      const { times, problems } = read(data);
      assert.equal(times, undefined, JSON.stringify(data));
      assert.ok(
        problems.some((one) => problem.test(one)),
        `${JSON.stringify(data)}: ${problems.join('; ')}`,
      );
    }
  });
});
