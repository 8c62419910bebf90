import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { freshDatabase } from '../../../../test/support/postgres.ts';
import { realWorld } from '../../../app/world.ts';
import { isEngineError } from '../../../core/errors.ts';
import { refusal } from '../../conformance/kit/scene.ts';
import { parseAddress } from '../connect/address.ts';
import { Connection } from '../connect/connection.ts';
import { openPostgres } from '../open.ts';
import type { Fill } from './fill-trees.ts';
import {
  MIGRATIONS,
  type MigrateOptions,
  migrate,
  type PostgresMigration,
  SCHEMA_VERSION,
  schemaStatus,
} from './migrate.ts';
import { migrateDatabase, readSchema } from './migrate-database.ts';

const world = realWorld();
const url = await freshDatabase('migrate');
let schemas = 0;

/** A schema of its own in the one database. */
function place(): { readonly url: string; readonly schema: string; readonly connect: () => Promise<Connection> } {
  const name = `m${schemas++}`;
  const address = `${url}&schema=${name}`;
  const { config, schema } = parseAddress(address);
  return { url: address, schema, connect: () => Connection.open(config, world, world.clock.monotonic() + 10_000) };
}

/** Runs migrations that no release has, through the real runner. */
async function run(
  { schema, connect }: ReturnType<typeof place>,
  texts: readonly (readonly [text: string, more?: Partial<PostgresMigration>])[],
  options: Partial<MigrateOptions> = {},
): Promise<readonly number[]> {
  const own = texts.map(([, more], i) => {
    return { version: SCHEMA_VERSION + 1 + i, file: `${i}`, compatibleFrom: 1, ...more };
  });
  const connection = await connect();
  const ran: number[] = [];
  try {
    await migrate({
      connection,
      connect,
      schema,
      migrations: [...MIGRATIONS, ...own],
      ...(texts.length === 0 ? {} : { read: ({ file }) => texts[Number(file)]?.[0] ?? '' }),
      pause: wait,
      onRan: ({ version }) => ran.push(version),
      ...options,
    });
    return ran;
  } finally {
    await connection.close();
  }
}

async function ask<T>({ connect }: ReturnType<typeof place>, sql: string): Promise<readonly T[]> {
  const connection = await connect();
  try {
    return await connection.all<T>(undefined, sql, []);
  } finally {
    await connection.close();
  }
}

test('of five that migrate an empty database at once one does it, and the others find it done', async () => {
  const here = place();
  const ran: number[] = [];
  await Promise.all(
    Array.from({ length: 5 }, () => migrateDatabase(here.url, world, ({ version }) => ran.push(version))),
  );
  assert.deepEqual(
    ran,
    MIGRATIONS.map(({ version }) => version),
  );
  assert.equal((await readSchema(here.url, world)).version, SCHEMA_VERSION);
  const stores = await Promise.all(Array.from({ length: 5 }, () => openPostgres({ url: here.url, world, pool: 1 })));
  assert.equal(new Set(stores.map(({ clusterKey }) => clusterKey)).size, 1);
  await Promise.all(stores.map((store) => store.close()));
});

test('reading the version of a schema makes none', async () => {
  const here = place();
  assert.deepEqual(await readSchema(here.url, world), { version: 0, compatibleFrom: 0 });
  const found = await ask(here, `SELECT FROM pg_namespace WHERE nspname = '${here.schema.slice(1, -1)}'`);
  assert.deepEqual(found, []);
});

test('a schema that has left this program behind is refused, one that has not is opened', async () => {
  const here = place();
  await migrateDatabase(here.url, world);
  await ask(here, `UPDATE ${here.schema}.meta SET value = '99' WHERE key = 'schema'`);
  await (await openPostgres({ url: here.url, world })).close();
  await migrateDatabase(here.url, world, () => assert.fail('there is nothing to run'));
  await ask(here, `UPDATE ${here.schema}.meta SET value = '99' WHERE key = 'compatible_from'`);
  assert.equal(await refusal(openPostgres({ url: here.url, world })), 'SCHEMA_TOO_NEW');
  assert.equal(await refusal(migrateDatabase(here.url, world)), 'SCHEMA_TOO_NEW');
});

