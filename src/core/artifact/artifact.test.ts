import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../errors.ts';
import {
  ARTIFACT_KINDS,
  checkArtifactKind,
  checkContent,
  checkMediaType,
  MAX_ARTIFACT_BYTES,
} from './artifact-content.ts';
import { checkArtifactName, MAX_ARTIFACT_NAME } from './artifact-name.ts';
import { fullFor, MAX_TASK_ARTIFACTS } from './artifact-room.ts';
import { blobKey, checkArtifactId, isArtifactId, isBlobKey, newArtifactId } from './blob-key.ts';

const refused = (check: () => unknown, code: 'INVALID_INPUT' | 'INVALID_ID', message?: RegExp): void => {
  assert.throws(check, (error: unknown) => {
    assert.ok(isEngineError(error, code), String(error));
    if (message !== undefined) assert.match(error.message, message);
    return true;
  });
};

const SHA = 'ab'.repeat(32);

test('a name is segments of any text, and stays as it was written', () => {
  const deep = Array.from({ length: 200 }, () => 'a').join('/');
  for (const name of [
    'a',
    'report/summary.json',
    'Ä 漢 😀.txt',
    '.hidden',
    '...a',
    'a..b/c',
    '%2e%2e/x',
    'nulls',
    'console',
    deep,
  ])
    assert.equal(checkArtifactName(name), name);
  const long = `${'a'.repeat(200)}/${'b'.repeat(200)}/${'c'.repeat(98)}`;
  assert.equal(long.length, MAX_ARTIFACT_NAME);
  assert.equal(checkArtifactName(long), long);
});

test('a name that could lead elsewhere, or that some system cannot write, is refused', () => {
  for (const name of ['..', '.', '../a', 'a/../b', 'a/..', './a'])
    refused(() => checkArtifactName(name), 'INVALID_INPUT', /"\.\."/);
  for (const name of ['/a', 'a/', 'a//b', '/']) refused(() => checkArtifactName(name), 'INVALID_INPUT', /is empty/);
  for (const name of ['a\\b', '..\\a', 'C:\\a', '\\\\host\\share'])
    refused(() => checkArtifactName(name), 'INVALID_INPUT', /backslash/);
  for (const name of ['a\0', 'a\nb', 'a\x7f', 'a\u0085b'])
    refused(() => checkArtifactName(name), 'INVALID_INPUT', /control/);
  for (const name of [' a', 'a ', 'x/ a', 'a /x', ' ', '\u00a0a'])
    refused(() => checkArtifactName(name), 'INVALID_INPUT', /space/);
  for (const name of ['a.', 'x/a./y', '...', 'a. .']) refused(() => checkArtifactName(name), 'INVALID_INPUT', /dot/);
  const devices = ['con', 'CON', 'nul.txt', 'x/Aux.tar.gz', 'prn', 'com1', 'LPT9.a', 'com²', 'CONIN$', 'conout$.x'];
  for (const name of devices) refused(() => checkArtifactName(name), 'INVALID_INPUT', /device/);
  // Behind a colon, Windows opens a hidden part of the file, or another disk.
  for (const name of ['C:x', 'a.txt:b', 'x/c:', 'a?', 'a*b', 'a|b', '<a', 'a>', 'a"b'])
    refused(() => checkArtifactName(name), 'INVALID_INPUT', /Windows/);
  refused(() => checkArtifactName(''), 'INVALID_INPUT', /it is empty/);
  refused(() => checkArtifactName('a\ud800'), 'INVALID_INPUT', /surrogate/);
  refused(() => checkArtifactName('a'.repeat(201)), 'INVALID_INPUT', /part of it is longer than 200/);
  refused(() => checkArtifactName('a/'.repeat(250).concat('b')), 'INVALID_INPUT', /longer than 500/);
  for (const name of [undefined, null, 7, {}, ['a']])
    refused(() => checkArtifactName(name, 'path'), 'INVALID_INPUT', /^The path/);
});

