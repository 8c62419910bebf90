import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { checkBooks, lookAt } from '../../store/conformance/kit/snapshot.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Store, TriggerFiring } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import type { ScheduleRequest } from '../schedules.ts';
import { Roster } from './roster.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

interface Rig {
  readonly world: VirtualWorld;
  readonly store: Store;
  readonly engine: Engine;
  readonly roster: Roster;
  readonly put: (request?: Partial<ScheduleRequest>) => Promise<number>;
  /** The fire times that were fired, by the unique keys of their tasks, oldest first. */
  readonly fired: () => Promise<readonly string[]>;
}

async function rig(t: TestContext, wall = '2026-01-05T12:00:30Z'): Promise<Rig> {
  const world = new VirtualWorld({ wall: Date.parse(wall) });
  const store = await openSqlite({ file: 'memory:', world });
  const engine = new Engine({ store, world });
  const roster = new Roster({ engine, holder: 'a' });
  t.after(async () => {
    await roster.stop();
    checkBooks(await lookAt(store));
    await store.close();
  });
  return {
    world,
    store,
    engine,
    roster,
    put: (request) =>
      engine.schedules.put({ name: 'nightly', queue: 'q', handler: 'h', cron: '* * * * *', ...request }),
    fired: async () =>
      (await engine.list({ limit: 1000 })).map(({ unique }) => (unique ?? '').replace('cron:nightly:', '')).reverse(),
  };
}

const utc = (...times: string[]): readonly string[] => times.map((time) => new Date(time).toISOString());

test('a trigger fires at each of its fire times, at exactly that instant', async (t) => {
  const { world, roster, put, fired, engine } = await rig(t);
  assert.equal(await put({ input: { n: 1 }, priority: 4, maxAttempts: 7 }), Date.parse('2026-01-05T12:01:00Z'));
  roster.keeper('cron').start();
  await world.advance(29_999);
  assert.deepEqual(await fired(), []);
  await world.advance(1);
  assert.deepEqual(await fired(), utc('2026-01-05T12:01:00Z'));
  await world.advance(2 * MINUTE);
  assert.deepEqual(await fired(), utc('2026-01-05T12:01:00Z', '2026-01-05T12:02:00Z', '2026-01-05T12:03:00Z'));
  const [task] = await engine.list({ limit: 1 });
  assert.deepEqual([task?.payload, task?.priority, task?.maxTries, task?.handler], ['{"n":1}', 4, 7, 'h']);
});

test('a fired trigger wakes waiting claims', async (t) => {
  const { world, roster, put, engine } = await rig(t);
  await put();
  roster.keeper('cron').start();
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 1 });
  let claimed = 0;
  void engine.claim({ worker, max: 1, waitMs: HOUR }).then((grants) => {
    claimed = grants.length;
  });
  // One more: the jitter of the waiter's polls leaves the clock a fraction of a millisecond short of the fire time.
  await world.advance(30_001);
  assert.equal(claimed, 1);
});

test('with two rosters on one store each fire time fires once, also when both believe to hold the duty', async (t) => {
  const { world, store, put, fired, roster } = await rig(t);
  await put();
  const second = new Engine({ store, world });
  const other = new Roster({ engine: second, holder: 'b' });
  roster.start();
  other.start();
  await world.advance(5 * MINUTE);
  await roster.stop();
  await world.advance(5 * MINUTE);
  await other.stop();
  const slots = await fired();
  assert.equal(slots.length, 10);
  assert.equal(new Set(slots).size, 10);

  // A former holder reads, and acts on it after its successor has.
  await put({ name: 'late' });
  const stale = await store.dutyTake({ name: 'cron', holder: 'a', ttlMs: 10 });
  assert.ok(stale);
  await world.advance(MINUTE);
  const due = await store.triggerDue({ limit: 10 });
  assert.ok(due.triggers.length >= 2);
  await roster.tick('cron');
  const before = await lookAt(store);
  for (const trigger of due.triggers) {
    const fire: TriggerFiring = {
      duty: stale,
      name: trigger.name,
      from: trigger.nextAt,
      nextAt: trigger.nextAt + 1,
      slots: [],
      items: [],
    };
    assert.equal(await refusal(store.triggerFire(fire)), 'DUTY_LOST');
  }
  assert.deepEqual(await lookAt(store), before);
});

test('a wall clock that steps back fires nothing twice', async (t) => {
  const { world, roster, put, fired } = await rig(t);
  await put();
  roster.keeper('cron').start();
  await world.advance(3 * MINUTE);
  const before = await fired();
  world.jump(-2 * MINUTE);
  await world.advance(2 * MINUTE);
  assert.deepEqual(await fired(), before);
  await world.advance(MINUTE);
  assert.equal((await fired()).length, before.length + 1);
});

test('missed fire times: "latest" fires only the latest of them', async (t) => {
  const { world, roster, put, fired } = await rig(t);
  await put({ missed: 'latest' });
  await world.advance(HOUR);
  await roster.tick('cron');
  assert.deepEqual(await fired(), utc('2026-01-05T13:00:00Z'));
  await world.advance(30_000);
  await roster.tick('cron');
  assert.equal((await fired()).length, 2);
});

test('missed fire times: "latest" is the default', async (t) => {
  const { world, roster, put, fired } = await rig(t);
  await put();
  await world.advance(HOUR);
  await roster.tick('cron');
  assert.equal((await fired()).length, 1);
});