test('a migration that fails leaves nothing of itself, and the version as it was', async () => {
  const here = place();
  await migrateDatabase(here.url, world);
  await assert.rejects(run(here, [['CREATE TABLE extra (x int); SELECT 1 / 0']]));
  assert.equal((await readSchema(here.url, world)).version, SCHEMA_VERSION);
  assert.deepEqual(await ask(here, `SELECT to_regclass('${here.schema}.extra') AS extra`), [{ extra: null }]);
});

test('a table of another program in the way is told as such', async () => {
  const here = place();
  await ask(here, `CREATE SCHEMA ${here.schema}`);
  await ask(here, `CREATE TABLE ${here.schema}.task (mine int)`);
  await assert.rejects(migrateDatabase(here.url, world), (error) => {
    assert.ok(isEngineError(error, 'CONFLICT'), String(error));
    assert.match(error.hint ?? '', /\?schema=NAME/);
    return true;
  });
});

test('one who may not make schemas migrates one that was made for it', async () => {
  const here = place();
  const role = `r${here.schema.slice(1, -1)}_${Date.now()}`;
  await ask(here, `CREATE ROLE ${role}`);
  await ask(here, `CREATE SCHEMA ${here.schema} AUTHORIZATION ${role}`);
  const connect = async (): Promise<Connection> => {
    const connection = await here.connect();
    await connection.raw(`SET ROLE ${role}`);
    return connection;
  };
  assert.equal((await run({ ...here, connect }, [])).length, MIGRATIONS.length);
});

const INDEX = 'CREATE INDEX CONCURRENTLY IF NOT EXISTS extra ON {schema}.task (created_at);';
const isValid = async (here: ReturnType<typeof place>): Promise<readonly unknown[]> => {
  const sql = `SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass('${here.schema}.extra')`;
  return (await ask<{ valid: boolean }>(here, sql)).map(({ valid }) => valid);
};

test('an index that was left invalid is made anew, and the version is written when it is there', async () => {
  const here = place();
  await migrateDatabase(here.url, world);
  await ask(here, `CREATE INDEX extra ON ${here.schema}.task (created_at)`);
  await ask(here, `UPDATE pg_index SET indisvalid = false WHERE indexrelid = '${here.schema}.extra'::regclass`);
  assert.deepEqual(await run(here, [[`-- ; a word about it\n${INDEX}`, { apart: true }]]), [SCHEMA_VERSION + 1]);
  assert.deepEqual(await isValid(here), [true]);
});

test('an index that cannot be made leaves none behind that all would have to keep up', async () => {
  const here = place();
  await (await openPostgres({ url: here.url, world })).close();
  await ask(
    here,
    `INSERT INTO ${here.schema}.task (created_at, queue, lane, spec, state, prio, max_tries)
      SELECT 1, 1, 1, 1, 0, 0, 1 FROM generate_series(1, 2)`,
  );
  await assert.rejects(run(here, [[INDEX.replace('INDEX', 'UNIQUE INDEX'), { apart: true }]]), { code: '23505' });
  assert.deepEqual(await isValid(here), []);
  assert.equal((await readSchema(here.url, world)).version, SCHEMA_VERSION);
});

test('of five that make an index apart at once one does it', async () => {
  const here = place();
  await migrateDatabase(here.url, world);
  await ask(
    here,
    `INSERT INTO ${here.schema}.task (created_at, queue, lane, spec, state, prio, max_tries)
      SELECT 1, 1, 1, 1, 3, 0, 1 FROM generate_series(1, 20000)`,
  );
  const all = await Promise.all(Array.from({ length: 5 }, () => run(here, [[INDEX, { apart: true }]])));
  assert.deepEqual(all.flat(), [SCHEMA_VERSION + 1]);
  assert.deepEqual(await isValid(here), [true]);
});

