import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CredentialAck,
  type CredentialLevel,
  Envelope,
  envelopeAad,
  envelopeText,
  VaultReport,
} from './credential-envelope.ts';

const ADDRESS = { worker: 'box-1', name: 'github', version: 3 };
const KEY = Buffer.alloc(32, 1).toString('base64url');
const ENVELOPE = {
  v: 1,
  epk: KEY,
  iv: Buffer.alloc(12, 2).toString('base64url'),
  data: Buffer.alloc(40, 3).toString('base64url'),
  sig: Buffer.alloc(64, 4).toString('base64url'),
};

test('what is authenticated and what is signed name the worker, the credential and the version', () => {
  assert.equal(envelopeAad(ADDRESS), 'box-1|github|3');
  assert.equal(
    envelopeText(ADDRESS, { epk: 'e', iv: 'i', data: 'd' }),
    'leasehold credential 1\nbox-1\ngithub\n3\ne\ni\nd',
  );
});

test('an envelope of another form, or with a part of another length, is none', () => {
  assert.deepEqual(Envelope.parse(ENVELOPE), ENVELOPE);
  const others = [
    { v: 2 },
    { epk: KEY.slice(1) },
    { iv: `${ENVELOPE.iv}A` },
    { data: '' },
    { data: 'a+b/' },
    { sig: KEY },
    { sig: undefined },
  ];
  for (const part of others) assert.equal(Envelope.safeParse({ ...ENVELOPE, ...part }).success, false);
});

test('a worker says its key, its level and what it holds, within bounds', () => {
  const level: CredentialLevel = 'file';
  const report = { key: KEY, level, holds: [{ name: 'github', version: 3 }] };
  assert.deepEqual(VaultReport.parse(report), report);
  const holds = Array.from({ length: 1001 }, (_, i) => ({ name: `c${i}`, version: 1 }));
  for (const part of [{ key: 'short' }, { level: 'none' }, { holds }, { holds: [{ name: 'x', version: 0 }] }]) {
    assert.equal(VaultReport.safeParse({ ...report, ...part }).success, false);
  }
});

test('an acknowledgement names what it is for and how it went', () => {
  const ack = { name: 'github', version: 3, status: 'failed', error: 'x'.repeat(500) };
  assert.deepEqual(CredentialAck.parse(ack), ack);
  for (const part of [{ error: 'x'.repeat(501) }, { status: 'kept' }, { version: 1.5 }, { level: 'safe' }]) {
    assert.equal(CredentialAck.safeParse({ ...ack, ...part }).success, false);
  }
});
