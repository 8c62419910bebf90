import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fault } from '../../../core/errors.ts';
import { isBusy, isFull, isReadonly, translate, wantsReopen } from './errors.ts';

const ours = (errcode: number): Error => Object.assign(new Error('x'), { code: 'ERR_SQLITE_ERROR', errcode });
const theirs = (code: string): Error => Object.assign(new Error('x'), { code });

/** As `node:sqlite` reports it by number, and better-sqlite3 by name. */
const FAULTS = [
  [ours(5), theirs('SQLITE_BUSY'), 'STORE_BUSY'],
  [ours(517), theirs('SQLITE_BUSY_SNAPSHOT'), 'STORE_BUSY'],
  [ours(6), theirs('SQLITE_LOCKED_SHAREDCACHE'), 'STORE_BUSY'],
  [ours(13), theirs('SQLITE_FULL'), 'STORE_FULL'],
  [ours(4874), theirs('SQLITE_IOERR_SHMSIZE'), 'STORE_FULL'],
  [ours(8), theirs('SQLITE_READONLY'), 'STORE_READONLY'],
  [ours(1032), theirs('SQLITE_READONLY_DBMOVED'), 'STORE_READONLY'],
  [ours(266), theirs('SQLITE_IOERR_READ'), 'STORE_UNAVAILABLE'],
  [ours(14), theirs('SQLITE_CANTOPEN'), 'STORE_UNAVAILABLE'],
  [ours(11), theirs('SQLITE_CORRUPT_VTAB'), 'STORE_CORRUPT'],
  [ours(26), theirs('SQLITE_NOTADB'), 'STORE_CORRUPT'],
  [ours(1), theirs('SQLITE_ERROR'), 'INTERNAL'],
  [ours(19), theirs('SQLITE_CONSTRAINT_PRIMARYKEY'), 'INTERNAL'],
] as const;

test('faults of SQLite become ours, whichever driver tells of them', () => {
  for (const [number, name, code] of FAULTS) {
    assert.equal(translate(number, '/tmp/x.db').code, code, String(number.message));
    assert.equal(translate(name, '/tmp/x.db').code, code, String((name as { code?: string }).code));
  }
});

test('both drivers are asked for busy, full, read-only and broken handles alike', () => {
  for (const error of [ours(5), theirs('SQLITE_BUSY_TIMEOUT')]) assert.ok(isBusy(error));
  for (const error of [ours(13), theirs('SQLITE_FULL')]) assert.ok(isFull(error));
  for (const error of [ours(8), theirs('SQLITE_READONLY')]) assert.ok(isReadonly(error) && wantsReopen(error));
  for (const error of [undefined, null, 'SQLITE_BUSY', new Error('SQLITE_BUSY'), theirs('EBUSY'), theirs('SQLITE_')]) {
    assert.ok(!isBusy(error) && !isFull(error) && !isReadonly(error) && !wantsReopen(error));
  }
});

test('an error of ours stays as it is', () => {
  const error = fault('STORE_CLOSED');
  assert.equal(translate(error, 'x'), error);
});
