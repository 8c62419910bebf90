import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openNode } from '../../app/node.ts';
import { operate } from '../../app/operate.ts';
import { realWorld } from '../../app/world.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { LimitService } from './limits.ts';

const folder = tempFolder('operate-limits');
let stores = 0;

async function scene(t: TestContext, { aheadMs = 0 } = {}) {
  stores += 1;
  const url = `sqlite:${join(folder, `${stores}.db`)}`;
  if (aheadMs > 0) {
    // Made under a clock that was set back later: lease time and the calendar lie apart.
    const world = realWorld();
    const clock = { monotonic: () => world.clock.monotonic(), wall: () => world.clock.wall() + aheadMs };
    await (await openNode(url, { duties: false, housekeeping: false, world: { ...world, clock } })).close();
  }
  const node = await openNode(url, { duties: false, housekeeping: false });
  const { engine } = node;
  const worker = await engine.workers.register({ name: 'laptop', incarnation: `i${stores}`, slots: 9 });
  const operator = await operate({ store: url });
  t.after(async () => {
    await operator.close();
    await node.close();
  });
  return { engine, worker, operator, limits: new LimitService(operator.engine) };
}

const SPAN = { max: 100, window: 60_000 };

test('a limit is made with what is given, and a change leaves the rest of it as it was', async (t) => {
  const { limits } = await scene(t);
  const made = await limits.set('api', { concurrent: 4, perKey: 2, rate: SPAN }, 'ada');
  assert.equal(made.before, undefined);
  assert.equal(made.changed, true);
  const { revision, changedAt, changedBy, ...rest } = made.limit;
  assert.deepEqual([revision, changedBy], [1, 'ada']);
  assert.ok(Math.abs(changedAt - Date.now()) < 60_000);
  assert.deepEqual(rest, {
    name: 'api',
    concurrent: 4,
    perKey: 2,
    rate: { max: 100, window: '1m', burst: 10, perKey: false },
    strategy: 'queue',
    active: 0,
    waiting: 0,
  });
  const { before, limit } = await limits.set('api', { concurrent: 8, perKey: null, strategy: 'refuse' }, 'bob');
  assert.deepEqual([before?.concurrent, before?.perKey, before?.strategy], [4, 2, 'queue']);
  assert.deepEqual([limit.concurrent, limit.perKey, limit.strategy], [8, undefined, 'refuse']);
  assert.deepEqual(limit.rate, before?.rate);
});

test('a burst that nobody chose follows the rate, and one that was chosen stays', async (t) => {
  const { limits } = await scene(t);
  const burst = async (edit: Parameters<typeof limits.set>[1]): Promise<number | undefined> =>
    (await limits.set('api', edit, '')).limit.rate?.burst;
  assert.equal(await burst({ rate: SPAN }), 10);
  assert.equal(await burst({ rate: { ...SPAN, max: 200 } }), 20);
  assert.equal(await burst({ rate: { burst: 50 } }), 50);
  assert.equal(await burst({ rate: { ...SPAN, max: 300 } }), 50);
  assert.equal(await refusal(limits.set('api', { rate: { ...SPAN, max: 40 } }, '')), 'INVALID_INPUT', 'more than max');
  assert.equal(await burst({ rate: null }), undefined);
});

test('what belongs to a rate changes it alone, and is refused where there is none', async (t) => {
  const { limits } = await scene(t);
  await limits.set('api', { rate: SPAN, cost: { max: 90_000, window: 60_000 } }, '');
  const { limit } = await limits.set('api', { rate: { perKey: true }, cost: { burst: 90_000 } }, '');
  assert.deepEqual(limit.rate, { max: 100, window: '1m', burst: 10, perKey: true });
  assert.deepEqual(limit.cost, { max: 90_000, window: '1m', burst: 90_000, perKey: false });
  const back = await limits.set('api', { rate: { perKey: false } }, '');
  assert.equal(back.limit.rate?.perKey, false);
  assert.equal(await refusal(limits.set('db', { rate: { burst: 5 } }, '')), 'INVALID_INPUT');
  await limits.set('api', { cost: null }, '');
  assert.equal(await refusal(limits.set('api', { cost: { perKey: true } }, '')), 'INVALID_INPUT');
  assert.deepEqual(
    (await limits.list()).map(({ name }) => name),
    ['api'],
    'what is refused makes nothing',
  );
});

