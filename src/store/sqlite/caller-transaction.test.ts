import assert from 'node:assert/strict';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type DatabaseSyncOptions } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { type EngineError, isEngineError } from '../../core/errors.ts';
import { checkBooks, lookAt } from '../conformance/kit/snapshot.ts';
import { tempFolder } from '../conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../conformance/kit/virtual-world.ts';
import type { NamedTask, PushAnswer } from '../store.ts';
import { openSqlite } from './open.ts';
import type { SqliteStore } from './store.ts';

const folder = tempFolder('caller');
const world = new VirtualWorld();
const TASK: NamedTask = { queue: 'mail', handler: 'send', specBody: '{}', priority: 0, maxTries: 3, payload: '1' };
let files = 0;

async function open(
  t: TestContext,
  file = join(folder, `${files++}.db`),
): Promise<{ store: SqliteStore; file: string }> {
  const store = await openSqlite({ file, world, housekeeping: false });
  t.after(() => store.close());
  return { store, file };
}

function handle(t: TestContext, file: string, options: DatabaseSyncOptions = {}): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: 0, ...options });
  t.after(() => db.isOpen && db.close());
  return db;
}

/** Pushes in a transaction of its own, which it commits. */
function pushAlone(store: SqliteStore, db: DatabaseSync, task: NamedTask = TASK): PushAnswer {
  db.exec('BEGIN');
  const [answer] = store.taskPushIn({ tx: db, items: [task] });
  db.exec('COMMIT');
  return answer as PushAnswer;
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

test('a push that finds the disk full leaves nothing of itself, and what the caller wrote stays', async (t) => {
  const { store, file } = await open(t);
  const db = handle(t, file);
  db.exec('CREATE TABLE orders (id INTEGER PRIMARY KEY)');
  const before = await lookAt(store);
  const pages = Number(db.prepare('PRAGMA page_count').get()?.page_count);
  db.exec(`PRAGMA max_page_count = ${pages + 20}; BEGIN IMMEDIATE; INSERT INTO orders VALUES (1)`);
  const items = Array.from({ length: 400 }, () => ({ ...TASK, payload: JSON.stringify('x'.repeat(900)) }));
  assert.equal(refused(() => store.taskPushIn({ tx: db, items })).code, 'STORE_FULL');
  assert.ok(db.isTransaction);
  db.exec('COMMIT');
  assert.deepEqual(await lookAt(store), before);
  assert.equal(db.prepare('SELECT count(*) AS n FROM orders').get()?.n, 1);
  assert.ok(pushAlone(store, db).ok);
  checkBooks(await lookAt(store));
});

test('an error that ended the whole transaction is the one that is told', async (t) => {
  const { store, file } = await open(t);
  const db = handle(t, file);
  // What SQLite itself does after some I/O errors: the savepoint is gone with its transaction.
  db.exec("CREATE TRIGGER no BEFORE INSERT ON task BEGIN SELECT RAISE(ROLLBACK, 'all of it'); END; BEGIN");
  const error = refused(() => store.taskPushIn({ tx: db, items: [TASK] }));
  assert.match(error.message, /all of it/);
  assert.equal(db.isTransaction, false);
});

test('a push leaves no savepoint behind, neither when it is taken nor when it fails', async (t) => {
  const { store, file } = await open(t);
  const db = handle(t, file);
  db.exec('BEGIN');
  store.taskPushIn({ tx: db, items: [TASK] });
  assert.throws(() => db.exec('RELEASE leasehold_push'), /no such savepoint/);
  refused(() => store.taskPushIn({ tx: db, items: [{ ...TASK, maxTries: null as unknown as number }] }));
  assert.throws(() => db.exec('RELEASE leasehold_push'), /no such savepoint/);
  db.exec('COMMIT');
});

for (const options of [{ readBigInts: true }, { returnArrays: true }, { readBigInts: true, returnArrays: true }]) {
  test(`a handle with ${Object.keys(options).join(' and ')} gets the same answers`, async (t) => {
    const { store, file } = await open(t);
    const plain = handle(t, file);
    const db = handle(t, file, options);
    const task = { ...TASK, unique: { key: 'k', hash: 7, windowMs: 1000 }, op: 'op-1' };
    const first = pushAlone(store, plain, task);
    assert.deepEqual(pushAlone(store, db, task), { ...first, fresh: false });
    const { op: _, ...again } = task;
    assert.deepEqual(pushAlone(store, db, again), { ...first, fresh: false });
    const fresh = pushAlone(store, db, { ...TASK, queue: 'new' });
    assert.ok(fresh.ok && fresh.fresh && typeof fresh.task === 'number');
    checkBooks(await lookAt(store));
  });
}

test('a handle of better-sqlite3 that reads large integers gets the same answers', async (t) => {
  const { store, file } = await open(t);
  const db = handle(t, file, { readBigInts: true });
  /** The differences: other names for the switches. */
  const like = {
    get inTransaction() {
      return db.isTransaction;
    },
    prepare(sql: string) {
      const statement = db.prepare(sql);
      return {
        get: statement.get.bind(statement),
        all: statement.all.bind(statement),
        run: statement.run.bind(statement),
        safeIntegers: (on: boolean) => statement.setReadBigInts(on),
      };
    },
  };
  const unique = { key: 'k', hash: 7, windowMs: 1000 };
  const first = pushAlone(store, handle(t, file), { ...TASK, unique });
  db.exec('BEGIN');
  assert.deepEqual(store.taskPushIn({ tx: like, items: [{ ...TASK, unique }] }), [{ ...first, fresh: false }]);
  db.exec('COMMIT');
  assert.equal(refused(() => store.taskPushIn({ tx: like, items: [TASK] })).code, 'INVALID_INPUT');
});

test('a handle that was closed and opened again is as good as before', async (t) => {
  const { store, file } = await open(t);
  const db = handle(t, file);
  for (let i = 0; i < 3; i++) {
    assert.ok(pushAlone(store, db).ok);
    assert.ok(pushAlone(store, db).ok);
    db.close();
    db.open();
  }
  assert.equal((await store.taskList({ limit: 10 })).length, 6);
  checkBooks(await lookAt(store));
});

test('a handle that is closed is refused as such', async (t) => {
  const { store, file } = await open(t);
  const db = handle(t, file);
  pushAlone(store, db);
  db.close();
  const error = refused(() => store.taskPushIn({ tx: db, items: [TASK] }));
  assert.equal(error.code, 'INVALID_INPUT');
  assert.match(error.message, /closed/);
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
