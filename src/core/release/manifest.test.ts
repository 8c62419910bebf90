import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  MAX_BUNDLE_BYTES,
  MAX_MANIFEST_BYTES,
  type Manifest,
  readManifest,
  readSigned,
  textToSign,
} from './manifest.ts';

const MANIFEST: Manifest = {
  version: '0.2.0',
  protocol: [1, 2],
  node: '>=24',
  sha256: 'ab'.repeat(32),
  size: 1000,
  created: 1,
  expires: 2,
  minVersion: '0.1.0',
};
const KEY = `ed25519:${'k'.repeat(43)}`;
const SIGNATURE = 's'.repeat(86);

test('a manifest is read as it was written', () => {
  assert.deepEqual(readManifest(JSON.stringify(MANIFEST)), MANIFEST);
});

test('a manifest without a field, with a wrong one or with an unknown one is refused', () => {
  for (const field of Object.keys(MANIFEST)) {
    assert.throws(() => readManifest(JSON.stringify({ ...MANIFEST, [field]: undefined })), { code: 'INVALID_INPUT' });
  }
  const wrong = [
    { version: '../../x' },
    { minVersion: 'latest' },
    { protocol: [2, 1] },
    { sha256: 'AB'.repeat(32) },
    { sha256: 'ab' },
    { size: 0 },
    { size: -1 },
    { size: 1.5 },
    { size: MAX_BUNDLE_BYTES + 1 },
    { created: 'now' },
    { expires: Number.NaN },
    { node: 'any' },
    { run: 'rm -rf /' },
  ];
  for (const fields of wrong)
    assert.throws(() => readManifest(JSON.stringify({ ...MANIFEST, ...fields })), { code: 'INVALID_INPUT' });
  for (const text of ['', 'null', '[]', '7', '{']) assert.throws(() => readManifest(text), { code: 'INVALID_INPUT' });
});

test('an envelope holds a text, and a key with a signature or neither', () => {
  assert.deepEqual(readSigned(JSON.stringify({ signed: 'x' })), { signed: 'x' });
  const whole = { signed: 'x', key: KEY, signature: SIGNATURE };
  assert.deepEqual(readSigned(JSON.stringify(whole)), whole);
  const wrong = [
    {},
    { signed: 7 },
    { signed: 'x'.repeat(MAX_MANIFEST_BYTES + 1) },
    { signed: 'x', key: KEY },
    { signed: 'x', signature: SIGNATURE },
    { ...whole, key: 'ed25519:short' },
    { ...whole, signature: 'short' },
    { ...whole, signature: 7 },
    { ...whole, more: true },
  ];
  for (const one of wrong) assert.throws(() => readSigned(JSON.stringify(one)), { code: 'INVALID_INPUT' });
});

test('what is signed says what it is signed for', () => {
  assert.equal(textToSign('{}'), 'leasehold release v1\n{}');
});
