import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { isEngineError } from '../../../core/errors.ts';
import { refusal } from '../../conformance/kit/scene.ts';
import { tempFolder } from '../../conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../../conformance/kit/virtual-world.ts';
import { openSqlite } from '../open.ts';
import type { SqliteStore } from '../store.ts';
import { backupSqlite } from '../upkeep/backup.ts';
import { restoreSqlite } from '../upkeep/restore.ts';

const folder = tempFolder('named-file');
let files = 0;

interface Rig {
  readonly file: string;
  readonly world: VirtualWorld;
  readonly store: SqliteStore;
  readonly push: () => Promise<unknown>;
}

async function rig(t: TestContext): Promise<Rig> {
  const file = join(folder, `${files++}.db`);
  const world = new VirtualWorld();
  const store = await openSqlite({ file, world, housekeeping: false });
  t.after(() => store.close());
  const [lane] = await store.laneIntern({ lanes: [{ queue: 'mail', handler: 'send' }] });
  const [spec] = await store.specIntern({ specs: ['{}'] });
  const item = { lane: lane?.id as number, spec: spec as number, priority: 0, maxTries: 3, payload: '1' };
  const push = async (): Promise<unknown> => (await store.taskPush({ items: [item] }))[0]?.ok;
  assert.equal(await push(), true);
  return { file, world, store, push };
}

/** A second passes, after which nothing is acknowledged and the store is not ready. */
async function refusesAll({ world, store, push, file }: Rig, problem: RegExp): Promise<void> {
  await world.advance(1000);
  await assert.rejects(push(), (error) => {
    assert.ok(isEngineError(error, 'STORE_UNAVAILABLE'), String(error));
    assert.match(error.message, problem);
    assert.ok(error.message.includes(file));
    return true;
  });
  assert.equal(await refusal(store.queueList()), 'STORE_UNAVAILABLE');
  assert.equal(
    await refusal(store.clock()),
    'STORE_UNAVAILABLE',
    'a node asks for the clock to know whether it is ready',
  );
}

test('nothing is acknowledged a second after the file was deleted', async (t) => {
  const scene = await rig(t);
  rmSync(scene.file);
  await refusesAll(scene, /it was deleted or moved away/);
  await scene.world.advance(60_000);
  assert.equal(await refusal(scene.push()), 'STORE_UNAVAILABLE');
});

test('nothing is acknowledged a second after another file was moved over it', async (t) => {
  const scene = await rig(t);
  const other = `${scene.file}.other`;
  copyFileSync(scene.file, other);
  renameSync(other, scene.file);
  await refusesAll(scene, /another file was put in its place/);
});

test('nothing is acknowledged a second after its log was deleted', async (t) => {
  const scene = await rig(t);
  await scene.world.advance(1000);
  await scene.push();
  rmSync(`${scene.file}-wal`);
  await refusesAll(scene, /its log .*-wal was deleted/);
});

test('nothing is acknowledged a second after the file was emptied', async (t) => {
  const scene = await rig(t);
  truncateSync(scene.file);
  await refusesAll(scene, /it was emptied or overwritten/);
});

test('nothing is acknowledged a second after an older copy was written into the file', async (t) => {
  const scene = await rig(t);
  const older = readFileSync(scene.file);
  const other = new DatabaseSync(scene.file);
  t.after(() => other.close());
  other.exec('CREATE TABLE more (x); INSERT INTO more VALUES (zeroblob(100000)); PRAGMA wal_checkpoint(FULL)');
  await scene.world.advance(1000);
  assert.equal(await scene.push(), true);
  writeFileSync(scene.file, older);
  await refusesAll(scene, /it was emptied or overwritten/);
});

test('nothing more is acknowledged a second after the first push into a log that was emptied', async (t) => {
  const scene = await rig(t);
  truncateSync(`${scene.file}-wal`);
  await scene.push();
  await refusesAll(scene, /its log .*-wal was emptied or overwritten/);
});

test('a file that VACUUM has made smaller, and a log that a checkpoint has emptied, are the same ones', async (t) => {
  const scene = await rig(t);
  const other = new DatabaseSync(scene.file);
  t.after(() => other.close());
  other.exec('CREATE TABLE more (x); INSERT INTO more VALUES (zeroblob(1000000)); PRAGMA wal_checkpoint(TRUNCATE)');
  await scene.world.advance(1000);
  assert.equal(await scene.push(), true);
  other.exec('DROP TABLE more; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)');
  for (let i = 0; i < 3; i++) {
    await scene.world.advance(1000);
    assert.equal(await scene.push(), true);
  }
});

test('a restore is refused while a process has the file open, and is noticed where the file was deleted before', async (t) => {
  const scene = await rig(t);
  const { file, world } = scene;
  const from = `${file}.backup`;
  await backupSqlite({ file, to: from, force: false });
  const restore = (): Promise<unknown> => restoreSqlite({ file, from, force: true, now: world.clock.wall() });
  assert.equal(await refusal(restore()), 'STORE_BUSY');
  await world.advance(1000);
  assert.equal(await scene.push(), true);
  rmSync(file);
  await restore();
  await refusesAll(scene, /another file was put in its place|deleted/);
  const next = await openSqlite({ file, world, housekeeping: false });
  assert.equal((await next.queueStats({ queue: 'mail' }))?.ready, 1);
  await next.close();
});

test('a file that is moved away and back is used again', async (t) => {
  const scene = await rig(t);
  const away = `${scene.file}.away`;
  renameSync(scene.file, away);
  await refusesAll(scene, /deleted or moved away/);
  renameSync(away, scene.file);
  await scene.world.advance(1000);
  assert.equal(await scene.push(), true);
});

test('a handle that is opened again does not take another file for its own', async (t) => {
  const scene = await rig(t);
  const { NamedFile } = await import('./named-file.ts');
  const named = new NamedFile(scene.file, () => 0);
  named.requireSame();
  writeFileSync(`${scene.file}.other`, '');
  renameSync(`${scene.file}.other`, scene.file);
  assert.throws(() => named.requireSame(), /another file was put in its place/);
});
