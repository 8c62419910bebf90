import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LogEntry } from '../../core/task/log.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { findLeftovers } from './leftovers.ts';
import { isAlive, ownerHere } from './owner.ts';
import { type EndRequest, Spool } from './spool.ts';

const FOLDER = tempFolder('spool');
let folders = 0;
const aFolder = (): string => join(FOLDER, String(++folders));
const WHO = { url: 'http://node', name: 'box' };
const HEIR = ownerHere({ ...WHO, incarnation: 'heir' });

const proof = (task: number) => ({ task, attempt: 1, token: `t${task}` });
const complete = (task: number, result = '1'): EndRequest => ({ type: 'task_complete', lease: proof(task), result });
const lines = (...texts: string[]): LogEntry[] =>
  texts.map((text, i) => ({ seq: i + 1, at: 5, stream: 'stdout', text }));

function spoolIn(folder: string, more: Partial<ConstructorParameters<typeof Spool>[0]> = {}) {
  const warnings: string[] = [];
  const log = {
    warn: (message: string, fields: unknown) => void warnings.push(`${message} ${JSON.stringify(fields)}`),
  };
  return { spool: new Spool({ folder, owner: { ...WHO, incarnation: 'one' }, log, ...more }), warnings };
}

const left = (folder: string) =>
  findLeftovers(folder, HEIR, Date.now()).flatMap(({ leftovers }) =>
    leftovers.map(({ lease, logs, ends }) => ({
      task: lease.task,
      logs: logs().map((batch) => batch.map(({ text }) => text)),
      ends: ends.map(({ end, id }) => `${id} ${end.type}`),
    })),
  );

test('what is owed is found by the next process with its log, and nothing of what was heard', () => {
  const folder = aFolder();
  const { spool, warnings } = spoolIn(folder);
  spool.put(complete(1), 'task_1', false);
  spool.put({ type: 'keep', lease: proof(2), result: '1' }, 'task_2', false);
  spool.put(complete(2), 'task_2', true);
  spool.put(complete(3), 'task_3', false);
  assert.equal(spool.spill(proof(2), lines('a', 'b')), true);
  spool.spill(proof(2), lines('c'));
  spool.spill(proof(4), lines('of one that runs'));
  spool.spill(proof(5), lines('stored'));
  spool.dropLog(proof(5));
  spool.drop(complete(1));
  assert.equal(spool.unacknowledged, 3);
  // As after kill -9: nobody has closed anything.
  const expected = [
    { task: 2, logs: [['a', 'b'], ['c']], ends: ['task_2 keep', 'task_2 task_complete'] },
    { task: 3, logs: [], ends: ['task_3 task_complete'] },
    { task: 4, logs: [['of one that runs']], ends: [] },
  ];
  const byTask = () => left(folder).toSorted((a, b) => a.task - b.task);
  assert.deepEqual(byTask(), expected);
  spool.close();
  assert.deepEqual(byTask(), expected, 'nor does an end in order take anything away');
  assert.deepEqual(warnings, []);
});

test('what was heard leaves nothing behind, and nobody else can read what is owed', () => {
  const folder = aFolder();
  const { spool } = spoolIn(folder);
  spool.close();
  assert.equal(statSync(folder, { throwIfNoEntry: false }), undefined);
  const { spool: again } = spoolIn(folder);
  again.put(complete(1), 'task_1', false);
  again.spill(proof(1), lines('a'));
  assert.equal(statSync(again.path).mode & 0o777, 0o700);
  for (const file of readdirSync(again.path)) assert.equal(statSync(join(again.path, file)).mode & 0o777, 0o600, file);
  again.drop(complete(1));
  again.dropLog(proof(1));
  again.close();
  assert.equal(statSync(folder, { throwIfNoEntry: false }), undefined);
});

test('half a line at the end, where its process was killed, costs nothing of what stands before it', () => {
  const folder = aFolder();
  const { spool } = spoolIn(folder);
  spool.put(complete(1), 'task_1', false);
  spool.spill(proof(1), lines('a'));
  writeFileSync(join(spool.path, 'ends'), '{"end":{"type":"task_com', { flag: 'a' });
  writeFileSync(join(spool.path, 'log-1-1'), '[{"seq":2', { flag: 'a' });
  assert.deepEqual(left(folder), [{ task: 1, logs: [['a']], ends: ['task_1 task_complete'] }]);
});

