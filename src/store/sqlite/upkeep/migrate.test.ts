import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { isEngineError } from '../../../core/errors.ts';
import { refusal } from '../../conformance/kit/scene.ts';
import { checkBooks, lookAt } from '../../conformance/kit/snapshot.ts';
import { tempFolder } from '../../conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../../conformance/kit/virtual-world.ts';
import { openSqlite } from '../open.ts';
import { MIGRATIONS, migrate, SCHEMA_VERSION } from './migrate.ts';

const folder = tempFolder('migrate');
const world = new VirtualWorld();

const schemaOf = (db: DatabaseSync): readonly unknown[] =>
  db.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY name').all();
const metaOf = (db: DatabaseSync): Record<string, unknown> =>
  Object.fromEntries(
    db
      .prepare('SELECT key, value FROM meta')
      .all()
      .map(({ key, value }) => [key, value]),
  );
const setMeta = (db: DatabaseSync, key: string, value: number): unknown =>
  db.prepare('UPDATE meta SET value = ? WHERE key = ?').run(String(value), key);

test('a new file gets the newest schema and says which one it has', () => {
  const db = new DatabaseSync(':memory:');
  migrate(db);
  assert.deepEqual(metaOf(db), { schema: `${SCHEMA_VERSION}`, compatible_from: '15' });
});

test('migrating twice is migrating once, and touches no data', () => {
  const db = new DatabaseSync(':memory:');
  migrate(db);
  db.exec("INSERT INTO queue (name) VALUES ('mail')");
  const [schema, meta] = [schemaOf(db), metaOf(db)];
  migrate(db);
  assert.deepEqual([schemaOf(db), metaOf(db)], [schema, meta]);
  assert.equal(db.prepare('SELECT name FROM queue').get()?.name, 'mail');
});

test('every table is strict, so that a wrong type is an error and not a surprise', () => {
  const db = new DatabaseSync(':memory:');
  migrate(db);
  const tables = db
    .prepare("SELECT name, strict FROM pragma_table_list WHERE schema = 'main' AND type = 'table'")
    .all();
  const loose = tables.filter(({ name, strict }) => strict === 0 && !`${String(name)}`.startsWith('sqlite_'));
  assert.deepEqual(loose, []);
});

test('a newer schema that this program may work on is left alone', () => {
  const db = new DatabaseSync(':memory:');
  migrate(db);
  setMeta(db, 'schema', SCHEMA_VERSION + 5);
  setMeta(db, 'compatible_from', SCHEMA_VERSION);
  const meta = metaOf(db);
  migrate(db);
  assert.deepEqual(metaOf(db), meta);
});

test('a newer schema that this program does not understand is refused, with both versions', () => {
  const db = new DatabaseSync(':memory:');
  migrate(db);
  setMeta(db, 'schema', SCHEMA_VERSION + 1);
  setMeta(db, 'compatible_from', SCHEMA_VERSION + 1);
  assert.throws(
    () => migrate(db),
    (error) => {
      assert.ok(isEngineError(error, 'SCHEMA_TOO_NEW'));
      assert.deepEqual(error.details, { found: SCHEMA_VERSION + 1, known: SCHEMA_VERSION });
      assert.match(error.message, new RegExp(`version ${SCHEMA_VERSION + 1}`));
      return true;
    },
  );
});

test('a store that is too new does not open, and the file stays as it was', async () => {
  const file = join(folder, 'new.db');
  await (await openSqlite({ file, world, housekeeping: false })).close();
  const db = new DatabaseSync(file);
  setMeta(db, 'schema', 99);
  setMeta(db, 'compatible_from', 99);
  const meta = metaOf(db);
  assert.equal(await refusal(openSqlite({ file, world, housekeeping: false })), 'SCHEMA_TOO_NEW');
  assert.deepEqual(metaOf(db), meta);
  setMeta(db, 'compatible_from', 1);
  await (await openSqlite({ file, world, housekeeping: false })).close();
  db.close();
});

test('a file that is no database is refused as such, and not overwritten', async () => {
  const file = join(folder, 'text.db');
  const text = 'this is a text, and longer than the header of a database is '.repeat(30);
  writeFileSync(file, text);
  assert.equal(await refusal(openSqlite({ file, world, housekeeping: false })), 'STORE_CORRUPT');
  assert.equal(readFileSync(file, 'utf8'), text);
});