test('content is a whole number of bytes and a hash in small letters, and nothing else is taken over', () => {
  const more = { size: 0, sha256: SHA, path: '/etc' };
  assert.deepEqual(checkContent(more), { size: 0, sha256: SHA });
  assert.equal(checkContent({ size: MAX_ARTIFACT_BYTES, sha256: SHA }).size, 5 * 2 ** 40);
  for (const size of [-1, 1.5, MAX_ARTIFACT_BYTES + 1, Number.NaN, '7', undefined, 2 ** 60])
    refused(() => checkContent({ size, sha256: SHA }), 'INVALID_INPUT', /size/);
  for (const sha256 of ['', SHA.toUpperCase(), SHA.slice(1), `${SHA}a`, `${SHA}\n`, undefined, 7, 'g'.repeat(64)])
    refused(() => checkContent({ size: 1, sha256 }), 'INVALID_INPUT', /sha256/);
});

test('a media type ends no header and begins none', () => {
  for (const type of [
    'text/plain',
    'text/plain; charset=utf-8',
    'application/vnd.a+json',
    'a/b;c=d; e=f',
    'Image/SVG+xml',
  ])
    assert.equal(checkMediaType(type), type);
  const bad = [
    '',
    'text',
    'text/',
    '/plain',
    'text/plain\r\nX: y',
    'text/html;"',
    'a/b; c="d"',
    'a b/c',
    'text/plain;',
    'a/b\n',
    `a/${'b'.repeat(64)}`,
    7,
    undefined,
  ];
  for (const type of [...bad, 'a/b; c=d; e=f; g=h']) refused(() => checkMediaType(type), 'INVALID_INPUT', /type/);
});

test('a kind is one of the list', () => {
  for (const kind of ARTIFACT_KINDS) assert.equal(checkArtifactKind(kind), kind);
  for (const kind of ['', 'toString', undefined, 1]) refused(() => checkArtifactKind(kind), 'INVALID_INPUT', /kind/);
});

test('an id is drawn by chance and is checked whole', () => {
  const id = newArtifactId(() => 0.999_999_999);
  assert.equal(id, `art_${'f'.repeat(32)}`);
  assert.equal(
    newArtifactId(() => 0),
    `art_${'0'.repeat(32)}`,
  );
  assert.equal(checkArtifactId(id), id);
  for (const text of ['', `${id}0`, id.toUpperCase(), id.slice(4), `${id}\n`, 7, undefined]) {
    assert.equal(isArtifactId(text), false);
    refused(() => checkArtifactId(text), 'INVALID_ID');
  }
});

test('a key is made of a hash and an id, and leads to no other place', () => {
  const key = blobKey(SHA, `art_${'0'.repeat(32)}`);
  assert.equal(key, `sha256/ab/${SHA}-${'0'.repeat(32)}`);
  assert.ok(isBlobKey(key));
  const bad = [
    '',
    `../${key}`,
    `/${key}`,
    `${key}/..`,
    key.replace('/ab/', '/cd/'),
    key.replace('/ab/', '/../'),
    `${key}\n`,
    SHA,
  ];
  for (const text of bad) assert.equal(isBlobKey(text), false, text);
});

test('what is announced fits into the quotas of its task and of all, or it is said which is full', () => {
  const taken = { task: { entries: 1, bytes: 10 }, all: { entries: 5, bytes: 100 } };
  assert.equal(fullFor(2 ** 40, taken, {}), undefined);
  assert.equal(fullFor(10, taken, { taskQuota: 20, quota: 110 }), undefined);
  assert.deepEqual(fullFor(11, taken, { taskQuota: 20, quota: 1000 }), { of: 'task', used: 10, quota: 20 });
  assert.deepEqual(fullFor(11, taken, { taskQuota: 21, quota: 110 }), { of: 'all', used: 100, quota: 110 });
  assert.deepEqual(fullFor(0, taken, { taskEntries: 1 }), { of: 'entries', used: 1, quota: 1 });
  const many = { ...taken, task: { entries: MAX_TASK_ARTIFACTS, bytes: 0 } };
  assert.deepEqual(fullFor(0, many, {}), { of: 'entries', used: MAX_TASK_ARTIFACTS, quota: MAX_TASK_ARTIFACTS });
});
