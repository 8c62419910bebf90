import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { freshDatabase, startPostgres } from '../../../../test/support/postgres.ts';
import { adminOf } from '../../../../test/support/postgres-contract.ts';
import { realWorld } from '../../../app/world.ts';
import { isEngineError } from '../../../core/errors.ts';
import type { World } from '../../../core/world.ts';
import { refusal } from '../../conformance/kit/scene.ts';
import { openPostgres } from '../open.ts';
import { statements } from '../statements.ts';
import { parseAddress } from './address.ts';
import { Database } from './database.ts';

const url = await freshDatabase('database');
const world = realWorld();
await (await openPostgres({ url, world })).close();
const admin = await adminOf(url);
let names = 0;

const unhandled: unknown[] = [];
process.on('unhandledRejection', (error) => void unhandled.push(error));

interface Options {
  readonly size?: number;
  readonly deadlineMs?: number;
  readonly at?: string;
  readonly world?: World;
}

/** A pool of its own, whose sessions the test can find by their name. */
function open(
  t: TestContext,
  { size = 2, deadlineMs = 5000, at = url, world: own = world }: Options = {},
): { db: Database; name: string } {
  const name = `db${process.pid}_${names++}`;
  const address = parseAddress(`${at}&application_name=${name}`);
  const texts = statements(address.schema);
  const db = new Database({ ...address, texts, world: own, size, deadlineMs });
  t.after(() => db.close());
  return { db, name };
}

const pidOf = (db: Database): Promise<number> =>
  db.run(async (session) => (await session.raw<{ pid: number }>('SELECT pg_backend_pid() AS pid'))[0]?.pid as number);

async function terminate(name: string): Promise<number> {
  const sql = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1';
  return (await admin.query(sql, [name])).rows.length;
}

test('fifty calls at once on two connections are all answered, in the order in which they came', async (t) => {
  const { db, name } = open(t);
  const order: number[] = [];
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      db.run(async (session) => {
        order.push(i);
        const [row] = await session.raw<{ n: number }>('SELECT $1::int8 AS n, pg_sleep(0.002)', [i]);
        return row?.n;
      }),
    ),
  );
  assert.deepEqual(answers, [...Array(50).keys()]);
  // The first call of each connection waits until that is open, which may take longer for one than for the other.
  const rest = order.filter((i) => i > 1);
  for (const [at, i] of rest.entries()) assert.ok(Math.abs(at + 2 - i) <= 1, order.join(' '));
  const { rows } = await admin.query('SELECT 1 FROM pg_stat_activity WHERE application_name = $1', [name]);
  assert.equal(rows.length, 2);
});

test('calls that come together share the session that is there: a new one is opened only for those that still wait', async (t) => {
  const { db, name } = open(t, { size: 6 });
  await pidOf(db);
  await Promise.all(Array.from({ length: 6 }, () => pidOf(db)));
  const { rows } = await admin.query('SELECT FROM pg_stat_activity WHERE application_name = $1', [name]);
  assert.ok(rows.length < 6, `${rows.length} sessions`);
});

test('a call that gets the busy connection soon opens no other', async (t) => {
  // The moment after which another is opened comes when the test says so.
  const late: (() => void)[] = [];
  const timers: World['timers'] = {
    ...world.timers,
    after: (ms, fn, options) => (ms < 100 ? (late.push(fn), () => {}) : world.timers.after(ms, fn, options)),
  };
  const { db, name } = open(t, { size: 6, world: { ...world, timers } });
  const sessions = async (): Promise<number> =>
    (await admin.query('SELECT FROM pg_stat_activity WHERE application_name = $1', [name])).rows.length;
  await pidOf(db);
  await Promise.all([pidOf(db), pidOf(db), pidOf(db)]);
  assert.equal(late.length, 1);
  late.pop()?.();
  assert.equal(await sessions(), 1, 'nobody waits any more');
  const held = db.run((session) => session.raw('SELECT pg_sleep(0.5)'));
  const waiting = pidOf(db);
  while (late.at(0) === undefined) await pause(1);
  late.pop()?.();
  await waiting;
  assert.equal(await sessions(), 2);
  await held;
});

test('who gets no connection until the deadline hears that the store is busy, and the pool goes on', async (t) => {
  const { db } = open(t, { size: 1, deadlineMs: 100 });
  const held = db.run(async (session) => {
    await session.raw('SELECT 1');
    await pause(300);
  });
  await pause(20);
  assert.equal(await refusal(db.run((session) => session.raw('SELECT 1'))), 'STORE_BUSY');
  await held;
  assert.ok(await pidOf(db));
});

test('closing ends the calls that wait and those that run, and no more are taken', async (t) => {
  const { db } = open(t, { size: 1 });
  const calls = Array.from({ length: 5 }, () => refusal(db.run((session) => session.raw('SELECT pg_sleep(3)'))));
  await pause(100);
  const started = performance.now();
  await db.close();
  assert.deepEqual(await Promise.all(calls), Array(5).fill('STORE_CLOSED'));
  assert.ok(performance.now() - started < 2500);
  assert.equal(await refusal(pidOf(db)), 'STORE_CLOSED');
});