test('whoever cannot have its locks gives up in the end, and says why', async () => {
  const here = place();
  await migrateDatabase(here.url, world);
  const reader = await here.connect();
  await reader.raw('SET idle_in_transaction_session_timeout = 0; BEGIN');
  await reader.raw(`SELECT FROM ${here.schema}.task`);
  await assert.rejects(run(here, [['ALTER TABLE task ADD COLUMN extra int']], { tries: 3 }), (error) => {
    assert.ok(isEngineError(error, 'STORE_BUSY'), String(error));
    return /did not get its locks/.test(error.message);
  });
  await reader.close();
  assert.deepEqual(await run(here, [['ALTER TABLE task ADD COLUMN extra int']]), [SCHEMA_VERSION + 1]);
});

for (const { what, version: newest, tables } of [
  { what: 'the tokens', version: 3, tables: ['entry_token'] },
  { what: 'the nodes', version: 5, tables: ['cluster_node'] },
  { what: 'the documents', version: 6, tables: ['task_document'] },
  { what: 'the saved views and the schemas of handlers', version: 7, tables: ['saved_view', 'handler_schema'] },
  { what: 'the sessions of browsers', version: 14, tables: ['browser_session'] },
  { what: 'the names of workers', version: 15, tables: ['worker_name'] },
  { what: 'runs and definitions', version: 16, tables: ['definition', 'run'] },
  { what: 'schedules', version: 19, tables: ['trigger_def', 'trigger_fire'] },
  { what: 'workflows', version: 20, tables: ['trigger_def', 'workflow', 'workflow_version'] },
  { what: 'credentials', version: 23, tables: ['credential', 'credential_holding', 'credential_signer'] },
  { what: 'the audit', version: 24, tables: ['audit_entry'] },
  { what: 'tags', version: 25, tables: ['tag'] },
  { what: 'artifacts', version: 26, tables: ['artifact', 'artifact_room'] },
])
  test(`${what} only add to what a program of the version before works on`, async () => {
    const here = place();
    const connection = await here.connect();
    const options = { connection, connect: here.connect, schema: here.schema, pause: wait };
    const look = async (): Promise<readonly string[]> => {
      const space = `relnamespace = '${here.schema}'::regnamespace`;
      const columns = `SELECT relname || '.' || attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull || ' '
        || coalesce(pg_get_expr(adbin, adrelid), '') AS text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
      LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE attnum > 0 AND ${space}`;
      const indexes = `SELECT pg_get_indexdef(oid) AS text FROM pg_class WHERE relkind = 'i' AND ${space}`;
      const rows = await connection.all<{ text: string }>(undefined, `${columns} UNION ALL ${indexes}`, []);
      return rows.map(({ text }) => text);
    };
    await migrate({ ...options, migrations: MIGRATIONS.filter(({ version }) => version < newest) });
    const before = await look();
    await migrate({ ...options, migrations: MIGRATIONS.filter(({ version }) => version <= newest) });
    const after = await look();
    await connection.close();
    assert.deepEqual(new Set(before).difference(new Set(after)), new Set());
    const added = [...new Set(after).difference(new Set(before))];
    assert.ok(
      added.length > 0 && added.every((text) => tables.some((table) => text.includes(table))),
      added.join('\n'),
    );
    assert.equal(
      MIGRATIONS.find(({ version }) => version === newest)?.compatibleFrom,
      newest < 4 ? 2 : newest < 10 ? 4 : newest < 17 ? 10 : 17,
    );
  });

const BEFORE_TREES = MIGRATIONS.filter(({ version }) => version < 8);
const DAY = 24 * 3_600_000;