test('logs beyond the bound are not taken, and are again when some were stored', () => {
  const { spool, warnings } = spoolIn(aFolder(), { maxLogBytes: 1000 });
  const text = 'x'.repeat(400);
  let taken = 0;
  while (spool.spill(proof(1), lines(text))) taken++;
  assert.ok(taken >= 1 && taken <= 3, `${taken}`);
  assert.equal(spool.spill(proof(2), lines(text)), false, 'the bound is for all together');
  spool.dropLog(proof(1));
  assert.equal(spool.spill(proof(2), lines(text)), true);
  assert.deepEqual(warnings, []);
});

test('shipments come back in order, small ones together', () => {
  const { spool } = spoolIn(aFolder());
  for (let i = 0; i < 100; i++) spool.spill(proof(1), [{ seq: i + 1, at: 5, stream: 'log', text: 'é'.repeat(1000) }]);
  const seqs: number[] = [];
  let batches = 0;
  for (let batch = spool.nextLog(proof(1)); batch !== undefined; batch = spool.nextLog(proof(1))) {
    assert.deepEqual(spool.nextLog(proof(1)), batch, 'it is there until it is stored');
    seqs.push(...batch.entries.map(({ seq }) => seq));
    spool.shiftLog(proof(1), batch);
    batches++;
    if (batches === 1) spool.spill(proof(1), [{ seq: 101, at: 5, stream: 'log', text: 'late' }]);
  }
  assert.deepEqual(
    seqs,
    Array.from({ length: 101 }, (_, i) => i + 1),
  );
  assert.ok(batches > 2 && batches < 20, `${batches}`);
});

test('a disk that fails is told of once, and nothing throws', () => {
  const file = aFolder();
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(file, 'not a folder');
  const { spool, warnings } = spoolIn(file);
  spool.put(complete(1), 'task_1', true);
  spool.put(complete(2), 'task_2', true);
  assert.equal(spool.spill(proof(1), lines('a')), false);
  spool.drop(complete(1));
  spool.close();
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] as string, /cannot be kept on disk/);
  const { spool: full, warnings: told } = spoolIn(aFolder(), { maxEndBytes: 50 });
  full.put(complete(1, '"x"'.padEnd(100)), 'task_1', false);
  assert.match(told[0] as string, /no room/);
});

test('nobody takes what belongs to a process that lives, to another worker, or to another node', () => {
  const folder = aFolder();
  const { spool } = spoolIn(folder);
  spool.put(complete(1), 'task_1', false);
  const found = (heir: Partial<typeof HEIR>): number => findLeftovers(folder, { ...HEIR, ...heir }, Date.now()).length;
  assert.equal(found({}), 1);
  assert.equal(found({ name: 'other' }), 0);
  assert.equal(found({ url: 'http://elsewhere' }), 0);
  assert.equal(found({ incarnation: 'one' }), 0, 'its own is no estate');
  const ends = join(folder, 'living');
  mkdirSync(ends);
  // The parent of this test lives.
  const owner = { ...WHO, incarnation: 'living', pid: process.ppid };
  writeFileSync(join(ends, 'ends'), `${JSON.stringify({ owner })}\n`);
  assert.equal(found({}), 1);
  writeFileSync(join(ends, 'ends'), `${JSON.stringify({ owner: { ...owner, born: 'before' } })}\n`);
  assert.equal(found({}), 2, 'another process has its number now');
});

test('what nobody came for in a week is cleared away, unless its process lives', () => {
  const folder = aFolder();
  const { spool } = spoolIn(folder);
  spool.put(complete(1), 'task_1', false);
  mkdirSync(join(folder, 'nobodys'));
  const other = { ...HEIR, name: 'other' };
  const old = new Date(Date.now() - 8 * 24 * 60 * 60 * 1000);
  findLeftovers(folder, other, Date.now());
  assert.equal(readdirSync(folder).length, 2);
  for (const name of readdirSync(folder)) utimesSync(join(folder, name), old, old);
  findLeftovers(folder, other, Date.now());
  assert.equal(existsSync(folder), false);
});

test('a process is alive when it is the one that began then', () => {
  const parent = { ...WHO, incarnation: 'x', pid: process.ppid };
  assert.equal(isAlive(parent), true);
  assert.equal(isAlive({ ...parent, pid: process.pid }), false, 'an earlier start under our number is gone');
  assert.equal(isAlive({ ...parent, pid: 2 ** 22 + 1 }), false);
});

test('an incarnation cannot lead out of the folder', () => {
  const { spool } = spoolIn('/nowhere', { owner: { ...WHO, incarnation: '../../etc' } });
  assert.equal(spool.path, '/nowhere/%2E%2E%2F%2E%2E%2Fetc');
});
