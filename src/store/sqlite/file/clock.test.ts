import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { tempFolder } from '../../conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../../conformance/kit/virtual-world.ts';
import { openSqlite } from '../open.ts';
import { migrate } from '../upkeep/migrate.ts';
import { bootId, establishClock, noteLeaseTime } from './clock.ts';
import { Prepared } from './connection.ts';

const folder = tempFolder('clock');
const HOUR = 3_600_000;

function database(): { db: DatabaseSync; sql: Prepared; meta: (key: string) => unknown } {
  const db = new DatabaseSync(':memory:');
  migrate(db);
  return {
    db,
    sql: new Prepared(db),
    meta: (key) => db.prepare('SELECT value FROM meta WHERE key = ?').get(key)?.value,
  };
}

test('lease time begins at the wall time of the first opening and then follows the monotonic clock alone', async () => {
  const { sql } = database();
  const world = new VirtualWorld({ wall: 1_000_000, monotonic: 77 });
  const clock = establishClock(sql, world.clock, 'boot-1');
  assert.deepEqual([clock.lease(), clock.calendar()], [1_000_000, 1_000_000]);
  await world.advance(500);
  assert.deepEqual([clock.lease(), clock.calendar()], [1_000_500, 1_000_500]);
});

test('setting the wall clock moves the calendar and no lease', () => {
  const { sql } = database();
  const world = new VirtualWorld({ wall: 1_000_000 });
  const clock = establishClock(sql, world.clock, 'boot-1');
  world.jump(HOUR);
  assert.deepEqual([clock.lease(), clock.calendar()], [1_000_000, 1_000_000 + HOUR]);
  world.jump(-3 * HOUR);
  assert.deepEqual([clock.lease(), clock.calendar()], [1_000_000, 1_000_000 - 2 * HOUR]);
});

test('there is one base per boot: who opens later, with another wall clock, reads the same lease time', async () => {
  const { sql, meta } = database();
  const world = new VirtualWorld({ wall: 1_000_000 });
  const first = establishClock(sql, world.clock, 'boot-1');
  const base = meta('lease_base');
  world.jump(5 * HOUR);
  await world.advance(1234);
  const second = establishClock(sql, world.clock, 'boot-1');
  assert.equal(meta('lease_base'), base);
  assert.equal(second.lease(), first.lease());
});

test('a new boot gets a base of its own, and lease time goes on at the wall clock', () => {
  const { sql } = database();
  const before = new VirtualWorld({ wall: 1_000_000, monotonic: 9_999_999 });
  establishClock(sql, before.clock, 'boot-1');
  const after = new VirtualWorld({ wall: 1_000_000 + HOUR, monotonic: 3 });
  const clock = establishClock(sql, after.clock, 'boot-2');
  assert.equal(clock.lease(), 1_000_000 + HOUR);
});

test('lease time never goes back over a reboot, whatever the wall clock says then', () => {
  const { sql } = database();
  const before = new VirtualWorld({ wall: 1_000_000 });
  const old = establishClock(sql, before.clock, 'boot-1');
  before.elapse(HOUR);
  noteLeaseTime(sql, old.lease(), old.calendar());
  const after = new VirtualWorld({ wall: 5000, monotonic: 3 });
  const clock = establishClock(sql, after.clock, 'boot-2');
  assert.equal(clock.lease(), 1_000_000 + HOUR);
  assert.equal(clock.calendar(), 5000);
});

test('times are whole milliseconds, whatever fractions the host counts', () => {
  const { sql } = database();
  const world = new VirtualWorld({ wall: 1_000_000.7, monotonic: 12.345 });
  const clock = establishClock(sql, world.clock, 'boot-1');
  for (let n = 0; n < 50; n++) {
    assert.ok(Number.isInteger(clock.lease()) && Number.isInteger(clock.calendar()));
    world.elapse(0.37);
  }
});

test('lease time is kept with the data: a lease outlives a reboot by what was left of it', async () => {
  const file = join(folder, 'reboot.db');
  const monday = new VirtualWorld({ wall: 1_000_000_000, monotonic: 50_000_000 });
  const store = await openSqlite({ file, world: monday, boot: 'boot-1', housekeeping: false });
  const [lane] = await store.laneIntern({ lanes: [{ queue: 'q', handler: 'h' }] });
  const [spec] = await store.specIntern({ specs: ['{}'] });
  const holder = await store.workerRegister({ name: 'w', incarnation: 'i', slots: 1, tags: [] });
  assert.ok(lane && spec);
  await store.taskPush({ items: [{ lane: lane.id, spec, priority: 0, maxTries: 3, payload: '1' }] });
  await store.taskClaim({ claims: [{ holder, ttlMs: HOUR, max: 1, lanes: [{ lane: lane.id, max: 1 }] }] });
  await monday.advance(HOUR / 2);
  await store.close();

  // The machine was off for ten minutes, and its monotonic clock began anew.
  const tuesday = new VirtualWorld({ wall: monday.clock.wall() + 600_000, monotonic: 40 });
  const again = await openSqlite({ file, world: tuesday, boot: 'boot-2', housekeeping: false });
  assert.deepEqual(await again.leaseOverdue({ limit: 1 }), { leases: [], nextInMs: HOUR / 2 - 600_000 });
  await again.close();
});

test('two processes that open a new file at the same time agree on base, boot and cluster key', async () => {
  const file = join(folder, 'together.db');
  const world = new VirtualWorld();
  const opening = [1, 2, 3].map(() => openSqlite({ file, world, housekeeping: false }));
  await world.advance(100);
  const stores = await Promise.all(opening);
  assert.equal(new Set(stores.map(({ clusterKey }) => clusterKey)).size, 1);
  await Promise.all(stores.map((store) => store.close()));
});

test('the name of a boot is the same for everybody who asks', () => {
  assert.match(bootId(), /^[0-9a-fA-F-]{36}$/);
  assert.equal(bootId(), bootId());
});
