/**
 * How long writers of other processes stand still while a SQLite file is migrated: `node bench/migrate-sqlite.ts [TASKS]`.
 * Makes a file of schema 1 with that many tasks (a million), lets another process commit all the time, and brings the file
 * to the newest schema, once by `leasehold migrate` and once by opening it.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { realWorld } from '../src/app/world.ts';
import { openSqlite } from '../src/store/sqlite/open.ts';
import { migrateFile } from '../src/store/sqlite/upkeep/migrate-file.ts';

const FIRST = new URL('../src/store/sqlite/migrations/001-kernel.sql', import.meta.url);

function makeFirst(file: string, tasks: number): void {
  const db = new DatabaseSync(file);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF');
  db.exec(readFileSync(FIRST, 'utf8'));
  db.exec(`CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO meta VALUES ('schema', '1'), ('compatible_from', '1');
    INSERT INTO queue (name) VALUES ('mail');
    INSERT INTO lane (queue, handler, hash, used_at) VALUES (1, 'send', 'x', 0);
    INSERT INTO spec (hash, body, used_at) VALUES ('x', '{}', 0)`);
  const add =
    db.prepare(`INSERT INTO task (lane, spec, state, prio, attempt, tries, max_tries, created_at, payload, ended_at,
    result) VALUES (1, 1, ?, 0, ?, ?, 3, 1700000000000, ?, ?, ?)`);
  const payload = JSON.stringify({ to: 'somebody@example.org', subject: 'x'.repeat(120) });
  db.exec('BEGIN');
  for (let i = 0; i < tasks; i++) {
    const done = i % 20 !== 0;
    const ran = done ? 1 : 0;
    add.run(done ? 4 : 0, ran, ran, payload, done ? 1_700_000_001_000 : null, done ? '{"ok":true}' : null);
  }
  db.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
}

/** The other process: one small commit after the other, until it is told to stop; tells the longest of them. */
function write(file: string): void {
  const db = new DatabaseSync(file, { timeout: 60_000 });
  const put = db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('bench', ?)");
  let longestMs = 0;
  let commits = 0;
  let going = true;
  process.once('message', () => {
    going = false;
  });
  const turn = (): void => {
    const startedAt = performance.now();
    put.run(String(commits++));
    longestMs = Math.max(longestMs, performance.now() - startedAt);
    if (commits === 100) {
      longestMs = 0;
      process.send?.('warm');
    }
    if (going) setImmediate(turn);
    else process.send?.({ longestMs, commits }, () => process.disconnect());
  };
  turn();
}

async function measure(name: string, made: string, work: (file: string) => void | Promise<void>): Promise<void> {
  const file = `${made}-${name}`;
  copyFileSync(made, file);
  const writer: ChildProcess = fork(new URL(import.meta.url), ['--write', file]);
  await once(writer, 'message');
  const startedAt = performance.now();
  await work(file);
  const tookMs = performance.now() - startedAt;
  writer.send('stop');
  const ended = once(writer, 'exit');
  const [{ longestMs, commits }] = (await once(writer, 'message')) as [{ longestMs: number; commits: number }];
  await ended;
  console.log(
    `${name}: took ${tookMs.toFixed(0)} ms; a writer stood still for ${longestMs.toFixed(0)} ms at most (${commits} commits)`,
  );
}

async function main(tasks: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-migrate-'));
  try {
    const made = join(folder, 'first.db');
    makeFirst(made, tasks);
    await measure('migrate', made, (file) => migrateFile(file));
    await measure('open', made, async (file) => {
      await (await openSqlite({ file, world: realWorld(), housekeeping: false })).close();
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const [first, second] = process.argv.slice(2);
if (first === '--write') write(second as string);
else await main(Number(first ?? 1_000_000));
