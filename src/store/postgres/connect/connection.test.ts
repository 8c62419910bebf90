import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freshDatabase } from '../../../../test/support/postgres.ts';
import { realWorld } from '../../../app/world.ts';
import { requireVersion } from '../open.ts';
import { parseAddress } from './address.ts';
import { Connection } from './connection.ts';

const url = await freshDatabase('connection');
const world = realWorld();
const soon = (): number => world.clock.monotonic() + 5000;

test('numbers are numbers and arrays are arrays, whatever their size', async () => {
  const connection = await Connection.open(parseAddress(url).config, world, soon());
  try {
    const sql = `SELECT 281474976710655::int8 AS id, 7::int4 AS n, 12.0::numeric AS sum, '{}'::int8[] AS none,
      '{1,281474976710655}'::int8[] AS ids, '{1,2}'::int4[] AS ns, '{0,-1}'::int2[] AS small, true AS yes, NULL::int8 AS nothing,
      '{"a":1}'::text AS json, 'ü"\\'::text AS text`;
    const expected = {
      id: 281474976710655,
      n: 7,
      sum: 12,
      none: [],
      ids: [1, 281474976710655],
      ns: [1, 2],
      small: [0, -1],
      yes: true,
      nothing: null,
      json: '{"a":1}',
      text: 'ü"\\',
    };
    assert.deepEqual(await connection.all(undefined, sql, []), [expected]);
    assert.deepEqual(await connection.all('named', sql, []), [expected]);
    assert.deepEqual(await connection.rows('named', sql, []), [Object.values(expected)]);
    assert.ok(Number.isInteger(connection.pid));
    assert.deepEqual(await connection.all(undefined, 'SELECT pg_backend_pid() AS pid', []), [{ pid: connection.pid }]);
  } finally {
    await connection.close();
  }
  assert.equal(connection.usable, false);
});

test('to close twice, or what never opened, is harmless', async () => {
  const connection = await Connection.open(parseAddress(url).config, world, soon());
  await Promise.all([connection.close(), connection.close()]);
  await connection.close();
  const nowhere = parseAddress('postgres://x@/y?host=/tmp/there-is-no-such-folder');
  await assert.rejects(Connection.open(nowhere.config, world, soon()), { code: 'ENOENT' });
});

test('a server that is too old is refused with what is needed', async () => {
  const old = { all: async () => [{ server_version_num: '140013', server_version: '14.13' }] } as unknown as Connection;
  await assert.rejects(requireVersion(old, 'db.example/work'), (error: { code?: string; message: string }) => {
    assert.equal(error.code, 'RUNTIME_TOO_OLD');
    assert.match(error.message, /Postgres 14\.13 at db\.example\/work.*Postgres 15 or newer/);
    return true;
  });
  const young = { all: async () => [{ server_version_num: '150000', server_version: '15.0' }] };
  await requireVersion(young as unknown as Connection, 'db.example/work');
});

test('a process that opens, pushes and closes nothing comes to its end', { timeout: 30_000 }, async () => {
  const entry = fileURLToPath(new URL('../../../index.ts', import.meta.url));
  const program = `import { open, task } from ${JSON.stringify(entry)};
    const app = await open(process.argv[1]);
    const mail = task('mail', { run: async () => {} });
    const pushed = await app.push(mail);
    console.log(pushed.id);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, `${url}&schema=child`], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  child.stderr.on('data', (chunk) => (output += String(chunk)));
  const started = performance.now();
  const code = await new Promise((resolve) => void child.once('close', resolve));
  assert.equal(code, 0, output);
  assert.match(output, /^task_/);
  assert.ok(performance.now() - started < 15_000);
});

test('whoever is stopped inside a transaction gives up what it holds before the one who waits for it has to give up', async () => {
  const { config } = parseAddress(url);
  const [stopped, successor] = [
    await Connection.open(config, world, soon()),
    await Connection.open(config, world, soon()),
  ];
  try {
    await successor.raw('CREATE TABLE held (name text); INSERT INTO held VALUES ($$pruner$$)');
    await stopped.raw('BEGIN; SELECT * FROM held FOR UPDATE');
    // The successor waits for the row. Longer than its lock timeout, and it would be refused.
    assert.deepEqual(await successor.all(undefined, 'UPDATE held SET name = $1 RETURNING name', ['mine']), [
      { name: 'mine' },
    ]);
    await assert.rejects(async () => stopped.raw('COMMIT'));
    assert.equal(stopped.usable, false);
  } finally {
    await Promise.all([stopped.close(), successor.close()]);
  }
});

test('a named statement gives the same each time: rows, no rows, no columns, an error, and rows again', async () => {
  const connection = await Connection.open(parseAddress(url).config, world, soon());
  try {
    const some = 'SELECT n, NULLIF(n, 2) AS odd FROM generate_series(1, $1::int) n';
    for (const upTo of [3, 0, 2]) {
      const rows = Array.from({ length: upTo }, (_, i) => [i + 1, i + 1 === 2 ? null : i + 1]);
      assert.deepEqual(await connection.rows('some', some, [upTo]), rows);
      assert.deepEqual(
        await connection.all('some', some, [upTo]),
        rows.map(([n, odd]) => ({ n, odd })),
      );
    }
    await connection.raw('CREATE TEMP TABLE mute (n int)');
    for (const n of [1, 2]) assert.deepEqual(await connection.rows('mute', 'INSERT INTO mute VALUES ($1)', [n]), []);
    const divided = 'SELECT 12 / $1::int AS n';
    for (const by of [3, 0, 4]) {
      if (by === 0) await assert.rejects(connection.rows('divided', divided, [by]), { code: '22012' });
      else assert.deepEqual(await connection.rows('divided', divided, [by]), [[12 / by]]);
    }
    // One that fails before the server has prepared it is prepared again.
    await assert.rejects(connection.rows('late', 'SELECT n FROM not_there', []), { code: '42P01' });
    await connection.raw('CREATE TEMP TABLE not_there AS SELECT 7 AS n');
    assert.deepEqual(await connection.rows('late', 'SELECT n FROM not_there', []), [[7]]);
  } finally {
    await connection.close();
  }
});

test('a value that cannot be sent fails its own statement only', async () => {
  const connection = await Connection.open(parseAddress(url).config, world, soon());
  try {
    const self: { toPostgres?: () => unknown } = {};
    self.toPostgres = () => self;
    await assert.rejects(connection.rows('echo', 'SELECT $1::text AS text', [self]), /circular reference/);
    assert.deepEqual(await connection.rows('echo', 'SELECT $1::text AS text', ['again']), [['again']]);
  } finally {
    await connection.close();
  }
});

test('a named statement that is not answered in time fails, with all behind it, and the session is not used again', async () => {
  const connection = await Connection.open(parseAddress(url).config, world, soon());
  try {
    connection.deadline = world.clock.monotonic() + 60_000;
    assert.deepEqual(await connection.rows('fast', 'SELECT 1 AS n', []), [[1]]);
    connection.deadline = world.clock.monotonic() + 200;
    const slow = connection.rows('slow', 'SELECT pg_sleep(20)', []);
    await assert.rejects(slow, /Query read timeout/);
    assert.equal(connection.usable, false);
    await assert.rejects(connection.rows('fast', 'SELECT 1 AS n', []));
  } finally {
    await connection.close();
  }
});
