import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../core/errors.ts';
import { knownVersion, leavesRoomFor, type Migration, planMigrations } from './migrations.ts';

const SOME: readonly Migration[] = [
  { version: 1, file: '001-one.sql', compatibleFrom: 1 },
  { version: 2, file: '002-two.sql', compatibleFrom: 1 },
  { version: 3, file: '003-three.sql', compatibleFrom: 3 },
];
const versions = (have: number, compatibleFrom: number): readonly number[] =>
  planMigrations(SOME, have, compatibleFrom).map(({ version }) => version);

test('what is missing is planned in order, and nothing twice', () => {
  assert.deepEqual([versions(0, 0), versions(1, 1), versions(2, 1), versions(3, 3)], [[1, 2, 3], [2, 3], [3], []]);
  assert.deepEqual([knownVersion(SOME), knownVersion([])], [3, 0]);
});

test('a newer store is left alone while this version can work on it, and refused when it cannot', () => {
  assert.deepEqual([versions(4, 3), versions(9, 1)], [[], []]);
  assert.throws(
    () => versions(4, 4),
    (error) => {
      assert.ok(isEngineError(error, 'SCHEMA_TOO_NEW'));
      assert.deepEqual(error.details, { found: 4, known: 3 });
      return true;
    },
  );
});

test('a migration says itself which processes it leaves behind', () => {
  assert.deepEqual(
    SOME.map((migration) => leavesRoomFor(migration.version - 1, migration)),
    [false, true, false],
  );
});
