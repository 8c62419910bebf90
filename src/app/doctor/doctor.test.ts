import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { DUTIES } from '../../engine/duties/roster.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { openNode } from '../node.ts';
import { judgeClock, judgeDuties, judgeSchema, judgeWorkers } from './data.ts';
import { examine, type Finding } from './examine.ts';
import { checkRuntime, judgeFileSystem, judgeLog, judgeSpace } from './host.ts';
import { judgeWrites } from './probe.ts';

const folder = tempFolder('doctor');

async function findings(file: string): Promise<ReadonlyMap<string, Finding>> {
  const all = await Array.fromAsync(examine(`sqlite:${file}`));
  assert.equal(new Set(all.map(({ check }) => check)).size, all.length, 'each check once');
  for (const { verdict, todo } of all)
    assert.equal(todo === undefined, verdict === 'ok', 'what is wrong says what to do');
  return new Map(all.map((finding) => [finding.check, finding]));
}

test('a healthy store passes every check, except that nobody holds the duties', async () => {
  const file = join(folder, 'well.db');
  await (await openNode(`sqlite:${file}`, { duties: false, housekeeping: false })).close();
  const found = await findings(file);
  // These depend on the host that runs the tests.
  const ofMachine = ['permissions', 'file system', 'disk space'];
  const wrong = [...found.values()].filter(({ verdict, check }) => verdict !== 'ok' && !ofMachine.includes(check));
  assert.deepEqual(
    wrong.map(({ check }) => check),
    ['duties'],
  );
  for (const check of ['node', 'sqlite', 'permissions', 'file system', 'disk space', 'store', 'schema', 'integrity']) {
    assert.ok(found.has(check), check);
  }
  for (const check of ['log', 'clock', 'duties', 'leases', 'workers', 'requirements', 'writes'])
    assert.ok(found.has(check), check);
});

test('the examination changes nothing in the store', async () => {
  const file = join(folder, 'same.db');
  await (await openNode(`sqlite:${file}`, { duties: false, housekeeping: false })).close();
  const dump = (): unknown => {
    const db = new DatabaseSync(file, { readOnly: true });
    const rows = db.prepare('SELECT * FROM meta ORDER BY key').all();
    db.close();
    return rows;
  };
  const before = dump();
  await findings(file);
  assert.deepEqual(dump(), before);
});

test('a store that does not exist is a failure, and none is made', async () => {
  const file = join(folder, 'none.db');
  const found = await findings(file);
  assert.equal(found.get('store')?.verdict, 'fail');
  assert.equal(existsSync(file), false);
});

test('a damaged file, and a file of another program, are not taken for a store', async () => {
  const junk = join(folder, 'junk.db');
  writeFileSync(junk, 'this is not a database, and it is long enough to be looked at'.repeat(100));
  assert.equal((await findings(junk)).get('store')?.verdict, 'fail');
  const other = join(folder, 'other.db');
  const db = new DatabaseSync(other);
  db.exec('CREATE TABLE notes (text)');
  db.close();
  assert.match((await findings(other)).get('schema')?.says ?? '', /no store of leasehold/);
});

test('a file that every user may change is reported', async () => {
  const file = join(folder, 'loose.db');
  await (await openNode(`sqlite:${file}`, { duties: false, housekeeping: false })).close();
  chmodSync(file, 0o666);
  const found = (await findings(file)).get('permissions');
  assert.deepEqual([found?.verdict, found?.todo], ['warn', `chmod o-w ${file}`]);
});

test('files that other users may read are reported, in the data folder and a store elsewhere', async () => {
  const data = join(folder, 'data');
  mkdirSync(data);
  chmodSync(data, 0o700);
  const file = join(data, 'leasehold.db');
  await (await openNode(`sqlite:${file}`, { duties: false, housekeeping: false })).close();
  const privacy = async (dataDir?: string): Promise<Finding | undefined> => {
    for await (const finding of examine(`sqlite:${file}`, dataDir)) if (finding.check === 'privacy') return finding;
    return undefined;
  };
  assert.equal((await privacy(data))?.verdict, 'ok');
  writeFileSync(join(data, 'token'), '');
  chmodSync(join(data, 'token'), 0o640);
  chmodSync(data, 0o755);
  assert.equal((await privacy())?.verdict, 'ok');
  const found = await privacy(data);
  assert.deepEqual([found?.verdict, found?.todo], ['warn', `chmod go= ${data} ${join(data, 'token')}`]);
  chmodSync(file, 0o644);
  assert.equal((await privacy())?.todo, `chmod go= ${file}`);
});

