import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { adminOf } from '../../../test/support/postgres-contract.ts';
import { isEngineError } from '../../core/errors.ts';
import { type App, open as openApp, task } from '../../index.ts';
import { refusal } from '../conformance/kit/scene.ts';

const url = await freshDatabase('caller');
let schemas = 0;
const mail = task('mail', { run: async (_input: unknown) => {} });
const push = (app: App, tx: unknown, options: Record<string, unknown> = {}): ReturnType<App['push']> =>
  app.push(mail, 1 as never, { tx, ...options } as never);

async function rig(t: TestContext): Promise<{ app: App; client: pg.Client }> {
  const app = await openApp(`${url}&schema=t${schemas++}`, { duties: false });
  const client = await adminOf(url);
  t.after(async () => {
    await client.end();
    await app.close();
  });
  return { app, client };
}

test('any object with a query of that form is a client, whatever it makes of numbers', async (t) => {
  const { app, client } = await rig(t);
  const wrapped = {
    query: async (sql: string, values?: unknown[]) => {
      const { rows } = await client.query<Record<string, unknown>>(sql, values);
      // As from drivers that return large integers as bigint.
      const big = (value: unknown): unknown =>
        typeof value === 'string' && /^\d+$/.test(value) ? BigInt(value) : value;
      return { rows: rows.map((row) => Object.fromEntries(Object.entries(row).map(([k, v]) => [k, big(v)]))) };
    },
  };
  await client.query('BEGIN');
  const plain = await push(app, wrapped);
  const keyed = await push(app, wrapped, { unique: 'k', op: 'o' });
  const same = await push(app, wrapped, { unique: 'k' });
  const late = await push(app, wrapped, { delay: '1h' });
  await client.query('COMMIT');
  assert.equal(keyed.id, same.id);
  for (const { id } of [plain, keyed, late]) assert.ok(await app.get(id));
  assert.equal((await app.stats('mail')).ready, 2);
});

test('a client of a pool works, and the pool itself is refused as what is no transaction', async (t) => {
  const { app } = await rig(t);
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  t.after(() => pool.end());
  assert.equal(await refusal(push(app, pool)), 'INVALID_INPUT');
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const { id } = await push(app, client);
    await client.query('COMMIT');
    assert.ok(await app.get(id));
  } finally {
    client.release();
  }
});

test('outside of a transaction, or in one that has failed, it is refused clearly and nothing is left', async (t) => {
  const { app, client } = await rig(t);
  const error = await push(app, client).then(
    () => assert.fail('it was taken'),
    (caught: unknown) => caught,
  );
  assert.ok(isEngineError(error, 'INVALID_INPUT'));
  assert.match(error.message, /not inside a transaction/);
  assert.equal(await refusal(push(app, {})), 'INVALID_INPUT');
  await client.query('BEGIN');
  await assert.rejects(client.query('SELECT 1/0'));
  assert.equal(await refusal(push(app, client)), 'CONFLICT');
  await client.query('ROLLBACK');
  assert.deepEqual(await app.queues(), []);
});

test('a roll-back leaves nothing, not even the queue, and it can be pushed again', async (t) => {
  const { app, client } = await rig(t);
  await client.query('BEGIN');
  const { id } = await push(app, client, { unique: 'k', op: 'o' });
  await client.query('ROLLBACK');
  assert.equal(await app.get(id), undefined);
  assert.deepEqual(await app.queues(), []);
  const again = await app.push(mail, 1 as never, { unique: 'k', op: 'o' });
  assert.ok(await app.get(again.id));
  await client.query('BEGIN');
  assert.equal((await push(app, client, { unique: 'k' })).id, again.id);
  await client.query('COMMIT');
});

test('a key that another open transaction holds is not waited for without end, and the caller goes on', async (t) => {
  const { app, client } = await rig(t);
  await app.push(mail, 0 as never);
  const other = await adminOf(url);
  t.after(() => other.end());
  await other.query('BEGIN');
  await push(app, other, { unique: 'k' });
  await client.query('BEGIN');
  await client.query('CREATE TABLE mine (n int)');
  const started = performance.now();
  const error = await push(app, client, { unique: 'k' }).then(
    () => assert.fail('it was taken'),
    (caught: unknown) => caught,
  );
  const ms = performance.now() - started;
  assert.ok(isEngineError(error, 'STORE_BUSY'), String(error));
  assert.match(error.message, /another transaction that is still open/);
  assert.ok(ms > 4000 && ms < 8000, `it took ${Math.round(ms)} ms`);
  // The savepoint undid the half-done push. The caller's own work and settings are still there.
  assert.equal((await client.query<{ lock_timeout: string }>('SHOW lock_timeout')).rows[0]?.lock_timeout, '0');
  await push(app, client, { unique: 'another' });
  assert.equal((await client.query<{ lock_timeout: string }>('SHOW lock_timeout')).rows[0]?.lock_timeout, '0');
  await client.query('COMMIT');
  await other.query('ROLLBACK');
  assert.equal((await app.stats('mail')).ready, 2);
});

test('a limit of the caller’s own is kept', async (t) => {
  const { app, client } = await rig(t);
  await app.push(mail, 0 as never);
  const other = await adminOf(url);
  t.after(() => other.end());
  await other.query('BEGIN');
  await push(app, other, { unique: 'k' });
  await client.query(`SET lock_timeout = '200ms'`);
  await client.query('BEGIN');
  const started = performance.now();
  assert.equal(await refusal(push(app, client, { unique: 'k' })), 'STORE_BUSY');
  assert.ok(performance.now() - started < 3000);
  assert.equal((await client.query<{ lock_timeout: string }>('SHOW lock_timeout')).rows[0]?.lock_timeout, '200ms');
  await client.query('ROLLBACK');
  await other.query('ROLLBACK');
});

test('two transactions that make the same new queue do not hold each other for ever', async (t) => {
  const { app, client } = await rig(t);
  const other = await adminOf(url);
  t.after(() => other.end());
  await other.query('BEGIN');
  await push(app, other, { queue: 'brand-new' });
  await client.query('BEGIN');
  assert.equal(await refusal(push(app, client, { queue: 'brand-new' })), 'STORE_BUSY');
  await client.query('ROLLBACK');
  await other.query('COMMIT');
  assert.equal((await app.stats('brand-new')).ready, 1);
});
