import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../errors.ts';
import {
  isGuarded,
  joinPermissions,
  normalizePermissions,
  type Permissions,
  permits,
  permitsHandler,
} from './permissions.ts';

test('permissions have one form: sorted, without repeats and without what is empty', () => {
  const given = { queues: ['b', 'a', 'b'], handlers: [], channels: ['mail-*'], reuse: false };
  assert.equal(JSON.stringify(normalizePermissions(given)), '{"queues":["a","b"],"channels":["mail-*"]}');
  assert.deepEqual(normalizePermissions({ reuse: true }), { reuse: true });
  assert.equal(normalizePermissions({}), undefined);
  assert.equal(normalizePermissions({ tags: undefined }), undefined);
});

test('what is no permission is refused with the field', () => {
  const wrong: readonly [unknown, string][] = [
    [null, 'permissions'],
    [[], 'permissions'],
    ['*', 'permissions'],
    [{ everything: true }, 'permissions'],
    [{ reuse: 'yes' }, 'permissions'],
    [{ queues: 'a' }, 'permissions.queues'],
    [{ queues: ['a*b'] }, 'permissions.queues'],
    [{ queues: [''] }, 'permissions.queues'],
    [{ channels: [7] }, 'permissions.channels'],
    [{ limits: Array.from({ length: 101 }, (_, i) => `l${i}`) }, 'permissions.limits'],
  ];
  for (const [input, field] of wrong) {
    assert.throws(
      () => normalizePermissions(input),
      (error) => isEngineError(error, 'INVALID_INPUT') && error.details?.field === field,
      JSON.stringify(input),
    );
  }
});

test('an entry stands for its name, or for all names that begin with it before a star', () => {
  const entries: Permissions['channels'] = ['order', 'mail-*'];
  assert.deepEqual(
    ['order', 'orders', 'mail-1', 'mail-', 'mail', ''].map((name) => permits(entries, name)),
    [true, false, true, true, false, false],
  );
  assert.equal(permits(['*'], 'anything'), true);
  assert.equal(permits(undefined, 'anything'), false);
});

test('a star does not stand for handlers that run code or reach a network', () => {
  for (const handler of ['shell', 'js', 'http']) {
    assert.equal(isGuarded(handler), true);
    assert.equal(permitsHandler(['*'], handler), false);
    assert.equal(permitsHandler([`${handler}*`], handler), false);
    assert.equal(permitsHandler([handler], handler), true);
    assert.equal(permitsHandler(undefined, handler), false);
  }
  assert.equal(permitsHandler(['*'], 'render'), true);
});

test('two permissions together permit what either of them does', () => {
  assert.deepEqual(joinPermissions(), {});
  assert.deepEqual(joinPermissions({ queues: ['b'], reuse: true }, { queues: ['a', 'b'], tags: ['gpu'] }), {
    queues: ['a', 'b'],
    tags: ['gpu'],
    reuse: true,
  });
  assert.deepEqual(joinPermissions({ reuse: false }, { reuse: true }), { reuse: true });
  assert.deepEqual(joinPermissions({ queues: [] }, { reuse: false }), {});
});
