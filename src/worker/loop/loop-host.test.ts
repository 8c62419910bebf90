import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rootsOf, tagsOf } from './loop-host.ts';

test('roots have plain names, and each is a tag of its workers', () => {
  assert.deepEqual(tagsOf(rootsOf({ main: '.', b: '/b' }).keys()), ['loop-root=main', 'loop-root=b']);
  for (const name of ['', 'a/b', '..', 'A', 'a=b'])
    assert.throws(() => rootsOf({ [name]: '.' }), { code: 'INVALID_INPUT' });
});