test('a path that cannot be made is refused with the file that was meant', async () => {
  const file = join(folder, 'text.db', 'below', 'a-file.db');
  await assert.rejects(openSqlite({ file, world, housekeeping: false }), (error) => {
    assert.ok(isEngineError(error, 'STORE_UNAVAILABLE'));
    assert.equal(error.details?.file, file);
    return true;
  });
});

test('folders on the way to the file are made', async () => {
  const file = join(folder, 'a', 'b', 'c.db');
  await (await openSqlite({ file, world, housekeeping: false })).close();
});

const FOREIGN = {
  event: 'CREATE TABLE Event (id INTEGER PRIMARY KEY, title TEXT)',
  task: 'CREATE VIEW task AS SELECT 1 AS id',
  op_until: 'CREATE TABLE t (x); CREATE INDEX op_until ON t (x)',
  meta: 'CREATE TABLE meta (id INTEGER PRIMARY KEY, v TEXT)',
};

for (const [name, sql] of Object.entries(FOREIGN)) {
  test(`a file where ${name} is something of another program is refused, and gets nothing of ours`, async (t) => {
    const file = join(folder, `foreign-${name}.db`);
    const db = new DatabaseSync(file);
    t.after(() => db.close());
    db.exec(sql);
    const schema = schemaOf(db);
    await assert.rejects(openSqlite({ file, world, housekeeping: false }), (error) => {
      assert.ok(isEngineError(error, 'CONFLICT'), String(error));
      assert.ok(error.message.includes(`"${name}"`), error.message);
      assert.match(error.hint ?? '', /file of its own/);
      return true;
    });
    assert.deepEqual(schemaOf(db), schema);
  });
}

test('where another program has a table of the name of a view, that view is left out and the others are there', async (t) => {
  const file = join(folder, 'foreign-runs.db');
  const db = new DatabaseSync(file);
  t.after(() => db.close());
  db.exec('CREATE TABLE Runs (id INTEGER PRIMARY KEY)');
  await (await openSqlite({ file, world, housekeeping: false })).close();
  const views = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name").all();
  assert.deepEqual(
    views.map(({ name }) => name),
    ['work_pool', 'worker_registry'],
  );
  assert.equal(db.prepare('SELECT count(*) AS n FROM Runs').get()?.n, 0);
});

test('a later migration makes a view of ours anew, and leaves one of another program alone', async (t) => {
  const file = join(folder, 'foreign-view.db');
  const db = new DatabaseSync(file);
  t.after(() => db.close());
  db.exec('CREATE VIEW work_pool AS SELECT 7 AS id');
  await (await openSqlite({ file, world, housekeeping: false })).close();
  assert.equal(db.prepare('SELECT id FROM work_pool').get()?.id, 7);
  assert.ok(
    db
      .prepare("SELECT name FROM pragma_table_info('worker_registry')")
      .all()
      .some(({ name }) => name === 'error'),
  );
});

