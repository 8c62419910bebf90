import assert from 'node:assert/strict';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { type EngineError, isEngineError } from '../../core/errors.ts';
import { checkBooks, lookAt } from '../conformance/sight.ts';
import { tempFolder } from '../conformance/temp-folder.ts';
import { VirtualWorld } from '../conformance/virtual-world.ts';
import type { NamedTask, Store } from '../store.ts';
import { openSqlite } from './open.ts';

const folder = tempFolder('caller');
const world = new VirtualWorld();
const TASK: NamedTask = { queue: 'mail', handler: 'send', specBody: '{}', priority: 0, maxTries: 3, payload: '1' };
let files = 0;

async function open(t: TestContext, file = join(folder, `${files++}.db`)): Promise<{ store: Store; file: string }> {
  const store = await openSqlite({ file, world, housekeeping: false });
  t.after(() => store.close());
  return { store, file };
}

function handle(t: TestContext, file: string): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: 0 });
  t.after(() => db.close());
  return db;
}

function refused(act: () => unknown): EngineError {
  try {
    act();
  } catch (error) {
    assert.ok(isEngineError(error), `not an error of ours: ${String(error)}`);
    return error;
  }
  return assert.fail('it was not refused');
}

test('tasks and the rows of the caller are committed together', async (t) => {
  const { store, file } = await open(t);
  const db = handle(t, file);
  db.exec('CREATE TABLE orders (id INTEGER PRIMARY KEY, task INTEGER)');
  db.exec('BEGIN');
  const [pushed] = store.taskPushIn({ tx: db, items: [TASK] });
  assert.ok(pushed?.ok);
  db.prepare('INSERT INTO orders (task) VALUES (?)').run(pushed.task);
  assert.deepEqual(await store.taskList({ limit: 10 }), []);
  db.exec('COMMIT');
  assert.deepEqual(
    (await store.taskList({ limit: 10 })).map(({ task }) => task),
    [pushed.task],
  );
  checkBooks(await lookAt(store));
});

test('a roll-back leaves neither', async (t) => {
  const { store, file } = await open(t);
  const db = handle(t, file);
  const before = await lookAt(store);
  for (const begin of ['BEGIN', 'BEGIN IMMEDIATE', 'BEGIN EXCLUSIVE']) {
    db.exec(begin);
    store.taskPushIn({ tx: db, items: [TASK, TASK] });
    db.exec('ROLLBACK');
    assert.deepEqual(await lookAt(store), before);
  }
});

test('a savepoint that is rolled back takes its tasks with it and leaves the others', async (t) => {
  const { store, file } = await open(t);
  const db = handle(t, file);
  db.exec('BEGIN');
  store.taskPushIn({ tx: db, items: [TASK] });
  db.exec('SAVEPOINT inner');
  store.taskPushIn({ tx: db, items: [{ ...TASK, queue: 'other' }] });
  db.exec('ROLLBACK TO inner; COMMIT');
  assert.deepEqual(
    (await store.taskList({ limit: 10 })).map(({ queue }) => queue),
    ['mail'],
  );
  checkBooks(await lookAt(store));
});

test('a handle without an open transaction is refused: its tasks could be half written', async (t) => {
  const { store, file } = await open(t);
  const db = handle(t, file);
  const error = refused(() => store.taskPushIn({ tx: db, items: [TASK] }));
  assert.equal(error.code, 'INVALID_INPUT');
  assert.match(error.message, /no transaction/);
  assert.deepEqual(await store.taskList({ limit: 10 }), []);
  db.exec('BEGIN');
  store.taskPushIn({ tx: db, items: [TASK] });
  db.exec('COMMIT');
  assert.equal(refused(() => store.taskPushIn({ tx: db, items: [TASK] })).code, 'INVALID_INPUT');
});

test('a handle on another file is refused, with both files named and a hint', async (t) => {
  const { store, file } = await open(t);
  const other = join(folder, 'other.db');
  const db = handle(t, other);
  db.exec('BEGIN');
  const error = refused(() => store.taskPushIn({ tx: db, items: [TASK] }));
  assert.equal(error.code, 'INVALID_INPUT');
  assert.ok(error.message.includes(other) && error.message.includes(file), error.message);
  assert.match(error.hint ?? '', /same SQLite file/);
});

test('a handle that another store of this process has accepted is refused by this one', async (t) => {
  const one = await open(t);
  const two = await open(t);
  const db = handle(t, one.file);
  db.exec('BEGIN');
  one.store.taskPushIn({ tx: db, items: [TASK] });
  assert.equal(refused(() => two.store.taskPushIn({ tx: db, items: [TASK] })).code, 'INVALID_INPUT');
  db.exec('COMMIT');
  assert.equal((await one.store.taskList({ limit: 10 })).length, 1);
});

test('a handle on a database in memory is refused, by a store on a file and by a store in memory', async (t) => {
  const { store } = await open(t);
  const db = handle(t, ':memory:');
  db.exec('BEGIN');
  assert.match(refused(() => store.taskPushIn({ tx: db, items: [TASK] })).message, /in memory/);
  const memory = await openSqlite({ file: 'memory:', world });
  t.after(() => memory.close());
  assert.equal(memory.capabilities.callerTransactions, false);
  assert.equal(refused(() => memory.taskPushIn({ tx: db, items: [TASK] })).code, 'INVALID_INPUT');
});

test('the same file by another name is the same file', async (t) => {
  const { store, file } = await open(t);
  const link = join(folder, 'link.db');
  symlinkSync(file, link);
  const db = handle(t, link);
  db.exec('BEGIN');
  store.taskPushIn({ tx: db, items: [TASK] });
  db.exec('COMMIT');
  assert.equal((await store.taskList({ limit: 10 })).length, 1);
});

test('a transaction that cannot write because another one does is refused as busy', async (t) => {
  const { store, file } = await open(t);
  const db = handle(t, file);
  const writer = handle(t, file);
  writer.exec('BEGIN IMMEDIATE');
  db.exec('BEGIN');
  const error = refused(() => store.taskPushIn({ tx: db, items: [TASK] }));
  assert.equal(error.code, 'STORE_BUSY');
  assert.ok(error.retryable);
  writer.exec('COMMIT');
  db.exec('ROLLBACK');
});

test('the store waits for the transaction of the caller, and writes after it', async (t) => {
  const { store, file } = await open(t);
  const db = handle(t, file);
  db.exec('BEGIN IMMEDIATE');
  store.taskPushIn({ tx: db, items: [TASK] });
  const paused = store.queuePause({ queue: 'mail', paused: true });
  await world.advance(200);
  db.exec('COMMIT');
  await world.advance(20);
  await paused;
  assert.equal((await store.queueList())[0]?.paused, true);
});

test("a closed store pushes nothing into anybody's transaction", async (t) => {
  const { store, file } = await open(t);
  const db = handle(t, file);
  await store.close();
  db.exec('BEGIN');
  assert.equal(refused(() => store.taskPushIn({ tx: db, items: [TASK] })).code, 'STORE_CLOSED');
});
