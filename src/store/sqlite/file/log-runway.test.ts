import assert from 'node:assert/strict';
import { copyFileSync, linkSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { tempFolder } from '../../conformance/kit/temp-folder.ts';
import { connect } from './connection.ts';
import { LogRunway } from './log-runway.ts';

const folder = tempFolder('log-runway');
let files = 0;

interface Rig {
  readonly file: string;
  /** One transaction as the writer makes it, so many milliseconds after the last one. */
  readonly commit: (runway: LogRunway, afterMs: number) => void;
  readonly logBytes: () => number;
  readonly usedBytes: () => number;
  /** A runway on this file, or on another one. */
  readonly runwayOn: (path?: string) => LogRunway;
}

function rig(t: TestContext): Rig {
  const file = join(folder, `${files++}.db`);
  const connection = connect(file, 'full');
  t.after(() => connection.db.close());
  connection.db.exec('PRAGMA journal_mode = WAL; CREATE TABLE note (n INTEGER PRIMARY KEY, text TEXT) STRICT');
  let now = 0;
  const runwayOn = (path = file): LogRunway => {
    const runway = new LogRunway(path);
    t.after(() => runway.forget());
    return runway;
  };
  return {
    runwayOn,
    file,
    commit(runway, afterMs) {
      now += afterMs;
      runway.look(now, connection);
      connection.db.exec('BEGIN IMMEDIATE');
      connection.db.prepare('INSERT INTO note (text) VALUES (?)').run('x'.repeat(400));
      runway.lengthen();
      connection.db.exec('COMMIT');
    },
    logBytes: () => statSync(`${file}-wal`).size,
    usedBytes: () => (connection.sql.get('logLength').get() as { log: number }).log * 4120 + 32,
  };
}

test('the log of a busy process is longer than what is written to it', (t) => {
  const { runwayOn, commit, logBytes, usedBytes } = rig(t);
  const runway = runwayOn();
  for (let n = 0; n < 32; n++) commit(runway, 1);
  const prepared = logBytes();
  assert.ok(prepared > usedBytes() + 200_000, `${prepared} bytes, of which ${usedBytes()} are used`);
  // Until little is left of it, commits do not make it longer.
  for (let n = 0; n < 20; n++) commit(runway, 1);
  assert.equal(logBytes(), prepared);
  for (let n = 0; n < 200; n++) commit(runway, 1);
  assert.ok(logBytes() > usedBytes(), 'it stays ahead');
});

test('whoever finds the files after a crash finds every commit, and goes on behind them', (t) => {
  const { runwayOn, commit, file } = rig(t);
  const runway = runwayOn();
  for (let n = 0; n < 100; n++) commit(runway, 1);
  const copy = `${file}-copy`;
  for (const tail of ['', '-wal']) copyFileSync(`${file}${tail}`, `${copy}${tail}`);
  const db = new DatabaseSync(copy);
  t.after(() => db.close());
  assert.equal(db.prepare('SELECT count(*) AS n FROM note').get()?.['n'], 100);
  db.exec("INSERT INTO note (text) VALUES ('later')");
  assert.equal(db.prepare('PRAGMA integrity_check').get()?.['integrity_check'], 'ok');
});

test('a process that commits now and then leaves its log as it is', (t) => {
  const { runwayOn, commit, logBytes, usedBytes } = rig(t);
  const runway = runwayOn();
  for (let n = 0; n < 40; n++) commit(runway, 100);
  assert.equal(logBytes(), usedBytes());
});

test('several processes lengthen one log no more often than one', (t) => {
  const { runwayOn, commit, logBytes, usedBytes } = rig(t);
  const runways = [runwayOn(), runwayOn(), runwayOn()];
  for (let n = 0; n < 200; n++) for (const runway of runways) commit(runway, 1);
  assert.ok(logBytes() < usedBytes() + 2_000_000, `${logBytes()} bytes, of which ${usedBytes()} are used`);
});

test('a log that starts over is not made longer', (t) => {
  const { runwayOn, commit, logBytes, file } = rig(t);
  const runway = runwayOn();
  for (let n = 0; n < 200; n++) commit(runway, 1);
  const other = new DatabaseSync(file);
  t.after(() => other.close());
  other.exec('PRAGMA wal_checkpoint(RESTART)');
  const before = logBytes();
  for (let n = 0; n < 100; n++) commit(runway, 1);
  assert.equal(logBytes(), before);
});

test('a name that leads to another file is left alone', (t) => {
  const { runwayOn, commit } = rig(t);
  const precious = join(folder, 'precious');
  writeFileSync(precious, 'as it was');
  linkSync(precious, join(folder, 'linked.db-wal'));
  symlinkSync(precious, join(folder, 'led.db-wal'));
  for (const name of ['linked.db', 'led.db']) {
    const runway = runwayOn(join(folder, name));
    for (let n = 0; n < 40; n++) commit(runway, 1);
  }
  assert.equal(readFileSync(precious, 'utf8'), 'as it was');
});
