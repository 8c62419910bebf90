import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isEngineError } from '../core/errors.ts';
import { refusal } from '../store/conformance/kit/scene.ts';
import { openSqlite } from '../store/sqlite/open.ts';
import { VirtualWorld } from '../testing.ts';
import { Roster } from './duties/roster.ts';
import { Engine } from './engine.ts';
import type { Fire, ScheduleRequest } from './schedules.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

interface Rig {
  readonly world: VirtualWorld;
  readonly engine: Engine;
  /** A pass of the duty. */
  readonly pass: () => Promise<number>;
  readonly put: (request?: Partial<ScheduleRequest>) => Promise<number>;
  /** Its history, oldest first: outcome and fire time in UTC, and the end of what was skipped. */
  readonly told: () => Promise<readonly string[]>;
}

async function rig(t: TestContext, wall = '2026-01-05T12:00:30Z'): Promise<Rig> {
  const world = new VirtualWorld({ wall: Date.parse(wall) });
  const store = await openSqlite({ file: 'memory:', world });
  const engine = new Engine({ store, world });
  const roster = new Roster({ engine, holder: 'a' });
  t.after(async () => {
    await roster.stop();
    await store.close();
  });
  return {
    world,
    engine,
    pass: () => roster.tick('cron'),
    put: (request) => engine.schedules.put({ name: 'nightly', queue: 'q', handler: 'h', daily: '03:00', ...request }),
    told: async () => (await engine.schedules.history('nightly')).map(line).reverse(),
  };
}

const utc = (at: number): string => new Date(at).toISOString().replace(':00.000Z', '');
const line = ({ outcome, slot, before }: Fire): string =>
  `${outcome} ${utc(slot)}${before === undefined ? '' : ` until ${utc(before)}`}`;

test('a schedule is read as it was put, with its next fire time', async (t) => {
  const { engine, put } = await rig(t);
  const nextAt = await put({ timezone: 'Europe/Berlin', missed: 'all', input: { n: 1 }, priority: 3, maxAttempts: 7 });
  assert.equal(utc(nextAt), '2026-01-06T02:00');
  const schedule = {
    name: 'nightly',
    queue: 'q',
    handler: 'h',
    payload: '{"n":1}',
    priority: 3,
    maxTries: 7,
    times: { daily: '03:00' },
    timezone: 'Europe/Berlin',
    missed: 'all',
    state: 'active',
    nextAt,
    last: undefined,
  };
  assert.deepEqual(await engine.schedules.get('nightly'), schedule);
  assert.deepEqual(await engine.schedules.list(), [schedule]);
  assert.deepEqual((await engine.schedules.times('nightly')).map(utc), [
    '2026-01-06T02:00',
    '2026-01-07T02:00',
    '2026-01-08T02:00',
    '2026-01-09T02:00',
    '2026-01-10T02:00',
  ]);
});

test('its tasks carry the rules that it was put with', async (t) => {
  const { world, engine, put, pass } = await rig(t);
  await engine.limits.set('api', { concurrent: 1 });
  await put({ placement: { requires: ['gpu'] }, limits: ['api'], fairness: 'tenant', retry: { baseMs: 7 } });
  world.elapse(DAY);
  await pass();
  const [task] = await engine.list({ limit: 1 });
  const [lane] = await engine.store.laneGet({ lanes: [task?.lane ?? 0] });
  assert.deepEqual(lane?.rules?.placement, { requires: ['gpu'] });
  assert.deepEqual(
    lane?.rules?.limits.map(({ name }) => name),
    ['api'],
  );
});

test('a node that was down for a day fires by the policy of each schedule, and the history says what became of the rest', async (t) => {
  const policies = [
    ['skip', 0, ['skipped 2026-01-05T13:00 until 2026-01-06T13:00']],
    ['latest', 1, ['skipped 2026-01-05T13:00 until 2026-01-06T12:00', 'fired 2026-01-06T12:00']],
    ['all', 24, Array.from({ length: 24 }, (_, n) => `fired ${utc(Date.UTC(2026, 0, 5, 13 + n))}`)],
  ] as const;
  for (const [missed, tasks, history] of policies) {
    const { world, engine, put, pass, told } = await rig(t);
    await put({ cron: '0 * * * *', daily: undefined, missed });
    world.elapse(DAY + 10 * MINUTE);
    assert.equal(await pass(), tasks, missed);
    assert.deepEqual(await told(), history, missed);
    assert.equal(await pass(), 0);
    assert.equal((await engine.stats('q')).ready, tasks);
  }
});

test('two nodes that come back after a day fire each fire time once between them', async (t) => {
  const { world, engine, put, told } = await rig(t);
  await put({ cron: '*/15 * * * *', daily: undefined, missed: 'all' });
  world.elapse(DAY);
  const rosters = ['b', 'c'].map(
    (holder) => new Roster({ engine: new Engine({ store: engine.store, world }), holder }),
  );
  for (const roster of rosters) roster.start();
  await world.advance(30 * MINUTE);
  for (const roster of rosters) await roster.stop();
  const fired = await told();
  assert.equal(fired.length, 98);
  assert.equal(new Set(fired).size, 98);
  assert.equal((await engine.stats('q')).ready, 98);
});