test('leases that expired long ago and silent workers are found', async () => {
  const file = join(folder, 'stuck.db');
  const node = await openNode(`sqlite:${file}`, { duties: false, housekeeping: false });
  const worker = await node.engine.workers.register({ name: 'gone', incarnation: 'i', slots: 1 });
  await node.engine.push({ queue: 'q', handler: 'h' });
  await node.engine.claim({ worker, max: 1 });
  await node.close();
  const db = new DatabaseSync(file);
  db.exec('UPDATE task SET lease_until = lease_until - 3600000; UPDATE worker SET beat_at = beat_at - 3600000');
  db.close();
  const found = await findings(file);
  assert.match(found.get('leases')?.says ?? '', /^1 of 1 running tasks/);
  assert.equal(found.get('leases')?.verdict, 'fail');
  assert.match(found.get('workers')?.says ?? '', /1 silent: gone/);
});

test('what ready tasks require and no enabled worker has is found', async () => {
  const file = join(folder, 'unmet.db');
  const node = await openNode(`sqlite:${file}`, { duties: false, housekeeping: false });
  const { workers } = node.engine;
  await workers.register({ name: 'box', incarnation: 'a', slots: 1, tags: ['gpu=nvidia'] });
  await workers.register({ name: 'off', incarnation: 'b', slots: 1, tags: ['tpu'] });
  await workers.set({ name: 'off', enabled: false });
  const push = (placement: object) => node.engine.push({ queue: 'wide', handler: 'h', placement });
  await push({ requires: ['gpu'] });
  const found = async (): Promise<Finding | undefined> => (await findings(file)).get('requirements');
  assert.equal((await found())?.verdict, 'ok');
  await push({ requires: ['tpu'], credentials: ['openai'] });
  assert.equal((await found())?.verdict, 'warn');
  assert.match((await found())?.says ?? '', /credential openai \(queue wide\), tag tpu \(queue wide\)/);
  await node.close();
});

const verdicts = (...all: readonly Finding[]): readonly string[] => all.map(({ verdict }) => verdict);

test('duties are fine when all of them are held now', () => {
  const held = (until: number) => DUTIES.map((name) => ({ name, holder: 'box/7/uuid', until }));
  assert.match(judgeDuties(held(100), 50).says, /all \d+ are held by box pid 7/);
  assert.deepEqual(
    verdicts(
      judgeDuties(held(100), 100),
      judgeDuties(held(100), 101),
      judgeDuties(held(100).slice(1), 50),
      judgeDuties(held(100), undefined),
    ),
    ['ok', 'warn', 'warn', 'warn'],
  );
});

test('a clock that was set is noticed in both directions', () => {
  const wall = 1_000_000;
  assert.deepEqual(
    verdicts(
      judgeClock({ wall, lease: wall + 100, newestEventAt: wall }),
      judgeClock({ wall, lease: undefined, newestEventAt: 0 }),
      judgeClock({ wall, lease: wall - 60_000, newestEventAt: wall }),
      judgeClock({ wall, lease: wall + 60_000, newestEventAt: 0 }),
      judgeClock({ wall, lease: wall, newestEventAt: wall + 60_000 }),
    ),
    ['ok', 'ok', 'warn', 'warn', 'warn'],
  );
});

test('versions, disks, logs, workers and commits have their bounds', () => {
  assert.deepEqual(verdicts(...checkRuntime({ node: '24.0.0', sqlite: '3.51.3' })), ['ok', 'ok']);
  assert.deepEqual(verdicts(...checkRuntime({ node: '22.9.0', sqlite: '3.51.2' })), ['fail', 'fail']);
  assert.deepEqual(
    verdicts(
      judgeSchema(2, 1, 2),
      judgeSchema(1, 1, 2),
      judgeSchema(3, 2, 2),
      judgeSchema(3, 3, 2),
      judgeSchema(0, 0, 2),
    ),
    ['ok', 'warn', 'warn', 'fail', 'fail'],
  );
  assert.deepEqual(
    verdicts(
      ...[0xef53, 0x6969, 0xff534d42, -0xacb2be, 0x65735546, 0x01021994].map((type) => judgeFileSystem(type, 'linux')),
    ),
    ['ok', 'warn', 'warn', 'warn', 'warn', 'warn'],
    'the type is signed on some systems',
  );
  assert.equal(judgeFileSystem(0x6969, 'darwin').verdict, 'ok');
  assert.deepEqual(verdicts(judgeSpace(1e6), judgeSpace(500e6), judgeSpace(5e9)), ['fail', 'warn', 'ok']);
  assert.deepEqual(verdicts(judgeLog(undefined), judgeLog(1e6), judgeLog(1e9)), ['ok', 'ok', 'warn']);
  assert.deepEqual(verdicts(judgeWrites([1, 500, 2, 3, 400]), judgeWrites([200, 200, 200])), ['ok', 'warn']);
  const worker = (state: number, at: number) => ({ name: 'w', state, beat_at: at });
  assert.deepEqual(
    verdicts(
      judgeWorkers([], 0),
      judgeWorkers([worker(1, 70_000)], 90_000),
      judgeWorkers([worker(4, 90_000)], 90_000),
      judgeWorkers([worker(1, 0)], 90_000),
    ),
    ['ok', 'ok', 'warn', 'warn'],
  );
});
