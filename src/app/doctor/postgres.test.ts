import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { openNode } from '../node.ts';
import { examine, type Finding } from './examine.ts';
import {
  judgeArtifacts,
  judgeConnections,
  judgeEvents,
  judgeNotices,
  judgeSettings,
  judgeSkew,
  judgeTransactions,
  judgeVacuum,
} from './postgres.ts';

const url = await freshDatabase('doctor');
const quiet = { duties: false, housekeeping: false } as const;

async function findings(store: string): Promise<ReadonlyMap<string, Finding>> {
  const all = await Array.fromAsync(examine(store));
  assert.equal(new Set(all.map(({ check }) => check)).size, all.length, 'each check once');
  for (const { verdict, todo, check } of all)
    assert.equal(todo === undefined, verdict === 'ok', `${check}: what is wrong says what to do`);
  return new Map(all.map((finding) => [finding.check, finding]));
}

async function ask(sql: string, options: string = url): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: options });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

test('a healthy store passes every check, except that nobody holds the duties', async () => {
  const here = `${url}&schema=well`;
  await (await openNode(here, quiet)).close();
  const found = await findings(here);
  // These depend on the server of the tests, and on who else uses it.
  const ofServer = ['durability', 'transactions', 'connections', 'notices', 'writes'];
  const wrong = [...found.values()].filter(({ verdict, check }) => verdict !== 'ok' && !ofServer.includes(check));
  assert.deepEqual(
    wrong.map(({ check }) => check),
    ['duties'],
  );
  const checks =
    'node store postgres primary durability settings clock connections transactions notices schema rights vacuum events duties leases workers requirements artifacts writes';
  assert.deepEqual([...found.keys()], checks.split(' '));
  assert.deepEqual(await ask("SELECT * FROM well.meta WHERE key = 'probe'"), []);
});

test('a database without tables is a failure, and none are made', async () => {
  const found = await findings(`${url}&schema=none`);
  assert.match(found.get('schema')?.says ?? '', /no tables of leasehold in the schema "none"/);
  assert.deepEqual(await ask("SELECT FROM pg_namespace WHERE nspname = 'none'"), []);
});

test('a server that does not answer is a failure, and the password is not shown', async () => {
  const found = await findings('postgres://me:geheim@127.0.0.1:1/none?password=geheim');
  assert.equal(found.get('store')?.verdict, 'fail');
  assert.doesNotMatch(JSON.stringify([...found]), /geheim/);
});

test('stuck leases, silent workers, events without numbers and a newer schema are found', async () => {
  const here = `${url}&schema=stuck`;
  const node = await openNode(here, quiet);
  const worker = await node.engine.workers.register({ name: 'gone', incarnation: 'i', slots: 1 });
  await node.engine.push({ queue: 'q', handler: 'h' });
  await node.engine.claim({ worker, max: 1 });
  await node.close();
  await ask(`UPDATE stuck.task SET lease_until = lease_until - 3600000; UPDATE stuck.worker SET beat_at = beat_at - 3600000;
    UPDATE stuck.outbox SET at = at - 3600000`);
  const found = await findings(here);
  assert.match(found.get('leases')?.says ?? '', /^1 of 1 running tasks/);
  assert.equal(found.get('leases')?.verdict, 'fail');
  assert.match(found.get('workers')?.says ?? '', /1 silent: gone/);
  assert.match(found.get('events')?.says ?? '', /2 writes wait .* the oldest for 60 min/);
  await ask("UPDATE stuck.meta SET value = '99' WHERE key IN ('schema', 'compatible_from')");
  assert.equal((await findings(here)).get('schema')?.verdict, 'fail');
});

