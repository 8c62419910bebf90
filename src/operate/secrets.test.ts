import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashOf, newSecret, prefixOf, sameHash } from './secrets.ts';

test('a secret says what it is for, fits a header, and is never made twice', () => {
  const marks = { admin: 'adm', operator: 'opr', read: 'read', worker: 'wrk', code: 'code' } as const;
  for (const [kind, mark] of Object.entries(marks)) {
    assert.match(newSecret(kind as keyof typeof marks), new RegExp(`^lh_${mark}_[A-Za-z0-9_-]{43}$`));
  }
  assert.equal(new Set(Array.from({ length: 1000 }, () => newSecret('read'))).size, 1000);
});

test('the prefix is the mark and four characters, also where the random part has underscores', () => {
  assert.equal(prefixOf(`lh_read_abcd${'x'.repeat(39)}`), 'lh_read_abcd');
  for (const random of [
    `ab_d${'x'.repeat(39)}`,
    `abcd${'x'.repeat(34)}_yyyy`,
    `${'_'.repeat(43)}`,
    `${'x'.repeat(42)}_`,
  ]) {
    const prefix = prefixOf(`lh_adm_${random}`);
    assert.equal(prefix, `lh_adm_${random.slice(0, 4)}`, `of ${random} ${prefix.length} characters were shown`);
  }
});

test('no prefix gives away more than four random characters', () => {
  for (let i = 0; i < 2000; i++) assert.equal(prefixOf(newSecret('operator')).length, 'lh_opr_'.length + 4);
});

test('the hash is SHA-256 in hexadecimal, and hashes are compared as a whole', () => {
  assert.equal(hashOf('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  assert.ok(sameHash(hashOf('a'), hashOf('a')));
  assert.ok(!sameHash(hashOf('a'), hashOf('b')));
});
