import assert from 'node:assert/strict';
import { chmodSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { refusal } from '../conformance/kit/scene.ts';
import { lookAt } from '../conformance/kit/snapshot.ts';
import { tempFolder } from '../conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../conformance/kit/virtual-world.ts';
import { openSqlite } from './open.ts';

const folder = tempFolder('open');

test('each store that is called memory: is a new one, and a named one is the same for all who name it', async () => {
  const world = new VirtualWorld();
  const open = (file: string): ReturnType<typeof openSqlite> => openSqlite({ file, world });
  const [a, b, one, same, other] = await Promise.all(
    ['memory:', 'memory:', 'memory:one', 'memory:one', 'memory:other'].map(open),
  );
  assert.ok(a && b && one && same && other);
  await a.laneIntern({ lanes: [{ queue: 'mail', handler: 'send' }] });
  await one.laneIntern({ lanes: [{ queue: 'mail', handler: 'send' }] });
  const queues = await Promise.all([a, b, one, same, other].map(async (store) => (await lookAt(store)).queues.length));
  assert.deepEqual(queues, [1, 0, 1, 1, 0]);
  assert.equal(same.clusterKey, one.clusterKey);
  assert.notEqual(other.clusterKey, one.clusterKey);
  await Promise.all([a, b, one, same, other].map((store) => store.close()));
});

test('opening waits from the loop for another process that is writing', async () => {
  const file = join(folder, 'busy.db');
  const world = new VirtualWorld();
  await (await openSqlite({ file, world, housekeeping: false })).close();
  const writer = new DatabaseSync(file, { timeout: 0 });
  writer.exec('BEGIN IMMEDIATE');
  let opened = false;
  const opening = openSqlite({ file, world, housekeeping: false }).then((store) => {
    opened = true;
    return store;
  });
  await world.advance(1000);
  assert.equal(opened, false);
  writer.exec('ROLLBACK');
  await world.advance(20);
  await (await opening).close();
  writer.close();
});

test('opening that finds the file busy until its deadline is refused as busy, and leaves no timer', async () => {
  const file = join(folder, 'busy-for-ever.db');
  const world = new VirtualWorld();
  const writer = new DatabaseSync(file, { timeout: 0 });
  writer.exec('PRAGMA journal_mode = WAL; BEGIN IMMEDIATE; CREATE TABLE t (x)');
  const opening = refusal(openSqlite({ file, world, housekeeping: false, busyDeadlineMs: 200 }));
  await world.advance(250);
  assert.equal(await opening, 'STORE_BUSY');
  assert.deepEqual(world.waits, []);
  writer.exec('ROLLBACK');
  writer.close();
});

test('a file that must not be written is refused with a clear error', async (t) => {
  if (process.getuid?.() === 0) {
    t.skip('the superuser may write everything');
    return;
  }
  const file = join(folder, 'readonly.db');
  const world = new VirtualWorld();
  await (await openSqlite({ file, world, housekeeping: false })).close();
  chmodSync(file, 0o444);
  await assert.rejects(openSqlite({ file, world, housekeeping: false }), (error) => {
    assert.ok(isEngineError(error, 'STORE_READONLY') || isEngineError(error, 'STORE_UNAVAILABLE'), String(error));
    return true;
  });
});

test('full durability is the default and is told; normal durability is not called durable', async () => {
  const world = new VirtualWorld();
  const full = await openSqlite({ file: join(folder, 'full.db'), world, housekeeping: false });
  const normal = await openSqlite({
    file: join(folder, 'normal.db'),
    world,
    housekeeping: false,
    durability: 'normal',
  });
  const memory = await openSqlite({ file: 'memory:', world });
  assert.deepEqual(
    [full, normal, memory].map(({ capabilities }) => capabilities),
    [
      {
        name: 'sqlite',
        shared: true,
        durable: true,
        callerTransactions: true,
        numbersEvents: true,
        sharesCommits: true,
        whole: true,
      },
      {
        name: 'sqlite',
        shared: true,
        durable: false,
        callerTransactions: true,
        numbersEvents: true,
        sharesCommits: true,
        whole: true,
      },
      {
        name: 'memory',
        shared: false,
        durable: false,
        callerTransactions: false,
        numbersEvents: true,
        sharesCommits: true,
        whole: true,
      },
    ],
  );
  await Promise.all([full, normal, memory].map((store) => store.close()));
});

test('a durability that is not one of the two is refused, and not taken for the weaker one', async () => {
  const world = new VirtualWorld();
  for (const file of ['memory:', join(folder, 'typo.db')]) {
    await assert.rejects(openSqlite({ file, world, housekeeping: false, durability: 'ful' as 'full' }), (error) => {
      assert.ok(isEngineError(error, 'INVALID_INPUT'), String(error));
      assert.match(error.message, /durability.*"ful"/);
      return true;
    });
  }
  assert.equal(existsSync(join(folder, 'typo.db')), false);
});

test('a file that cannot keep a write-ahead log is refused, and the hint says where that happens', async (t) => {
  const world = new VirtualWorld();
  const file = join(folder, 'no-log.db');
  // Where the index of the WAL cannot be shared, SQLite does not fail. It keeps the old journal mode and reports it.
  const prepare = Reflect.get(DatabaseSync.prototype, 'prepare') as (this: DatabaseSync, sql: string) => StatementSync;
  t.mock.method(DatabaseSync.prototype, 'prepare', function (this: DatabaseSync, sql: string) {
    return prepare.call(this, sql.replace('journal_mode = WAL', 'journal_mode = DELETE'));
  });
  await assert.rejects(openSqlite({ file, world, housekeeping: false }), (error) => {
    assert.ok(isEngineError(error, 'STORE_UNAVAILABLE'), String(error));
    assert.equal(error.details?.file, file);
    assert.match(error.message, /write-ahead log.*delete/);
    assert.match(error.hint ?? '', /network file system/);
    return true;
  });
});
