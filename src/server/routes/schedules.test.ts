import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeScene } from '../../../test/support/node-scene.ts';
import { Roster } from '../../engine/duties/roster.ts';
import type { FireView } from '../../operate/views.ts';
import { VirtualWorld } from '../../testing.ts';

const SCHEDULES = '/api/v1/schedules';
const HOUR = 3_600_000;

const virtual = () => ({
  world: new VirtualWorld({ wall: Date.parse('2026-01-05T12:00:30Z') }),
  duties: false,
  housekeeping: false,
});

test('a schedule is put, read, paused, resumed, run and removed', async (t) => {
  const { world, ...more } = virtual();
  const node = await nodeScene(t, { world, ...more });
  const roster = new Roster({ engine: node.engine, holder: 'a' });
  t.after(() => roster.stop());
  const body = { name: 'hourly', queue: 'q', input: { n: 1 }, every: '1h', timeout: '5m', priority: 2 };
  const put = await node.call('putSchedule', SCHEDULES, { body });
  const first = Date.parse('2026-01-05T13:00:00Z');
  const shown = {
    name: 'hourly',
    queue: 'q',
    handler: 'q',
    input: { n: 1 },
    priority: 2,
    maxAttempts: 3,
    times: { every: '1h' },
    timezone: 'UTC',
    missed: 'latest',
    state: 'active',
    nextAt: first,
  };
  assert.deepEqual(put, shown);
  assert.deepEqual(await node.call('listSchedules', SCHEDULES), { schedules: [shown] });
  world.elapse(HOUR);
  assert.equal(await roster.tick('cron'), 1);
  const detail = await node.call('getSchedule', `${SCHEDULES}/hourly?next=2`);
  assert.deepEqual(detail.next, [first + HOUR, first + 2 * HOUR]);
  assert.deepEqual(
    (detail.history as FireView[]).map(({ slot, outcome, state }) => [slot, outcome, state]),
    [[first, 'fired', 'ready']],
  );
  assert.deepEqual(detail.last, detail.history[0]);
  assert.match(detail.last?.task ?? '', /^task_/);

  const paused = await node.call('pauseSchedule', `${SCHEDULES}/hourly/pause`);
  assert.deepEqual([paused.state, paused.nextAt], ['paused', undefined]);
  const resumed = await node.call('resumeSchedule', `${SCHEDULES}/hourly/resume`);
  assert.deepEqual([resumed.state, resumed.nextAt], ['active', first + HOUR]);
  const { id } = await node.call('runSchedule', `${SCHEDULES}/hourly/run`, { method: 'POST' });
  assert.deepEqual((await node.call('getTask', `/api/v1/tasks/${id}`)).input, { n: 1 });
  assert.equal((await node.call('removeSchedule', `${SCHEDULES}/hourly`, { method: 'DELETE' })).name, 'hourly');
  assert.deepEqual((await node.call('listSchedules', SCHEDULES)).schedules, []);
  assert.equal((await node.engine.stats('q')).ready, 2, 'its tasks stay');
});

test('a schedule that cannot be is refused with the reason, and nothing is kept', async (t) => {
  const node = await nodeScene(t, virtual());
  const task = { name: 'n', queue: 'q' };
  const wrong: readonly [object, RegExp][] = [
    [{ ...task }, /one of cron, every, at, daily, weekly, monthly, and this one has none/],
    [{ ...task, cron: '0 0 30 2 *' }, /never fires/],
    [{ ...task, cron: '* * * *' }, /five fields/],
    [{ ...task, daily: '03:00', timezone: 'Mars/Olympus' }, /is no time zone/],
    [{ ...task, at: '2026-01-05T12:00:00Z' }, /lies in the past/],
    [{ ...task, daily: '03:00', cron: '* * * * *' }, /has cron and daily/],
    [{ ...task, daily: '03:00', missed: 'some' }, /missed/],
    [{ ...task, daily: '03:00', unique: 'k' }, /unique/],
    [{ ...task, daily: '03:00', name: 'No Name' }, /schedule name/],
    [{ ...task, daily: '03:00', limits: ['none'] }, /none/],
    [{ ...task, cron: 'x'.repeat(1000) }, /200/],
  ];
  for (const [body, message] of wrong) {
    const { status, body: answer } = await node.ask(SCHEDULES, { body });
    assert.ok(status === 400 || status === 404, `${JSON.stringify(body)}: ${status}`);
    assert.match(answer.error.message, message);
  }
  assert.deepEqual((await node.call('listSchedules', SCHEDULES)).schedules, []);
  for (const [path, method] of [
    ['none', 'GET'],
    ['none', 'DELETE'],
    ['none/pause', 'POST'],
    ['none/resume', 'POST'],
    ['none/run', 'POST'],
  ] as const) {
    const { status, body } = await node.ask(`${SCHEDULES}/${path}`, { method });
    assert.deepEqual([status, body.error.code], [404, 'NOT_FOUND'], path);
  }
});

test('the fire times of a schedule that is being written are told, and what is wrong with it is told of its field', async (t) => {
  const node = await nodeScene(t, virtual());
  const TIMES = '/api/v1/schedule-times';
  const { next } = await node.call('previewSchedule', `${TIMES}?daily=09:30&timezone=Europe/Berlin&next=2`);
  assert.deepEqual(next, [Date.parse('2026-01-06T08:30:00Z'), Date.parse('2026-01-07T08:30:00Z')]);
  const past = await node.call('previewSchedule', `${TIMES}?at=2020-01-01T00:00:00Z`);
  assert.deepEqual(past.next, []);
  for (const [query, field] of [
    ['cron=61 * * * *', 'cron'],
    ['daily=25:00', 'daily'],
    ['every=15m&timezone=Mars/Olympus', 'timezone'],
    ['every=15m&daily=09:30', 'schedule'],
    ['', 'schedule'],
  ] as const) {
    const { status, body } = await node.ask(`${TIMES}?${query}`);
    assert.deepEqual([status, body.error.code, body.error.details.field], [400, 'INVALID_INPUT', field], query);
  }
  assert.deepEqual((await node.call('listSchedules', SCHEDULES)).schedules, []);
});

test('a schedule tells all of its task, so that it can be put again without losing anything', async (t) => {
  const node = await nodeScene(t, virtual());
  await node.call('createLimit', '/api/v1/limits', { body: { name: 'slow', concurrent: 1 } });
  const body = {
    name: 'nightly',
    queue: 'q',
    input: {},
    daily: '03:00',
    timeout: '5m',
    retry: { baseMs: 10 },
    placement: { requires: ['gpu'], maxPerWorker: 1 },
    limits: [{ name: 'slow' }],
    fairness: { key: 'team-a' },
  };
  await node.call('putSchedule', SCHEDULES, { body });
  const { placement, limits, fairness, retry, timeout } = await node.call('getSchedule', `${SCHEDULES}/nightly`);
  assert.deepEqual([timeout, placement, limits], [300_000, { requires: ['gpu'], maxPerWorker: 1 }, [{ name: 'slow' }]]);
  assert.equal(fairness?.key, 'team-a');
  await node.call('putSchedule', SCHEDULES, { body: { ...body, placement, limits, fairness, retry, timeout } });
  const again = await node.call('getSchedule', `${SCHEDULES}/nightly`);
  assert.deepEqual(
    [again.placement, again.limits, again.fairness, again.retry, again.timeout],
    [placement, limits, fairness, retry, timeout],
  );
});