/** Tasks numbered from 1. Those in `done` have ended, on the first day or on one without a table. */
async function oldStore(
  here: ReturnType<typeof place>,
  tasks: number,
  done: readonly number[],
  checkpoints: readonly (readonly [task: number, key: string, value: string])[],
): Promise<void> {
  const connection = await here.connect();
  await migrate({ ...here, connection, pause: wait, migrations: BEFORE_TREES });
  const own = (table: string): string => `${here.schema}.${table}`;
  await connection.raw(
    `CREATE TABLE ${own('done_19700101')} PARTITION OF ${own('done')} FOR VALUES FROM (0) TO (${DAY})`,
  );
  await connection.raw(`INSERT INTO ${own('queue')} (name) VALUES ('q')`);
  await connection.raw(`INSERT INTO ${own('lane')} (queue, handler, hash, used_at) VALUES (1, 'h', 'x', 0)`);
  await connection.raw(`INSERT INTO ${own('task')} (id, created_at, queue, lane, spec, state, prio, max_tries, flags)
    SELECT i, 1000 + i, 1, 1, 1, 0, 0, 1, 2 FROM generate_series(1, ${tasks}) i WHERE i <> ALL ('{${done.join()}}')`);
  await connection.raw(`INSERT INTO ${own('done')} (id, created_at, ended_at, queue, lane, spec, attempt, state, reason, prio, tries,
      max_tries, bounces, flags)
    SELECT i, 1000 + i, i % 2 * ${2 * DAY}, 1, 1, 1, 1, 4, 0, 0, 1, 1, 0, 2 FROM unnest('{${done.join()}}'::bigint[]) i`);
  for (const [task, key, value] of checkpoints) {
    const sql = `INSERT INTO ${own('checkpoint')} (task, key, attempt, value, at) VALUES ($1, $2, 1, $3, 7)`;
    await connection.all(undefined, sql, [task, key, value]);
  }
  await connection.close();
}

const spawned = (task: number): string => JSON.stringify({ id: `id-${task}`, task });

test('kinship that only checkpoints told of is written to the tasks, and these become entries of journals', async () => {
  const here = place();
  // 1 is the parent of 2 and 3, 3 of 4 and 5. 2, 5 and 6 have ended.
  await oldStore(
    here,
    7,
    [2, 5, 6],
    [
      [1, 'spawn:a#1', spawned(2)],
      [1, 'spawn:b#1', spawned(3)],
      [3, 'spawn:a#1', spawned(4)],
      [3, 'spawn:b#1', spawned(5)],
      [3, 'spawn:gone#1', spawned(4711)],
      // A task is no child of a younger one. If two entries name one child, the first counts. An entry without a child
      // is a value.
      [7, 'spawn:a#1', spawned(6)],
      [6, 'spawn:a#1', spawned(5)],
      [6, 'spawn:b#1', '"not a child"'],
      [6, 'spawn:c#1', 'no json'],
      [6, 'spawner', '1'],
      [4, 'wait:w#1', '{"outcome":"woken"}'],
      [4, 'step#1', '1'],
      [4, 'step#2!', '1'],
      [4, 'list#1[0]', '1'],
      [4, 'list#1[12]', '1'],
      [4, 'list#1[x]', '1'],
    ],
  );
  const store = await openPostgres({ url: here.url, world, pool: 1 });
  const records = await store.taskGet({ tasks: [1, 2, 3, 4, 5, 6, 7] });
  assert.deepEqual(
    records.map((record) => [record?.parent, record?.root]),
    [
      [undefined, undefined],
      [1, 1],
      [1, 1],
      [3, 1],
      [3, 1],
      [undefined, undefined],
      [undefined, undefined],
    ],
  );
  assert.deepEqual(
    (await store.treeList({ root: 1, after: 0, limit: 10 })).map(({ task }) => task),
    [2, 3, 4, 5],
  );
  const entries = async (task: number) =>
    (await store.journalList({ task })).map(({ key, kind, ref, value, at }) => [key, kind, ref, value, at]);
  assert.deepEqual(await entries(3), [
    ['spawn:a#1', 'child', 4, '1004', 7],
    ['spawn:b#1', 'child', 5, '1005', 7],
    ['spawn:gone#1', 'child', 4711, '0', 7],
  ]);
  assert.deepEqual(await entries(7), [['spawn:a#1', 'value', undefined, spawned(6), 7]]);
  assert.deepEqual(
    (await store.journalList({ task: 6 })).map(({ kind }) => kind),
    ['value', 'value', 'value', 'value'],
  );
  assert.deepEqual(
    (await store.journalList({ task: 4 })).map(({ key, kind }) => `${kind} ${key}`),
    ['element list#1[0]', 'element list#1[12]', 'value list#1[x]', 'value step#1', 'mark step#2!', 'wait wait:w#1'],
  );
  const flags = await ask<{ id: number; flags: number }>(
    here,
    `SELECT id, flags FROM ${here.schema}.task UNION ALL SELECT id, flags FROM ${here.schema}.done ORDER BY id`,
  );
  assert.deepEqual(
    flags.filter((row) => row.flags !== 2),
    [{ id: 1, flags: 130 }],
    'of all only the root has members',
  );
  await store.close();
});

