import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestCluster } from '../../../test/support/credentials/sealer.ts';
import { MAX_CREDENTIAL_BYTES } from '../../core/credential/value.ts';
import { keysFrom, keyTextOf, newKeys, openEnvelope } from './envelope.ts';

const cluster = new TestCluster();
const keys = newKeys();
const TO = { worker: 'box', name: 'db', version: 3 };
const sealFor = { ...TO, key: keys.publicKey };
const seal = (value = 'hunter2hunter2') => cluster.seal(sealFor, { value });
const open = (envelope: unknown, to = TO, own = keys, signer = cluster.signer) =>
  openEnvelope(to, envelope, own, signer);

test('a value opens for the worker, name and version that it was sealed for', () => {
  assert.deepEqual(open(seal('pass "word"\nü')), { value: 'pass "word"\nü' });
  const fields = { user: 'ann', password: 'secret' };
  assert.deepEqual(open(cluster.seal(sealFor, { type: 'login', fields })), { type: 'login', fields });
});

test('it opens for no other worker, name, version or key', () => {
  for (const to of [
    { ...TO, worker: 'other' },
    { ...TO, name: 'other' },
    { ...TO, version: 4 },
  ])
    assert.throws(() => open(seal(), to), /signature/);
  // Signed anew by the cluster itself: what it was sealed for still counts.
  const moved = { ...TO, version: 4 };
  assert.throws(() => open(cluster.signed(moved, seal()), moved), /not sealed for this key/);
  assert.throws(() => open(seal(), TO, newKeys()), /not sealed for this key/);
});

test('a changed byte anywhere is refused, and so is another signer', () => {
  const good = seal();
  for (const part of ['epk', 'iv', 'data', 'sig'] as const) {
    const text = good[part];
    for (const at of [0, Math.floor(text.length / 2)]) {
      const other = text[at] === 'A' ? 'B' : 'A';
      assert.throws(() => open({ ...good, [part]: text.slice(0, at) + other + text.slice(at + 1) }), /signature/, part);
    }
  }
  assert.throws(() => open(good, TO, keys, new TestCluster().signer), /signature/);
  for (const signer of ['', 'x', 'A'.repeat(43)]) assert.throws(() => open(good, TO, keys, signer), /signature/);
});

test('what is no envelope is refused before anything is computed with it', () => {
  const good = seal();
  const bad = [
    null,
    'x',
    [],
    {},
    { ...good, v: 2 },
    { ...good, epk: 'short' },
    { ...good, iv: `${good.iv}A` },
    { ...good, data: '' },
    { ...good, data: 'not base64!' },
    { ...good, data: 'A'.repeat(2 * 1024 * 1024) },
    { ...good, sig: 1 },
  ];
  for (const one of bad) assert.throws(() => open(one), /no envelope/, JSON.stringify(one)?.slice(0, 50));
});

test('a key of low order gives nothing, although it is signed', () => {
  for (const point of [Buffer.alloc(32), Buffer.concat([Buffer.from([1]), Buffer.alloc(31)])]) {
    const { iv, data } = seal();
    const envelope = cluster.signed(TO, { v: 1, epk: point.toString('base64url'), iv, data });
    assert.throws(() => open(envelope), /not sealed for this key/);
  }
});

test('a value is bounded and is what it says, and a refusal tells nothing of it', () => {
  const text = (one: string) => cluster.sealText(sealFor, one);
  const bad = [
    'hunter2hunter2',
    '{"value":1}',
    '{"value":""}',
    '{"type":"login"}',
    '{"type":"login","fields":{}}',
    '{"type":"login","fields":{"a":1}}',
    '{"type":"login","fields":{"__proto__":"hunter2hunter2"}}',
    '["hunter2hunter2"]',
    JSON.stringify({ value: 'x'.repeat(MAX_CREDENTIAL_BYTES + 1) }),
    JSON.stringify({ type: 't', fields: Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`f${i}`, 'x'])) }),
  ];
  for (const one of bad) {
    assert.throws(
      () => open(text(one)),
      (error: Error) => !error.message.includes('hunter2'),
      one.slice(0, 40),
    );
  }
  const most = '\u0001'.repeat(MAX_CREDENTIAL_BYTES);
  assert.deepEqual(open(text(JSON.stringify({ value: most }))), { value: most });
});

test('a key pair is the same again from its texts', () => {
  const again = keysFrom(keyTextOf(keys.privateKey));
  assert.equal(again.publicKey, keys.publicKey);
  assert.deepEqual(open(seal(), TO, again), { value: 'hunter2hunter2' });
});
