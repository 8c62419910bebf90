import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkReleaseVersion, compareReleases, isReleaseVersion, newerRelease } from './release-version.ts';

test('releases are ordered by their three numbers, not by their letters', () => {
  const sorted = ['0.10.0', '0.9.12', '1.0.0', '0.9.2', '0.10.1'].toSorted(compareReleases);
  assert.deepEqual(sorted, ['0.9.2', '0.9.12', '0.10.0', '0.10.1', '1.0.0']);
  assert.equal(compareReleases('1.2.3', '1.2.3'), 0);
});

test('the newer of two is known where one is missing', () => {
  assert.equal(newerRelease('1.0.0', '0.9.9'), '1.0.0');
  assert.equal(newerRelease('0.9.9', '1.0.0'), '1.0.0');
  assert.equal(newerRelease(undefined, '1.0.0'), '1.0.0');
  assert.equal(newerRelease('1.0.0', undefined), '1.0.0');
  assert.equal(newerRelease(undefined, undefined), undefined);
});

test('a version with anything beside three numbers is none', () => {
  assert.equal(checkReleaseVersion('target', '1.4.2'), '1.4.2');
  for (const text of ['1.4', 'v1.4.2', '1.4.2-rc.1', '1.4.2\n', '../1.4.2', '', 7, undefined]) {
    assert.equal(isReleaseVersion(text), false);
    assert.throws(() => checkReleaseVersion('target', text), { code: 'INVALID_INPUT' });
  }
});