test('a user without rights learns which ones are missing, and a pooler that drops settings is noticed', async () => {
  const here = `${url}&schema=rights`;
  await (await openNode(here, quiet)).close();
  const role = `doctor_${Date.now()}`;
  await ask(
    `CREATE ROLE ${role} LOGIN; GRANT USAGE ON SCHEMA rights TO ${role}; GRANT SELECT ON rights.meta TO ${role}`,
  );
  const theirs = here.replace('leasehold@', `${role}@`);
  const found = await findings(theirs);
  assert.equal(found.get('rights')?.verdict, 'fail');
  assert.match(found.get('rights')?.todo ?? '', new RegExp(`GRANT USAGE ON SCHEMA "rights" TO ${role}`));
  await ask(
    `GRANT ALL ON ALL TABLES IN SCHEMA rights TO ${role}; GRANT ALL ON ALL SEQUENCES IN SCHEMA rights TO ${role}`,
  );
  const working = await findings(`${theirs}&pooler=transaction`);
  assert.equal(working.get('rights')?.verdict, 'warn');
  assert.equal(working.get('settings')?.verdict, 'warn');
  const todo = working.get('settings')?.todo ?? '';
  assert.match(todo, new RegExp(`ALTER ROLE ${role} SET enable_seqscan = 'off';`));
  await ask(todo);
  assert.equal((await findings(`${theirs}&pooler=transaction`)).get('settings')?.verdict, 'ok', 'as it said');
});

test('a long open transaction is named', async () => {
  const here = `${url}&schema=open`;
  await (await openNode(here, quiet)).close();
  const client = new pg.Client({ connectionString: url, application_name: 'a report' });
  await client.connect();
  await client.query('BEGIN');
  await client.query('SELECT pg_sleep(1.1)');
  assert.match((await findings(here)).get('transactions')?.says ?? '', /a report \(idle in transaction\), pid \d+/);
  await client.end();
});

test('figures have their bounds', () => {
  const verdicts = (...all: readonly Finding[]): readonly string[] => all.map(({ verdict }) => verdict);
  const old = (ms: number) => ({ who: 'x', pid: 1, ms });
  assert.deepEqual(
    verdicts(judgeTransactions(undefined), judgeTransactions(old(200_000)), judgeTransactions(old(301_000))),
    ['ok', 'ok', 'warn'],
  );
  assert.match(judgeTransactions(old(301_000)).todo ?? '', /pg_terminate_backend\(1\)/);
  const used = (n: number) => judgeConnections({ used: n, most: 100, ours: 8 });
  assert.deepEqual(verdicts(used(50), used(80), used(95)), ['ok', 'warn', 'fail']);
  assert.deepEqual(verdicts(judgeNotices(0), judgeNotices(0.2), judgeNotices(0.6)), ['ok', 'warn', 'fail']);
  assert.deepEqual(verdicts(judgeSkew(1500, 10), judgeSkew(-5000, 10), judgeSkew(5000, 8000)), ['ok', 'warn', 'ok']);
  const dead = (n: number, live: number) => [{ name: 'task', dead: n, live, ago: null }];
  assert.deepEqual(
    verdicts(judgeVacuum(dead(500_000, 10), true), judgeVacuum(dead(500_000, 1e6), true), judgeVacuum([], false)),
    ['warn', 'ok', 'fail'],
  );
  const waiting = (age: number | null) => judgeEvents({ rows: 7, age });
  assert.deepEqual(verdicts(waiting(null), waiting(500), waiting(60_000)), ['ok', 'ok', 'warn']);
  assert.equal(judgeSettings(new Map([['jit', 'on']]), 'me', false).verdict, 'warn');
});

test('a folder of artifacts is no place for several nodes, and a bucket is', () => {
  assert.equal(judgeArtifacts(undefined, 1).verdict, 'ok');
  assert.equal(judgeArtifacts('s3://bucket/prefix', 3).verdict, 'ok');
  for (const folder of [undefined, '/srv/artifacts', 'file:///srv/artifacts']) {
    const { verdict, says } = judgeArtifacts(folder, 3);
    assert.equal(verdict, 'warn');
    assert.match(says, /3 nodes/);
  }
});