test('a session that is ended in the middle of a call: the call is made again, and knows that it may have been', async (t) => {
  const { db, name } = open(t, { size: 1 });
  const tries: boolean[] = [];
  const answer = await db.run(async (session, { again }) => {
    tries.push(again);
    if (!again) setTimeout(() => void terminate(name), 50);
    await session.raw('SELECT pg_sleep($1)', [again ? 0 : 5]);
    return 'done';
  });
  assert.deepEqual([answer, tries], ['done', [false, true]]);
});

test('a session that is ended between two statements of a transaction leaves nothing of it', async (t) => {
  const { db, name } = open(t, { size: 1 });
  await admin.query('CREATE TABLE kept (n int)');
  await db.transaction(async (session, { again }) => {
    await session.raw('INSERT INTO kept VALUES (1)');
    if (!again) await terminate(name);
    await session.raw('INSERT INTO kept VALUES (2)');
  });
  assert.deepEqual((await admin.query('SELECT n FROM kept ORDER BY n')).rows, [{ n: 1 }, { n: 2 }]);
});

test('conflicts are tried again, and after the sixth the store is busy', async (t) => {
  const { db } = open(t);
  for (const code of ['40001', '40P01']) {
    let tries = 0;
    const fail = `DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '${code}'; END $$`;
    const answer = await db.transaction(async (session) => {
      if (++tries < 3) await session.raw(fail);
      return 'in the end';
    });
    assert.deepEqual([answer, tries], ['in the end', 3]);
    tries = 0;
    const call = db.transaction((session) => {
      tries++;
      return session.raw(fail);
    });
    assert.equal(await refusal(call), 'STORE_BUSY');
    assert.equal(tries, 6);
  }
  assert.ok(await pidOf(db), 'the connection is as good as before');
});

test('a real deadlock is undone and done again, on both sides', async (t) => {
  const { db } = open(t);
  await admin.query('CREATE TABLE pair (id int PRIMARY KEY, n int); INSERT INTO pair VALUES (1, 0), (2, 0)');
  const both = (first: number, second: number): Promise<void> =>
    db.transaction(async (session) => {
      await session.raw('UPDATE pair SET n = n + 1 WHERE id = $1', [first]);
      await pause(50);
      await session.raw('UPDATE pair SET n = n + 1 WHERE id = $1', [second]);
    });
  await Promise.all([both(1, 2), both(2, 1)]);
  assert.deepEqual((await admin.query('SELECT n FROM pair')).rows, [{ n: 2 }, { n: 2 }]);
});

test('a call that hangs ends at its deadline with an error of ours, and its connection is not used again', async (t) => {
  const { db } = open(t, { size: 1, deadlineMs: 600 });
  const before = await pidOf(db);
  const started = performance.now();
  assert.equal(await refusal(db.run((session) => session.raw('SELECT pg_sleep(20)'))), 'STORE_UNAVAILABLE');
  assert.ok(performance.now() - started < 2000);
  assert.notEqual(await pidOf(db), before);
});

test('a lock that somebody keeps is told as such, not as a server that is out of reach', async (t) => {
  const { db } = open(t, { size: 1, deadlineMs: 6000 });
  await admin.query('CREATE TABLE locked (n int)');
  const other = await adminOf(url);
  t.after(() => other.end());
  await other.query('BEGIN; LOCK TABLE locked');
  const error = await db
    .run((session) => session.raw('INSERT INTO locked VALUES (1)'))
    .then(
      () => assert.fail('it was not refused'),
      (caught: unknown) => caught,
    );
  assert.ok(isEngineError(error, 'STORE_BUSY'), String(error));
  assert.match(error.message, /lock timeout/);
});

test('a server that is down is out of reach within the deadline, and back when it is up', async (t) => {
  const server = await startPostgres({ settings: { fsync: 'off' } });
  t.after(() => server.stop());
  const there = `${server.url('postgres')}&schema=x`;
  const { db } = open(t, { at: there, deadlineMs: 1000 });
  await pidOf(db);
  // This ends it. The pool finds its idle connections cut, and no call fails.
  await server.restart();
  assert.ok(await pidOf(db), 'the first call after a restart is answered');
  await server.stop();
  const started = performance.now();
  assert.equal(await refusal(pidOf(db)), 'STORE_UNAVAILABLE');
  const ms = performance.now() - started;
  assert.ok(ms < 1500, `it took ${Math.round(ms)} ms`);
  const error = await openPostgres({ url: there, world }).then(
    () => assert.fail('it was opened'),
    (caught: unknown) => caught,
  );
  assert.ok(isEngineError(error, 'STORE_UNAVAILABLE'));
});

test('sessions that are cut while nobody uses them hurt nobody', async (t) => {
  const { db, name } = open(t);
  await Promise.all([1, 2].map(() => db.run((session) => session.raw('SELECT pg_sleep(0.05)'))));
  assert.equal(await terminate(name), 2);
  await pause(50);
  assert.ok(await pidOf(db));
});

test('a name of a statement that another client of the session made is not trusted with another text', async (t) => {
  // As behind a pooler that was not configured: the first session lends its names to the second.
  const { db } = open(t, { size: 1 });
  await db.run((session) => session.all('now', []));
  const names = await db.run((session) =>
    session.raw<{ name: string; statement: string }>('SELECT name, statement FROM pg_prepared_statements'),
  );
  assert.equal(names.length, 1);
  assert.match(names[0]?.name ?? '', /^now_[0-9a-f]{16}$/);
});

test('nothing of all this was left unhandled', async () => {
  await pause(50);
  assert.deepEqual(unhandled, []);
});
