import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import {
  isSignedBy,
  keyIdOf,
  openSigned,
  readSigningKey,
  readTrustedKeys,
  type SignedTask,
  signTask,
} from './signed-task.ts';

function pair(): { readonly id: string; readonly key: KeyObject; readonly open: KeyObject } {
  const { privateKey: key, publicKey: open } = generateKeyPairSync('ed25519');
  return { id: keyIdOf(open), key, open };
}

const TASK = { queue: 'q', handler: 'h', payload: '{"a": 1,  "b":"ä\\u0000"}' };
const opened = (input: unknown): SignedTask => openSigned(JSON.stringify(input)) as SignedTask;

test('a signature holds for exactly this queue, handler, payload, time and key', () => {
  const [mine, other] = [pair(), pair()];
  const signed = opened(signTask(TASK, mine, 5000));
  assert.deepEqual([signed.payload, signed.notAfter, signed.key], [TASK.payload, 5000, mine.id]);
  assert.equal(isSignedBy(TASK, signed, mine.open), true);
  assert.equal(isSignedBy(TASK, signed, other.open), false);
  const changed: readonly [Partial<typeof TASK>, Partial<SignedTask>][] = [
    [{ queue: 'r' }, {}],
    [{ handler: 'shell' }, {}],
    [{}, { payload: '{"a":1,"b":"ä\\u0000"}' }],
    [{}, { notAfter: 5001 }],
    [{}, { notAfter: undefined }],
    [{}, { key: other.id }],
    [{}, { sig: '' }],
    [{}, { sig: Buffer.alloc(64).toString('base64url') }],
  ];
  for (const [task, more] of changed) {
    assert.equal(
      isSignedBy({ ...TASK, ...task }, { ...signed, ...more }, mine.open),
      false,
      JSON.stringify([task, more]),
    );
  }
});

test('a payload of another form is no signed task', () => {
  const input = signTask(TASK, pair()) as Readonly<Record<string, unknown>>;
  for (const other of [
    {},
    { ...input, more: 1 },
    { ...input, payload: { a: 1 } },
    { $signed: 1, payload: '1' },
    { ...TASK },
  ]) {
    assert.equal(openSigned(JSON.stringify(other)), undefined);
  }
  assert.equal(openSigned('{"$signed":'), undefined);
  assert.equal(openSigned('{"$signed":{"v":2,"key":"k","sig":"s"},"payload":"1"}'), undefined);
});

test('keys are read from PEM, and a file that workers have holds no key that signs', () => {
  const [one, two] = [pair(), pair()];
  const pem = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();
  const secret = one.key.export({ type: 'pkcs8', format: 'pem' }).toString();
  assert.equal(readSigningKey('f', secret).id, one.id);
  assert.deepEqual(
    [...readTrustedKeys('f', `ours\n${pem(one.open)}\ntheirs\n${pem(two.open)}`).keys()],
    [one.id, two.id],
  );
  assert.throws(() => readTrustedKeys('f', secret), /key that signs/);
  assert.throws(() => readTrustedKeys('f', 'nothing'), /no public key/);
  assert.throws(
    () => readTrustedKeys('f', '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----'),
    /cannot be read|no key that can be read/,
  );
  const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 });
  assert.throws(() => readTrustedKeys('f', pem(rsa.publicKey)), /ed25519/);
  assert.throws(() => readSigningKey('f', pem(one.open)), /key/);
});
