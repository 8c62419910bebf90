import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Manifest } from './manifest.ts';
import { type Known, objection } from './verdict.ts';

const DAY = 24 * 3_600_000;
const RELEASE: Manifest = {
  version: '0.2.0',
  protocol: [1, 2],
  node: '>=24',
  sha256: 'ab'.repeat(32),
  size: 1000,
  created: 10 * DAY,
  expires: 100 * DAY,
  minVersion: '0.1.0',
};
const KNOWN: Known = { now: 20 * DAY, node: '24.21.0', newest: '0.1.0', floor: '0.1.0' };

function refused(known: Partial<Known>, release: Partial<Manifest> = {}): string {
  return objection({ ...RELEASE, ...release }, { ...KNOWN, ...known }) ?? '';
}

test('a newer release that is within its time is taken, also as the first', () => {
  assert.equal(objection(RELEASE, KNOWN), undefined);
  assert.equal(objection(RELEASE, { ...KNOWN, newest: undefined, floor: undefined }), undefined);
  assert.equal(objection(RELEASE, { ...KNOWN, protocol: [2, 3] }), undefined);
});

test('an older release is refused, and so is the same once more', () => {
  assert.match(refused({ newest: '0.2.0' }), /not newer than 0\.2\.0/);
  assert.match(refused({ newest: '0.10.0' }), /not newer/);
});

test('a release whose time is over is refused: who keeps showing it holds something back', () => {
  assert.match(refused({ now: 100 * DAY }), /has expired/);
  assert.equal(refused({ now: 100 * DAY - 1 }), '');
});

test('a release from tomorrow is refused, one from a clock a little ahead is not', () => {
  assert.match(refused({ now: 8 * DAY }), /from the future/);
  assert.equal(refused({ now: 9 * DAY }), '');
});

test('a release below the floor of an earlier one is refused, and one below its own', () => {
  assert.match(refused({ newest: undefined, floor: '0.3.0' }), /older than 0\.3\.0/);
  assert.match(refused({}, { minVersion: '0.3.0' }), /older than it allows/);
});

test('a release for another Node or another protocol is refused', () => {
  assert.match(refused({ node: '22.1.0' }), /needs Node >=24/);
  assert.match(refused({ protocol: [3, 4] }), /does not speak/);
});