test('a file of the first version is brought up to date and keeps what is in it', async (t) => {
  const file = join(folder, 'first.db');
  const db = new DatabaseSync(file);
  t.after(() => db.close());
  db.exec(readFileSync(new URL('../migrations/001-kernel.sql', import.meta.url), 'utf8'));
  db.exec(`CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO meta VALUES ('schema', '1'), ('compatible_from', '1');
    INSERT INTO queue (name) VALUES ('mail');
    INSERT INTO lane (queue, handler, hash, used_at) VALUES (1, 'send', 'x', 0);
    INSERT INTO qstat (queue, ready, running, scheduled, completed, failed, cancelled) VALUES (1, 1, 1, 1, 1, 1, 1);
    INSERT INTO worker (name, incarnation, slots, beat_at) VALUES ('old', 'i', 1, 0);
    INSERT INTO spec (hash, body, used_at) VALUES ('x', '{}', 0)`);
  const add =
    db.prepare(`INSERT INTO task (lane, spec, state, prio, attempt, tries, max_tries, created_at, payload, holder,
    lease_until, run_at, ended_at) VALUES (1, 1, ?, 0, ?, ?, 3, 5, '1', ?, ?, ?, ?)`);
  for (const state of [0, 1, 2, 4, 5, 6]) {
    const [ran, runs, ended] = [state === 1 || state >= 4 ? 1 : 0, state === 1, state >= 4];
    add.run(state, ran, ran, ran || null, runs ? 10 : null, state === 2 ? 10 : null, ended ? 10 : null);
  }
  const store = await openSqlite({ file, world, housekeeping: false });
  t.after(() => store.close());
  assert.equal(metaOf(db)['schema'], `${SCHEMA_VERSION}`);
  const snapshot = await lookAt(store);
  checkBooks(snapshot, { forgets: true });
  assert.deepEqual(
    snapshot.tasks.map(({ state }) => state),
    ['ready', 'running', 'scheduled', 'completed', 'failed', 'cancelled'],
  );
  assert.ok(snapshot.tasks.every(({ payload, expiresAt }) => payload === '1' && expiresAt === undefined));
  const [answer] = await store.taskClaim({ claims: [{ holder: 1, ttlMs: 10, max: 9, lanes: [{ lane: 1, max: 9 }] }] });
  assert.deepEqual(
    answer?.grants.map(({ task, suspect }) => [task, suspect]),
    [[1, false]],
  );
  const late = { task: 2, attempt: 1, to: 'completed', reason: 'none' } as const;
  assert.deepEqual(await store.taskSettle({ items: [late] }), ['done']);
  const [worker] = await store.workerList();
  assert.deepEqual([worker?.state, worker?.startedAt, worker?.handlers], ['online', undefined, []]);
});

/** Checkpoints as written by versions before the trees. */
const SPAWNS: readonly (readonly [task: number, key: string, value: string | null])[] = [
  [1, 'spawn:a#0', '{"id":"task_x","task":2}'],
  [2, 'spawn:b#0', '{"id":"task_y","task":3}'],
  [1, 'spawn:long#0', null],
  [1, 'spawn:gone#0', '{"id":"task_z","task":99}'],
  // These are no children: an older task, the task itself, a child of another task, and no number at all.
  [3, 'spawn:older#0', '{"id":"task_x","task":1}'],
  [3, 'spawn:self#0', '{"id":"task_x","task":3}'],
  [3, 'spawn:other#0', '{"id":"task_x","task":4}'],
  [5, 'spawn:text#0', '{"task":"6"}'],
  [5, 'spawn:none#0', '7'],
  [1, 'wait:w#0', '{"outcome":"woken"}'],
  [1, 'step#0!', '1'],
  [1, 'list[3]', '"e"'],
  [1, 'step#0', '"v"'],
];

test('checkpoints become journals, and children that they name have their parents and roots', async (t) => {
  const file = join(folder, 'spawns.db');
  const db = new DatabaseSync(file);
  t.after(() => db.close());
  db.exec('CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID');
  for (const { file: name } of MIGRATIONS.filter(({ version }) => version <= 8)) {
    db.exec(readFileSync(new URL(`../migrations/${name}`, import.meta.url), 'utf8'));
  }
  db.exec(`INSERT INTO meta VALUES ('schema', '8'), ('compatible_from', '5');
    INSERT INTO queue (name) VALUES ('mail');
    INSERT INTO lane (queue, handler, hash, used_at) VALUES (1, 'send', 'x', 0);
    INSERT INTO spec (hash, body, used_at) VALUES ('x', '{}', 0);
    INSERT INTO qstat (queue, ready) VALUES (1, 6)`);
  const add = db.prepare(`INSERT INTO task (lane, spec, state, prio, max_tries, created_at) VALUES (1, 1, 0, 0, 3, ?)`);
  for (let i = 1; i <= 6; i++) add.run(1000 + i);
  for (const [task, key, value] of SPAWNS) {
    db.prepare('INSERT INTO checkpoint (task, key, attempt, value, at) VALUES (?, ?, 1, ?, 5)').run(task, key, value);
  }
  const long = `{"id":"${'x'.repeat(5000)}","task":4}`;
  db.prepare("INSERT INTO checkpoint_body VALUES (1, 'spawn:long#0', ?)").run(long);
  const store = await openSqlite({ file, world, housekeeping: false });
  t.after(() => store.close());
  const snapshot = await lookAt(store);
  assert.deepEqual(
    snapshot.tasks.map(({ task, parent, root }) => [task, parent, root]),
    [
      [1, undefined, undefined],
      [2, 1, 1],
      [3, 2, 1],
      [4, 1, 1],
      [5, undefined, undefined],
      [6, undefined, undefined],
    ],
  );
  const entries = async (task: number): Promise<unknown> =>
    (await store.journalList({ task })).map(({ key, kind, ref, value }) => [key, kind, ref ?? value]);
  assert.deepEqual(await entries(1), [
    ['list[3]', 'element', '"e"'],
    ['spawn:a#0', 'child', 2],
    ['spawn:gone#0', 'child', 99],
    ['spawn:long#0', 'child', 4],
    ['step#0', 'value', '"v"'],
    ['step#0!', 'mark', '1'],
    ['wait:w#0', 'wait', '{"outcome":"woken"}'],
  ]);
  assert.deepEqual(
    (await store.journalList({ task: 1 })).filter(({ ref }) => ref !== undefined).map(({ value }) => value),
    ['1002', '0', '1004'],
  );
  assert.deepEqual((await store.treeList({ root: 1, after: 0, limit: 9 })).length, 3);
});