test('kinship is written a page at a time, also of a chain that goes over many, and what was cut off is begun anew', async () => {
  const here = place();
  const tasks = 2300;
  const chain = Array.from({ length: tasks - 1 }, (_, i) => [i + 1, 'spawn:next#1', spawned(i + 2)] as const);
  await oldStore(
    here,
    tasks,
    chain.filter((_, i) => i % 3 === 0).map(([task]) => task),
    chain,
  );
  const connection = await here.connect();
  const cut = MIGRATIONS.map((one) => {
    return one.fill === undefined
      ? one
      : {
          ...one,
          fill: (params: Parameters<NonNullable<typeof one.fill>>[0]) => cutAfter(1, one.fill as Fill, params),
        };
  });
  await assert.rejects(migrate({ ...here, connection, pause: wait, migrations: cut }), /cut off/);
  await connection.close();
  const filled = `SELECT count(*) AS n FROM (SELECT root FROM ${here.schema}.task UNION ALL SELECT root FROM ${here.schema}.done) t
    WHERE root = 1`;
  assert.deepEqual(await ask(here, filled), [{ n: 1000 }], 'what was committed stays');
  await migrateDatabase(here.url, world);
  assert.deepEqual(await ask(here, filled), [{ n: tasks - 1 }]);
});

/** Lets this many pages through, after the indexes of the two existing partitions were attached. */
function cutAfter(pages: number, fill: Fill, params: Parameters<Fill>[0]): Promise<void> {
  let left = pages + 3;
  return fill({
    ...params,
    brief: (work) => (--left > 0 ? params.brief(work) : Promise.reject(new Error('cut off'))),
  });
}

test('the index of members is there for every day, and for those that come', async () => {
  const here = place();
  await oldStore(here, 3, [1, 2, 3], []);
  const store = await openPostgres({ url: here.url, world, pool: 1 });
  const duty = await store.dutyTake({ name: 'pruner', holder: 'x', ttlMs: 10_000 });
  assert.ok(duty);
  await store.taskPrune({ duty, retentionMs: 100_000 * DAY, limit: 1 });
  await store.close();
  const rows = await ask<{ table: string; indexed: boolean }>(
    here,
    `SELECT i.inhrelid::regclass::text AS table, EXISTS (SELECT FROM pg_index x JOIN pg_inherits h ON h.inhrelid = x.indexrelid
        WHERE x.indrelid = i.inhrelid AND x.indisvalid AND h.inhparent = '${here.schema}.done_root'::regclass) AS indexed
      FROM pg_inherits i WHERE i.inhparent = '${here.schema}.done'::regclass`,
  );
  assert.equal(rows.length, 5, 'the rest, the day that was there, and three that were made');
  assert.ok(rows.every(({ indexed }) => indexed));
  const whole = `SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = '${here.schema}.done_root'::regclass`;
  assert.deepEqual(await ask(here, whole), [{ valid: true }]);
});

test('a store that was open when a column came goes on with what it had prepared', async () => {
  const here = place();
  const store = await openPostgres({ url: here.url, world, pool: 1 });
  await store.workerRegister({ name: 'w', incarnation: 'i', slots: 1, tags: [] });
  assert.equal((await store.workerList()).length, 1);
  await run(here, [['ALTER TABLE worker ADD COLUMN extra int; ALTER TABLE trigger_def ADD COLUMN extra int']]);
  assert.equal((await store.workerList()).length, 1);
  assert.deepEqual(await store.triggerList(), []);
  await store.close();
  const connection = await here.connect();
  assert.equal((await schemaStatus(connection, here.schema)).version, SCHEMA_VERSION + 1);
  await connection.close();
  // A program of the version before, which is compatible.
  const old = await openPostgres({ url: here.url, world, pool: 1 });
  assert.equal((await old.workerList()).length, 1);
  await old.close();
});
