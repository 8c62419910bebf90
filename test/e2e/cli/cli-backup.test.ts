import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { watch } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { realWorld } from '../../../src/app/world.ts';
import { checkBooks, lookAt } from '../../../src/store/conformance/kit/snapshot.ts';
import { openSqlite } from '../../../src/store/sqlite/open.ts';
import { SCHEMA_VERSION } from '../../../src/store/sqlite/upkeep/migrate.ts';
import { BIN, ROOT, type Running, run } from '../../support/leasehold.ts';
import { place, workAt } from './cli-calls.ts';

/** Large enough for its copy to take many steps. */
const BULK = ['push', 'bulk', JSON.stringify({ text: 'x'.repeat(50_000) }), '--count', '600'];

const startNode = async (t: TestContext, cwd: string): Promise<Running> => {
  const up = run(t, ['up', '--port', '0'], { cwd });
  await up.says(/duties: stager, reaper, cron, pruner, auditor/);
  return up;
};

/** Resolves when a file with this in its name appears in the folder. */
async function appears(folder: string, part: string, signal: AbortSignal): Promise<void> {
  for await (const { filename } of watch(folder, { signal })) if (filename?.includes(part)) return;
}

test('a backup made while processes push and work is a whole store, and holds none of them up', async (t) => {
  const { call, cwd, url } = place(t);
  assert.equal((await call(BULK)).code, 0);
  const up = await startNode(t, cwd);
  const { engine } = await workAt(t, url);
  let going = true;
  let pushed = 0;
  const pushing = (async () => {
    for (; going; pushed++) await engine.push({ queue: 'echo', handler: 'echo', input: pushed });
  })();
  const before = pushed;
  const backup = await call(['backup', 'copy.db', '--json']);
  assert.ok(pushed > before + 1, 'pushes went on meanwhile');
  going = false;
  await pushing;
  assert.equal(backup.code, 0, backup.stderr);
  const [told] = backup.objects();
  assert.deepEqual([told?.to, told?.schema], ['copy.db', SCHEMA_VERSION]);
  const follow = await call(['push', 'echo', '{"last":true}', '--priority', '5', '--follow']);
  assert.equal(follow.code, 0, 'the node works on');
  up.child.kill('SIGINT');
  assert.equal((await up.ended).code, 0);

  const store = await openSqlite({ file: join(cwd, 'copy.db'), world: realWorld(), housekeeping: false });
  t.after(() => store.close());
  const snapshot = await lookAt(store);
  checkBooks(snapshot);
  const counted = Object.values(told?.tasks as Record<string, number>).reduce((sum, count) => sum + count, 0);
  assert.equal(snapshot.tasks.length, counted, 'what was told is what is there');
});

test('a store goes back to its backup, and nothing that was handed out since fits it', async (t) => {
  const { call, cwd, url } = place(t);
  const { lines: kept } = await call(['push', 'report', '{"kept":true}']);
  assert.equal((await call(['backup', 'monday.db'])).code, 0);

  const { lines: lost } = await call(['push', 'report', '{"lost":true}']);
  const { engine, worker } = await workAt(t, url);
  const late = await engine.claim({ worker, handlers: ['report'], max: 2 });
  assert.equal(late.length, 2);
  const up = await startNode(t, cwd);
  const refused = await call(['restore', 'monday.db', '--force']);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^The store is busy: a process has it open\.\nStop all nodes, workers and programs/);
  await engine.store.close();
  assert.equal((await call(['restore', 'monday.db', '--force'])).code, 1, 'the node still has it');
  up.child.kill('SIGKILL');
  await up.ended;

  assert.match((await call(['restore', 'monday.db'])).stderr, /there is a store at .*\nSay --force to replace it/);
  const restored = await call(['restore', 'monday.db', '--force']);
  assert.equal(restored.code, 0, restored.stderr);
  assert.match(restored.stdout, /^Restored .*leasehold\.db from monday\.db in .*\nChecked: .* 1 task: 1 ready\.\n/);
  // The note of a node that was killed leads nobody astray: its process is gone.
  const files = ['.gitignore', 'cluster-secret', 'leasehold.db', 'node.json', 'token'];
  assert.deepEqual(readdirSync(join(cwd, '.leasehold')).toSorted(), files);

  assert.equal((await call(['tasks', 'show', kept[0] as string])).code, 0);
  assert.equal((await call(['tasks', 'show', lost[0] as string])).code, 3);
  const { lines: fresh } = await call(['push', 'report', '{"fresh":true}']);
  const again = await workAt(t, url);
  const grants = await again.engine.claim({ worker: again.worker, handlers: ['report'], max: 5 });
  assert.equal(grants.length, 2);
  for (const lease of late) await assert.rejects(again.engine.complete(lease, null), { code: 'LEASE_LOST' });
  for (const lease of grants) await again.engine.complete(lease, null);
  assert.notEqual(fresh[0], lost[0]);
  const listed = await call(['tasks', 'list', '--json']);
  assert.deepEqual(
    listed.objects().map(({ state }) => state),
    ['completed', 'completed'],
  );
});

