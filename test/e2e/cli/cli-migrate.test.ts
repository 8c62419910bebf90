import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { MIGRATIONS, SCHEMA_VERSION } from '../../../src/store/sqlite/upkeep/migrate.ts';
import { ROOT } from '../../support/leasehold.ts';
import { place } from './cli-calls.ts';

const FIRST = join(ROOT, 'src/store/sqlite/migrations/001-kernel.sql');

function makeFirst(file: string): DatabaseSync {
  const db = new DatabaseSync(file);
  db.exec(readFileSync(FIRST, 'utf8'));
  db.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO meta VALUES ('schema', '1'), ('compatible_from', '1')`);
  return db;
}

const schemaOf = (db: DatabaseSync): unknown => db.prepare("SELECT value FROM meta WHERE key = 'schema'").get()?.value;

test('migrate says what would run, runs it, and then has nothing to do', async (t) => {
  const { call, cwd } = place(t);
  const db = makeFirst(join(cwd, 'old.db'));
  t.after(() => db.close());
  const store = ['--store', 'sqlite:old.db'];

  const dry = await call(['migrate', '--dry-run', ...store]);
  assert.equal(dry.code, 0, dry.stderr);
  assert.match(
    dry.stdout,
    new RegExp(
      String.raw`^.*old\.db has schema version 1; this program knows version ${SCHEMA_VERSION}\.\n {2}002-workers {2}compatible from version 1: processes of the version before can go on beside it\n {2}003-scheduling {2}.*\n {2}004-tokens {2}compatible from version 3: processes of the version before can go on beside it\n {2}005-fleet {2}.*\n {2}006-nodes {2}.*\n {2}007-documents {2}.*\n {2}008-insight {2}.*\n {2}009-trees {2}.*\n {2}010-grants {2}.*\n {2}011-token-use {2}.*\n {2}012-browser-sessions {2}.*\n {2}013-worker-names {2}.*\n {2}014-runs {2}.*\n {2}015-budgets {2}.*\n {2}016-worker-pools {2}.*\n {2}017-schedules {2}.*\n {2}018-workflows {2}.*\n {2}019-pools {2}.*\n {2}020-reactions {2}.*\n {2}021-credentials {2}.*\n {2}022-audit {2}.*\n {2}023-tags {2}.*\n {2}024-artifacts {2}.*\nNothing was changed; ${MIGRATIONS.length - 1} to run\.\n$`,
    ),
  );
  assert.equal(schemaOf(db), '1');

  const real = await call(['migrate', '--json', ...store]);
  assert.equal(real.code, 0, real.stderr);
  const [told = {}] = real.objects();
  const [ran] = told.migrations as Record<string, unknown>[];
  assert.deepEqual([told.found, told.known, told.dryRun], [1, SCHEMA_VERSION, false]);
  assert.deepEqual([ran?.version, ran?.name, ran?.oldProcessesGoOn], [2, '002-workers', true]);
  assert.equal(schemaOf(db), String(SCHEMA_VERSION), 'also for whoever had it open');

  assert.match(
    (await call(['migrate', ...store])).stdout,
    new RegExp(String.raw`has schema version ${SCHEMA_VERSION}.*\nNothing to do\.\n$`),
  );
  assert.equal((await call(['push', 'echo', '{}', ...store])).code, 0);
});

test('a newer schema is left alone where this program can work on it, and refused where it cannot', async (t) => {
  const { call, cwd } = place(t);
  assert.equal((await call(['push', 'echo', '{}'])).code, 0);
  const db = new DatabaseSync(join(cwd, '.leasehold/leasehold.db'));
  t.after(() => db.close());
  const next = SCHEMA_VERSION + 1;
  db.exec(`UPDATE meta SET value = '${next}' WHERE key = 'schema'`);
  const newer = await call(['migrate']);
  assert.equal(newer.code, 0, newer.stderr);
  assert.match(
    newer.stdout,
    new RegExp(
      String.raw`version ${next}; this program knows version ${SCHEMA_VERSION}\.\nNothing to do: the store is newer`,
    ),
  );
  db.exec(`UPDATE meta SET value = '${next}' WHERE key = 'compatible_from'`);
  for (const more of [[], ['--dry-run']]) {
    const refused = await call(['migrate', ...more]);
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      new RegExp(
        String.raw`^The store has schema version ${next}, newer than this program understands\.\nUpgrade leasehold`,
      ),
    );
  }
  assert.equal((await call(['backup', 'x.db'])).code, 1);
});

test('migrate makes no store', async (t) => {
  const { call } = place(t);
  const answer = await call(['migrate']);
  assert.equal(answer.code, 3);
  assert.match(answer.stderr, /^There is no store /);
  assert.equal((await call(['migrate', '--store', 'mysql://x/y'])).code, 2);
});