test('what changes nothing is not written, so that the history tells of changes only', async (t) => {
  const { limits } = await scene(t);
  await limits.set('api', { concurrent: 4 }, 'ada');
  assert.equal((await limits.set('api', { concurrent: 4 }, 'bob')).changed, false);
  await limits.set('api', { concurrent: 5 }, 'bob');
  await limits.remove('api', 'cy');
  assert.equal(await refusal(limits.remove('api', 'cy')), 'NOT_FOUND');
  await limits.set('api', { concurrent: 6 }, '');
  assert.deepEqual(
    (await limits.detail('api')).history.map(({ by, limit }) => [by, limit?.concurrent]),
    [
      ['', 6],
      ['cy', undefined],
      ['bob', 5],
      ['ada', 4],
    ],
  );
});

test('the detail of a limit has what each key has taken, the busy ones first', async (t) => {
  const { engine, worker, limits } = await scene(t);
  await limits.set('api', { concurrent: 3, perKey: 2 }, '');
  for (const key of ['alice', 'bob', 'bob', 'bob'])
    await engine.push({ queue: 'q', handler: 'h', limits: [{ name: 'api', key }] });
  assert.equal((await engine.claim({ worker, max: 9 })).length, 3);
  const { used, cap, waiting, keys, moreKeys } = await limits.detail('api');
  assert.deepEqual([used, cap, waiting, moreKeys], [3, 3, 1, false]);
  assert.deepEqual(keys, [
    { key: 'bob', used: 2, cap: 2 },
    { key: 'alice', used: 1, cap: 2 },
  ]);
});

test('a pause holds the whole limit or one key until it is over or ended', async (t) => {
  const { engine, worker, limits } = await scene(t);
  await limits.set('api', { concurrent: 3 }, '');
  for (const key of ['alice', 'bob']) await engine.push({ queue: 'q', handler: 'h', limits: [{ name: 'api', key }] });
  const paused = await limits.pause('api', 'alice', 300_000);
  const left = (paused.keys.find(({ key }) => key === 'alice')?.pausedUntil ?? 0) - Date.now();
  assert.ok(left > 200_000 && left <= 300_000, String(left));
  assert.equal(paused.pausedUntil, undefined);
  assert.equal((await engine.claim({ worker, max: 9 })).length, 1, 'bob');
  const open = await limits.pause('api', 'alice', 0);
  assert.ok(open.keys.every(({ pausedUntil, freesAt }) => pausedUntil === undefined && freesAt === undefined));
  engine.hint();
  assert.equal((await engine.claim({ worker, max: 9 })).length, 1, 'alice');
  assert.ok((await limits.pause('api', undefined, 1000)).pausedUntil);
});

test('a pause is told in the time of the calendar, however far that is from the time of leases', async (t) => {
  const { engine, limits } = await scene(t, { aheadMs: 3_600_000 });
  await limits.set('api', { concurrent: 3, rate: { max: 1, window: 60_000 } }, '');
  await engine.push({ queue: 'q', handler: 'h', limits: [{ name: 'api', key: 'alice' }] });
  const { pausedUntil, freesAt } = await limits.pause('api', undefined, 60_000);
  for (const until of [pausedUntil ?? 0, freesAt ?? 0]) {
    assert.ok(until > Date.now() + 30_000 && until <= Date.now() + 61_000, String(until - Date.now()));
  }
  const open = await limits.pause('api', undefined, 0);
  assert.deepEqual([open.pausedUntil, open.freesAt], [undefined, undefined]);
});

test('a limit that is not there is not found, and a key that nobody has used either', async (t) => {
  const { limits, operator } = await scene(t);
  for (const asked of [limits.detail('api'), limits.remove('api', ''), limits.pause('api', undefined, 1000)])
    assert.equal(await refusal(asked), 'NOT_FOUND');
  await limits.set('api', { concurrent: 1 }, '');
  assert.equal(await refusal(limits.pause('api', 'alice', 1000)), 'NOT_FOUND');
  await assert.rejects(operator.call('pushTasks', { body: { queue: 'q', handler: 'h', limits: ['nope'] } }), {
    code: 'NOT_FOUND',
    hint: /"leasehold limits set nope" makes it/,
  });
});