test('a backup that is killed in the middle leaves nothing under its name, and the next one works', async (t) => {
  const { call, cwd } = place(t);
  assert.equal((await call(BULK)).code, 0);
  const stop = new AbortController();
  t.after(() => stop.abort());
  const partial = appears(cwd, 'copy.db.partial', stop.signal);
  const backup = run(t, ['backup', 'copy.db'], { cwd });
  await Promise.race([partial, backup.ended]);
  backup.child.kill('SIGKILL');
  assert.equal((await backup.ended).signal, 'SIGKILL');
  assert.ok(!existsSync(join(cwd, 'copy.db')));
  const left = readdirSync(cwd).filter((name) => name.includes('.partial-'));
  assert.ok(left.length > 0, 'it was in the middle');
  for (const name of left) rmSync(join(cwd, name));

  const next = await call(['backup', 'copy.db']);
  assert.equal(next.code, 0, next.stderr);
  assert.match(
    next.stdout,
    new RegExp(
      String.raw`^Backed up .*leasehold\.db to copy\.db in .*\nChecked: .* MB, schema ${SCHEMA_VERSION}, 1 queue, 600 tasks: 600 ready\.\n$`,
    ),
  );
  assert.deepEqual(
    readdirSync(cwd).filter((name) => name.startsWith('copy.db')),
    ['copy.db'],
  );
});

test('a backup that is asked to stop takes its traces away', async (t) => {
  const { call, cwd } = place(t);
  assert.equal((await call(BULK)).code, 0);
  const stop = new AbortController();
  t.after(() => stop.abort());
  const partial = appears(cwd, 'copy.db.partial', stop.signal);
  const backup = run(t, ['backup', 'copy.db'], { cwd });
  await Promise.race([partial, backup.ended]);
  backup.child.kill('SIGINT');
  assert.equal((await backup.ended).code, 130, backup.stderr);
  assert.match(backup.stderr, /Stopped; no backup was made\.\n$/);
  assert.deepEqual(readdirSync(cwd), ['.leasehold']);
});

test('a backup of yesterday is put where there is no store, and a node goes on from it', async (t) => {
  const { call, cwd } = place(t);
  assert.equal((await call(['push', 'echo', '{}', '--count', '50'])).code, 0);
  assert.equal((await call(['backup', 'copy.db'])).code, 0);
  const restored = await call(['restore', 'copy.db', '--store', 'sqlite:else/where.db', '--json']);
  assert.equal(restored.code, 0, restored.stderr);
  const [told = {}] = restored.objects();
  assert.ok(Number(told.by) > 1e9);
  assert.equal((told.tasks as { ready: number }).ready, 50);
  const worker = run(t, ['worker', '--store', 'sqlite:else/where.db', '--idle-exit', '100ms'], { cwd });
  assert.equal((await worker.ended).code, 0, worker.stderr);
  const queues = await call(['queues', 'list', '--store', 'sqlite:else/where.db', '--json']);
  assert.equal(queues.objects()[0]?.completed, 50);
});

test('what cannot be done is said, with what to do', async (t) => {
  const { call, cwd } = place(t);
  const says = async (args: readonly string[], code: number, pattern: RegExp): Promise<void> => {
    const answer = await call(args);
    assert.equal(answer.code, code, `${args.join(' ')}: ${answer.stderr}`);
    assert.match(answer.stderr, pattern);
    assert.equal(answer.stdout, '');
  };
  await says(['backup', 'x.db'], 3, /^There is no store .*leasehold\.db\./);
  await says(['backup'], 2, /needs TO/);
  await says(['backup', 'x.db', '--forse'], 2, /Did you mean --force\?/);
  await says(['restore', 'x.db'], 3, /^There is no backup .*x\.db\./);
  await says(['backup', 'x.db', '--store', 'memory:'], 2, /a store in memory belongs to one process/);
  await says(['backup', 'x.db', '--store', 'redis://x'], 2, /no store is called redis:/);
  const postgres = ['--store', 'postgres://me:secret@db/work'];
  await says(
    ['backup', 'x.dump', ...postgres],
    2,
    /\npg_dump --format=custom --schema=leasehold --file=x\.dump postgres:\/\/me@db\/work\n/,
  );
  await says(['restore', 'x.dump', ...postgres], 2, /\npg_restore .*--dbname=postgres:\/\/me@db\/work x\.dump\n/);
  new DatabaseSync(join(cwd, 'other.db')).exec('CREATE TABLE t (x)');
  await says(['backup', 'x.db', '--store', 'sqlite:other.db'], 2, /it is no store of leasehold/);
  const json = await call(['restore', 'other.db', '--json']);
  assert.equal((JSON.parse(json.stderr) as { error: { code: string } }).error.code, 'INVALID_INPUT');
  assert.deepEqual(readdirSync(cwd).toSorted(), ['.leasehold', 'other.db']);
});

test('the commands of the guide run as they stand', async (t) => {
  const { cwd } = place(t);
  const page = readFileSync(join(ROOT, 'docs/guides/backup-and-upgrade.md'), 'utf8');
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map((found) => found[1]);
  assert.equal(blocks.length, 4);
  const npx = `set -e\nnpx() { shift; '${process.execPath}' '${BIN}' "$@"; }\n`;
  const shell = run(t, ['-c', npx + blocks.join('')], { cwd, command: 'sh' });
  assert.equal((await shell.ended).code, 0, shell.stdout + shell.stderr);
  assert.match(shell.stdout, /Restored .*rehearsal\.db from monday\.db/);
});
