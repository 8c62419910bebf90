import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { isEngineError } from '../../../core/errors.ts';
import { refusal, Scene } from '../../conformance/kit/scene.ts';
import { tempFolder } from '../../conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../../conformance/kit/virtual-world.ts';
import { openSqlite } from '../open.ts';
import { backupSqlite } from './backup.ts';
import { SCHEMA_VERSION } from './migrate.ts';

const folder = tempFolder('backup');
const world = new VirtualWorld();
let made = 0;
const freshName = (): string => join(folder, `${++made}.db`);
const quiet = { force: false };

async function openScene(file: string): Promise<Scene> {
  const store = await openSqlite({ file, world, housekeeping: false });
  return new Scene(store, world, { reopen: undefined, caller: undefined, pass: (ms) => world.advance(ms) });
}

/** Makes a store with this many tasks, and closes it. */
async function storeWith(tasks: number): Promise<string> {
  const file = freshName();
  const scene = await openScene(file);
  await scene.pushMany(tasks);
  await scene.close();
  return file;
}

const tasksIn = (file: string): unknown => {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return db.prepare('SELECT count(*) AS n FROM task').get()?.n;
  } finally {
    db.close();
  }
};
const leftovers = (to: string): readonly string[] =>
  readdirSync(dirname(to)).filter((name) => name.startsWith(`${to.slice(folder.length + 1)}.partial`));

test('a backup has what was committed before it began and nothing that came while it ran', async () => {
  const [file, to] = [freshName(), freshName()];
  const scene = await openScene(file);
  const body = JSON.stringify('x'.repeat(6000));
  await scene.pushMany(1500, { payload: body });
  let pushed = 0;
  const pushes: Promise<unknown>[] = [];
  const contents = await backupSqlite({
    ...quiet,
    file,
    to,
    // Another connection commits between all steps. A copy that started over for it would count them, or never end.
    onCopied: () => {
      pushed++;
      pushes.push(scene.push({ payload: body }));
    },
  });
  await Promise.all(pushes);
  assert.ok(pushed > 1, `it took ${pushed} steps`);
  assert.deepEqual([contents.tasks.ready, contents.queues, contents.schema], [1500, 1, SCHEMA_VERSION]);
  assert.equal(tasksIn(to), 1500);
  assert.equal(contents.bytes, statSync(to).size);
  assert.equal((await scene.stats()).ready, 1500 + pushed);
  await scene.close();
});

test('a backup is one plain file that its reader may copy and open anywhere', async () => {
  const [file, to] = [await storeWith(3), freshName()];
  chmodSync(file, 0o640);
  await backupSqlite({ ...quiet, file, to });
  assert.equal(statSync(to).mode & 0o777, 0o600, 'whoever may read the store');
  assert.equal(readFileSync(to)[18], 1, 'the header asks for no log');
  const db = new DatabaseSync(to, { readOnly: true });
  db.close();
  for (const tail of ['-wal', '-shm', '-journal']) assert.ok(!existsSync(`${to}${tail}`), tail);
  assert.deepEqual(leftovers(to), []);
});

test('a backup replaces nothing unless it is told to', async () => {
  const [file, to] = [await storeWith(2), freshName()];
  writeFileSync(to, 'mine');
  assert.equal(await refusal(backupSqlite({ ...quiet, file, to })), 'CONFLICT');
  assert.equal(readFileSync(to, 'utf8'), 'mine');
  await backupSqlite({ file, to, force: true });
  assert.equal(tasksIn(to), 2);
  assert.equal(await refusal(backupSqlite({ file, to: folder, force: true })), 'INVALID_INPUT');
  assert.equal(await refusal(backupSqlite({ ...quiet, file, to: join(folder, 'no', 'x.db') })), 'NOT_FOUND');
});

test('somebody who took the name while the copy was made keeps it', async () => {
  const [file, to] = [await storeWith(2), freshName()];
  const backup = backupSqlite({ ...quiet, file, to, onCopied: () => writeFileSync(to, 'quicker') });
  assert.equal(await refusal(backup), 'CONFLICT');
  assert.equal(readFileSync(to, 'utf8'), 'quicker');
  assert.deepEqual(leftovers(to), []);
});

test('a damaged store makes no backup', async () => {
  const [file, to] = [await storeWith(2000), freshName()];
  const bytes = readFileSync(file);
  bytes.fill(0xa5, bytes.length - 40_000, bytes.length - 20_000);
  writeFileSync(file, bytes);
  assert.equal(await refusal(backupSqlite({ ...quiet, file, to })), 'STORE_CORRUPT');
  assert.ok(!existsSync(to));
  assert.deepEqual(leftovers(to), []);
});

test('what is no store, or a newer one than this program understands, makes no backup', async () => {
  const [other, newer, cut] = [freshName(), await storeWith(1), await storeWith(1)];
  const foreign = new DatabaseSync(other);
  foreign.exec('CREATE TABLE t (x)');
  foreign.close();
  const db = new DatabaseSync(newer);
  db.exec("UPDATE meta SET value = '99'");
  db.close();
  truncateSync(cut, 3000);
  for (const [file, code] of [[other, 'INVALID_INPUT'] as const, [newer, 'SCHEMA_TOO_NEW'] as const]) {
    assert.equal(await refusal(backupSqlite({ ...quiet, file, to: freshName() })), code);
  }
  assert.ok(
    ['STORE_CORRUPT', 'INVALID_INPUT'].includes(await refusal(backupSqlite({ ...quiet, file: cut, to: freshName() }))),
  );
});

test('a backup that is stopped leaves nothing behind', async () => {
  const [file, to] = [await storeWith(3000), freshName()];
  const stop = new AbortController();
  const reason = new Error('enough');
  const backup = backupSqlite({ ...quiet, file, to, signal: stop.signal, onCopied: () => stop.abort(reason) });
  await assert.rejects(backup, (error) => error === reason && !isEngineError(error));
  assert.ok(!existsSync(to));
  assert.deepEqual(leftovers(to), []);
});

test('a store of an older schema is backed up as it is, and stays as it is', async () => {
  const [file, to] = [freshName(), freshName()];
  const db = new DatabaseSync(file);
  db.exec(readFileSync(new URL('../migrations/001-kernel.sql', import.meta.url), 'utf8'));
  db.exec(`PRAGMA journal_mode = WAL; CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO meta VALUES ('schema', '1'), ('compatible_from', '1')`);
  const { schema } = await backupSqlite({ ...quiet, file, to });
  assert.equal(schema, 1);
  assert.equal(db.prepare("SELECT value FROM meta WHERE key = 'schema'").get()?.value, '1');
  db.close();
});
