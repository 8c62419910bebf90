import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { isEngineError } from '../../../core/errors.ts';
import { type Address, behindPooler, parseAddress } from './address.ts';

/** What the driver reads from it. */
function driver({ config }: Address): { readonly host: string; readonly port: number; readonly database: string } & {
  readonly user: string;
  readonly password: string | null;
} {
  const { host, port, database, user, password } = new pg.Client(config) as unknown as ReturnType<typeof driver>;
  return { host, port, database, user, password };
}

test('what is ours is taken out of the URL, and the rest reaches the driver', () => {
  const address = parseAddress('postgres://me:s%40cret@db.example:6000/work?schema=jobs&pool=9&connect_timeout=3');
  assert.deepEqual(
    [address.schema, address.pool, address.pooled, address.asked, address.name],
    ['"jobs"', 9, false, false, 'db.example:6000/work'],
  );
  assert.deepEqual(driver(address), {
    host: 'db.example',
    port: 6000,
    database: 'work',
    user: 'me',
    password: 's@cret',
  });
  assert.equal(address.config.connectionString, 'postgres://me:s%40cret@db.example:6000/work?connect_timeout=3');
  assert.equal(address.config.application_name, 'leasehold');
});

test('without parameters there are defaults', () => {
  const { schema, pool, pooled, name } = parseAddress('postgresql://db/work');
  assert.deepEqual([schema, pool, pooled, name], ['"leasehold"', 6, false, 'db/work']);
});

test('a socket is an address too', () => {
  for (const url of ['postgres://me@/work?host=%2Ftmp%2Fpg&schema=a', 'postgres:///work?host=/tmp/pg&user=me']) {
    const address = parseAddress(url);
    assert.deepEqual([driver(address).host, driver(address).database, driver(address).user], ['/tmp/pg', 'work', 'me']);
    assert.equal(address.name, '/tmp/pg/work');
  }
  assert.equal(driver(parseAddress('postgres://me:secret@%2Ftmp%2Fpg/work')).host, '/tmp/pg');
});

test('settings of ours stand behind those of the URL; behind a pooler there are none of ours', () => {
  const ours = /-c enable_seqscan=off .*-c lock_timeout=4s$/;
  assert.match(parseAddress('postgres://db/work').config.options as string, ours);
  const both = parseAddress('postgres://db/work?options=-c%20work_mem%3D8MB');
  assert.match(both.config.options as string, /^-c work_mem=8MB -c enable_seqscan=off/);
  assert.ok(!(both.config.connectionString as string).includes('options'));
  assert.equal(behindPooler(both).config.options, '-c work_mem=8MB');
  const plain = behindPooler(parseAddress('postgres://db/work'));
  assert.deepEqual([plain.pooled, 'options' in plain.config], [true, false]);
  const told = parseAddress('postgres://db/work?pooler=transaction');
  assert.deepEqual([told.pooled, told.asked, 'options' in told.config], [true, true, false]);
  assert.deepEqual(
    [parseAddress('postgres://db/work?pooler=none').pooled, parseAddress('postgres://db/work?pooler=none').asked],
    [false, true],
  );
});

test('what is wrong is said, and no password with it', () => {
  const cases = [
    ['postgres://me:hunter2@db:port/work', /not a URL/],
    ['postgres://me:hunter2@db/work?schema=Bad', /schema "Bad" is not a plain name/],
    ['postgres://me:hunter2@db/work?schema=a"b', /not a plain name/],
    ['postgres://me:hunter2@db/work?schema=a;drop', /not a plain name/],
    [`postgres://me:hunter2@db/work?schema=${'x'.repeat(52)}`, /not a plain name/],
    ['postgres://me:hunter2@db/work?schema=', /not a plain name/],
    ['postgres://me:hunter2@db/work?schema=pg_jobs', /the database's own/],
    ['postgres://me:hunter2@db/work?schema=information_schema', /the database's own/],
    ['postgres://me:hunter2@db/work?pool=0', /pool is not a number from 1 to 1000/],
    ['postgres://me:hunter2@db/work?pool=2.5', /pool is not/],
    ['postgres://me:hunter2@db/work?pool=many', /pool is not/],
    ['postgres://me:hunter2@db/work?pooler=session', /neither "none" nor "transaction"/],
  ] as const;
  for (const [url, message] of cases) {
    assert.throws(
      () => parseAddress(url),
      (error) => {
        assert.ok(isEngineError(error, 'INVALID_INPUT'), url);
        assert.match(error.message, message);
        assert.ok(!JSON.stringify([error, error.stack]).includes('hunter2'), url);
        return true;
      },
    );
  }
  for (const url of ['postgres://me:hunter2@db/work', 'postgres:///work?host=/tmp&user=me&password=hunter2']) {
    assert.ok(!parseAddress(url).name.includes('hunter2'));
  }
});