test('whatever the clock does, no fire time fires twice', async (t) => {
  for (const missed of ['skip', 'latest', 'all'] as const) {
    const { world, engine, put, pass, told } = await rig(t);
    await put({ cron: '*/10 * * * *', daily: undefined, missed });
    for (const step of [HOUR, -3 * HOUR, 30 * MINUTE, 5 * HOUR, -10 * MINUTE, -DAY, 2 * DAY, 20 * MINUTE]) {
      world.jump(step);
      for (let i = 0; i < 3; i++) {
        world.elapse(10 * MINUTE);
        await pass();
      }
      // A program that starts puts it again; its place stays.
      await put({ cron: '*/10 * * * *', daily: undefined, missed, input: step });
    }
    const fired = (await told()).filter((text) => text.startsWith('fired'));
    assert.ok(fired.length > 3, missed);
    assert.equal(new Set(fired).size, fired.length, missed);
    assert.deepEqual(fired.toSorted(), fired, missed);
    if (missed !== 'all') assert.equal((await engine.stats('q')).ready, fired.length);
  }
});

test('a schedule that is changed after the clock was set back fires no fire time again that it has fired', async (t) => {
  const { world, engine, put, pass } = await rig(t);
  await put({ cron: '0 * * * *', daily: undefined });
  world.elapse(HOUR);
  assert.equal(await pass(), 1);
  world.jump(-30 * MINUTE);
  await put({ cron: '0,30 * * * *', daily: undefined });
  world.elapse(30 * MINUTE);
  assert.equal(await pass(), 0, 'the task of 13:00 is there');
  assert.equal((await engine.stats('q')).ready, 1);
});

test('a paused schedule fires nothing and misses nothing', async (t) => {
  const { world, engine, put, pass, told } = await rig(t);
  await put({ cron: '0 * * * *', daily: undefined, missed: 'all' });
  await engine.schedules.pause('nightly');
  const { state, nextAt } = await engine.schedules.get('nightly');
  assert.deepEqual([state, nextAt], ['paused', undefined]);
  world.elapse(DAY);
  assert.equal(await pass(), 0);
  assert.deepEqual(
    (await engine.schedules.times('nightly', 1)).map(utc),
    ['2026-01-06T13:00'],
    'if it were resumed now',
  );
  await engine.schedules.resume('nightly');
  await engine.schedules.resume('nightly');
  assert.equal(utc((await engine.schedules.get('nightly')).nextAt ?? 0), '2026-01-06T13:00');
  world.elapse(HOUR);
  assert.equal(await pass(), 1);
  assert.deepEqual(await told(), ['fired 2026-01-06T13:00']);
});

test('a schedule is run out of turn, and its fire times stay as they are', async (t) => {
  const { world, engine, put, pass, told } = await rig(t);
  await put({ input: 'x' });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 1 });
  const claim = engine.claim({ worker, max: 1, waitMs: HOUR });
  const pushed = await engine.schedules.run('nightly');
  assert.equal(pushed.fresh, true);
  const [grant] = await claim;
  assert.equal(grant?.payload, '"x"', 'a claim that waits gets it at once');
  const { last } = await engine.schedules.get('nightly');
  assert.deepEqual([last?.outcome, last?.task], ['run', { id: pushed.id, state: 'running' }]);
  world.elapse(DAY);
  assert.equal(await pass(), 1);
  assert.deepEqual(
    (await told()).map((text) => text.split(' ')[0]),
    ['run', 'fired'],
  );
});

test('a schedule that a full limit refuses says so in its history, and refuses to be run', async (t) => {
  const { world, engine, put, pass, told } = await rig(t);
  await engine.limits.set('one', { concurrent: 1, strategy: 'refuse' });
  await put({ limits: ['one'] });
  await engine.schedules.run('nightly');
  assert.equal(await refusal(engine.schedules.run('nightly')), 'LIMIT_REACHED');
  world.elapse(DAY);
  assert.equal(await pass(), 0);
  assert.deepEqual((await told()).at(-1), 'refused 2026-01-06T03:00');
});

test('a single time fires once, and a program may put it again when it has passed', async (t) => {
  const { world, engine, put, pass, told } = await rig(t);
  const at = { daily: undefined, at: '2026-01-05T13:00:00Z' };
  await put(at);
  world.elapse(HOUR);
  assert.equal(await pass(), 1);
  assert.equal((await engine.schedules.get('nightly')).state, 'ended');
  assert.deepEqual(await engine.schedules.times('nightly'), []);
  await put(at);
  world.elapse(HOUR);
  assert.equal(await pass(), 0);
  assert.deepEqual(await told(), ['fired 2026-01-05T13:00']);
  await assert.rejects(
    put({ ...at, name: 'other' }),
    (error) => isEngineError(error, 'INVALID_INPUT') && /lies in the past/.test(error.message),
  );
});

test('what is asked about a schedule that is not there is NOT_FOUND', async (t) => {
  const { engine } = await rig(t);
  const { schedules } = engine;
  for (const call of [
    () => schedules.get('none'),
    () => schedules.times('none'),
    () => schedules.pause('none'),
    () => schedules.resume('none'),
    () => schedules.run('none'),
    () => schedules.remove('none'),
  ]) {
    assert.equal(await refusal(call()), 'NOT_FOUND');
  }
  assert.deepEqual(await schedules.history('none'), []);
  assert.equal(await refusal(schedules.times('none', 101)), 'INVALID_INPUT');
  assert.equal(await refusal(schedules.history('none', 0)), 'INVALID_INPUT');
});