test('missed fire times: "skip" fires none that is more than a minute late', async (t) => {
  const { world, roster, put, fired } = await rig(t);
  await put({ missed: 'skip', cron: '*/10 * * * *' });
  await world.advance(HOUR);
  await roster.tick('cron');
  assert.deepEqual(await fired(), utc('2026-01-05T13:00:00Z'), 'the slot of half a minute ago is not too late');
  await world.advance(15 * MINUTE);
  await roster.tick('cron');
  assert.equal((await fired()).length, 1, 'the slot of five minutes ago is');
  await world.advance(5 * MINUTE);
  await roster.tick('cron');
  assert.deepEqual((await fired()).slice(1), utc('2026-01-05T13:20:00Z'));
});

test('missed fire times: "all" fires every one of them, and of more than a hundred the latest hundred', async (t) => {
  const { world, roster, put, fired } = await rig(t);
  await put({ missed: 'all' });
  await world.advance(HOUR);
  assert.equal(await roster.tick('cron'), 60);
  await world.advance(5 * HOUR);
  assert.equal(await roster.tick('cron'), 100);
  const slots = await fired();
  assert.equal(new Set(slots).size, 160);
  assert.deepEqual(
    [slots[0], slots[59], slots[60], slots.at(-1)],
    utc('2026-01-05T12:01:00Z', '2026-01-05T13:00:00Z', '2026-01-05T16:21:00Z', '2026-01-05T18:00:00Z'),
  );
  await world.advance(30_000);
  assert.equal(await roster.tick('cron'), 1);
});

test('in Berlin each night of the two changes has its one task', async (t) => {
  for (const day of ['2026-03-28T12:00:00Z', '2026-10-24T12:00:00Z']) {
    const { world, roster, put, fired } = await rig(t, day);
    await put({ cron: '30 2 * * *', timezone: 'Europe/Berlin', missed: 'all' });
    for (let i = 0; i < 24 * 6; i++) {
      world.elapse(10 * MINUTE);
      await roster.tick('cron');
    }
    assert.equal((await fired()).length, 1, day);
  }
});

test('a bad trigger is refused with its field, and nothing is stored', async (t) => {
  const { engine, put } = await rig(t);
  const wrong: [string, Partial<Record<keyof ScheduleRequest | 'delay', unknown>>][] = [
    ['cron', { cron: '61 * * * *' }],
    ['cron', { cron: 'often' }],
    ['cron', { cron: '0 0 31 2 *' }],
    ['schedule', { every: '1h' }],
    ['schedule', { cron: undefined, at: '2026-01-05T12:00:00Z' }],
    ['timezone', { timezone: 'Mars/Olympus' }],
    ['missed', { missed: 'some' }],
    ['schedule name', { name: 'No Name' }],
    ['queue name', { queue: '' }],
    ['priority', { priority: 0.5 }],
  ];
  for (const [field, request] of wrong) {
    await assert.rejects(put(request as Partial<ScheduleRequest>), (error) => {
      assert.ok(isEngineError(error, 'INVALID_INPUT'), String(error));
      assert.equal(error.details?.field, field);
      return true;
    });
  }
  assert.equal(await refusal(put({ delayed: 1 } as Partial<ScheduleRequest>)), 'UNKNOWN_OPTION');
  assert.deepEqual(await engine.schedules.list(), []);
});

test('a trigger that is put again with the same schedule keeps its next fire time, so that a restart loses none', async (t) => {
  const { world, roster, put, fired, engine } = await rig(t);
  const first = await put({ missed: 'all' });
  await world.advance(2 * MINUTE);
  assert.equal(await put({ missed: 'all', input: 'new' }), first);
  await roster.tick('cron');
  assert.equal((await fired()).length, 2);
  assert.equal((await engine.list({ limit: 1 }))[0]?.payload, '"new"');
  assert.equal(await put({ cron: '0 * * * *' }), Date.parse('2026-01-05T13:00:00Z'));
});

test('a removed trigger fires no more, and cannot be removed again', async (t) => {
  const { world, roster, put, fired, engine } = await rig(t);
  await put();
  await engine.schedules.remove('nightly');
  await world.advance(5 * MINUTE);
  await roster.tick('cron');
  assert.deepEqual(await fired(), []);
  assert.equal(await refusal(engine.schedules.remove('nightly')), 'NOT_FOUND');
});

test('one trigger that cannot be read does not keep the others from firing', async (t) => {
  const { world, roster, put, store, engine } = await rig(t);
  await put({ name: 'good', queue: 'good' });
  const [good] = await store.triggerList();
  assert.ok(good);
  const { queue: _queue, handler: _handler, heldAt: _held, last: _last, ...rest } = good;
  await store.triggerPut({ trigger: { ...rest, name: 'bad', cron: 'no cron', nextAt: good.nextAt - 1000 } });
  roster.keeper('cron').start();
  await world.advance(3 * MINUTE);
  assert.equal((await engine.stats('good')).ready, 3);
});

test('more due triggers than fit into one pass all fire', async (t) => {
  const { world, roster, put, engine } = await rig(t);
  for (let n = 0; n < 130; n++) await put({ name: `t${n}` });
  roster.keeper('cron').start();
  await world.advance(30_000);
  assert.equal((await engine.stats('q')).ready, 130);
});