for (const { what, version: newest, adds } of [
  {
    what: 'the tokens',
    version: 4,
    adds: ['entry_token', 'entry_token_ended', 'entry_token_name', 'sqlite_autoindex_entry_token_1'],
  },
  { what: 'the nodes', version: 6, adds: ['cluster_node'] },
  {
    what: 'the documents',
    version: 7,
    adds: [
      'sqlite_autoindex_task_document_1',
      'task_document',
      'task_document_root',
      'task_document_task',
      'task_document_user',
    ],
  },
  { what: 'the saved views and the schemas of handlers', version: 8, adds: ['handler_schema', 'saved_view'] },
  {
    what: 'the sessions of browsers',
    version: 12,
    adds: ['browser_session', 'browser_session_expires', 'sqlite_autoindex_browser_session_1'],
  },
  { what: 'the names of workers', version: 13, adds: ['worker_name'] },
  {
    what: 'runs and definitions',
    version: 14,
    adds: [
      'definition',
      'definition_used',
      'run',
      'run_definition',
      'sqlite_autoindex_definition_1',
      'sqlite_autoindex_run_1',
    ],
  },
]) {
  test(`${what} only add to what a program of the version before works on`, () => {
    const [before, after] = [new DatabaseSync(':memory:'), new DatabaseSync(':memory:')];
    for (const { version, file } of MIGRATIONS.filter((one) => one.version <= newest)) {
      const text = readFileSync(new URL(`../migrations/${file}`, import.meta.url), 'utf8');
      for (const db of version < newest ? [before, after] : [after]) db.exec(text);
    }
    const [old, now] = [schemaOf(before), schemaOf(after)] as readonly (readonly { readonly name: string }[])[];
    const added = (now ?? []).filter(({ name }) => !(old ?? []).some((one) => one.name === name));
    assert.deepEqual(
      added.map(({ name }) => name),
      adds,
    );
    assert.deepEqual(
      now?.filter((one) => !added.includes(one)),
      old,
    );
    assert.equal(
      MIGRATIONS.find(({ version }) => version === newest)?.compatibleFrom,
      newest < 5 ? 3 : newest < 9 ? 5 : 9,
    );
  });
}

test("another program's meta that looks like ours is not taken for ours, whatever it says", async (t) => {
  const file = join(folder, 'foreign-meta-alike.db');
  const db = new DatabaseSync(file);
  t.after(() => db.close());
  db.exec("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT); INSERT INTO meta VALUES ('schema', '7')");
  assert.equal(await refusal(openSqlite({ file, world, housekeeping: false })), 'CONFLICT');
  assert.deepEqual(metaOf(db), { schema: '7' });
});

test('a file with tables of another name is shared', async () => {
  const file = join(folder, 'shared.db');
  const db = new DatabaseSync(file);
  db.exec(
    'CREATE TABLE orders (id INTEGER PRIMARY KEY); CREATE TRIGGER task AFTER INSERT ON orders BEGIN SELECT 1; END',
  );
  db.close();
  for (let i = 0; i < 2; i++) await (await openSqlite({ file, world, housekeeping: false })).close();
});
