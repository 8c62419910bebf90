import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fault } from '../../core/errors.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { DutyTenure, Store } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { DutyWatchdog } from './duty-watchdog.ts';
import { LeaderSnapshot } from './leader.ts';

const TERM = 30_000;

async function rig(t: TestContext, names: readonly string[] = ['stager']) {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const logged: string[] = [];
  const note = (message: string, fields: object = {}): void => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const watchdog = new DutyWatchdog({
    store,
    world,
    log: { info: note, warn: note, error: note },
    names,
    termMs: TERM,
  });
  t.after(async () => {
    watchdog.stop();
    await store.close();
  });
  watchdog.start();
  return { world, store, logged, watchdog };
}

const take = async (store: Store, ttlMs: number): Promise<DutyTenure> => {
  const term = await store.dutyTake({ name: 'stager', holder: 'n/1', ttlMs });
  assert.ok(term);
  return term;
};

test('a duty that nobody holds any more is reported after the term of a leader and two seconds, once', async (t) => {
  const { world, store, logged, watchdog } = await rig(t);
  await take(store, 6000);
  await world.advance(6000 + TERM + 2000);
  assert.deepEqual(logged, []);
  await world.advance(1000);
  assert.deepEqual(logged, ['a duty is held by nobody {"duty":"stager","seconds":33,"last":"n/1"}']);
  await world.advance(10_000);
  assert.equal(logged.length, 1);
  assert.ok((watchdog.unheld.get('stager') ?? 0) > TERM + 10_000);
  await take(store, TERM);
  await world.advance(1000);
  assert.equal(watchdog.unheld.get('stager'), 0);
  assert.deepEqual(logged.slice(1), ['a duty is held again {"duty":"stager","by":"n/1"}']);
});

test('a duty that was given back, or never held, counts from when that was first seen', async (t) => {
  const { world, store, logged } = await rig(t, ['stager', 'cron']);
  await store.dutyRelease({ duty: await take(store, 6000) });
  await world.advance(TERM + 3000);
  assert.equal(logged.length, 0);
  await world.advance(1000);
  assert.deepEqual(
    logged.map((line: string) => line.slice(0, line.indexOf(','))),
    ['a duty is held by nobody {"duty":"stager"', 'a duty is held by nobody {"duty":"cron"'],
  );
});

test('a takeover in time is no reason for an alarm', async (t) => {
  const { world, store, logged } = await rig(t);
  for (let i = 0; i < 5; i++) {
    await take(store, 6000);
    await world.advance(6000 + TERM);
  }
  assert.deepEqual(logged, []);
});

test('a store that does not answer does not end the watch', async (t) => {
  const { world, store, logged } = await rig(t);
  await take(store, 6000);
  const asks = t.mock.method(store, 'dutyList', () => Promise.reject(fault('STORE_UNAVAILABLE')));
  await world.advance(60_000);
  assert.ok(asks.mock.callCount() >= 59);
  asks.mock.restore();
  await world.advance(1000);
  assert.equal(logged.length, 1);
});

test('whether a node leads is read once for all that ask, and again after a moment', async (t) => {
  const { world, store } = await rig(t);
  const asks = t.mock.method(store, 'dutyList');
  const snapshot = new LeaderSnapshot(store, world);
  const look = (): Promise<readonly boolean[]> => Promise.all([1, 2, 3].map(() => snapshot.isThere()));
  assert.deepEqual(await look(), [false, false, false]);
  assert.equal(asks.mock.callCount(), 1);
  await store.dutyTake({ name: 'leader', holder: 'n/1', ttlMs: TERM });
  world.elapse(500);
  assert.deepEqual(await look(), [true, true, true]);
  world.elapse(TERM + 1);
  assert.deepEqual(await look(), [false, false, false]);
});

test('a failed read of the leader is repeated', async (t) => {
  const { world, store } = await rig(t);
  const asks = t.mock.method(store, 'dutyList', () => Promise.reject(fault('STORE_UNAVAILABLE')));
  const snapshot = new LeaderSnapshot(store, world);
  await assert.rejects(snapshot.isThere());
  asks.mock.restore();
  assert.equal(await snapshot.isThere(), false);
});
