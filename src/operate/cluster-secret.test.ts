import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterSecret, type KeyPurpose } from './cluster-secret.ts';

const TEXT = 'lh_cluster_0123456789abcdefghijklmnopqrstuvwxyz';
const PURPOSES: readonly KeyPurpose[] = ['worker sessions', 'leases', 'admin token'];
const hex = (secret: ClusterSecret, purpose: KeyPurpose): string => secret.key(purpose).export().toString('hex');

test('each purpose has a key of its own, of 256 bits, and the fingerprint is none of them', () => {
  const secret = new ClusterSecret(TEXT, 'cluster');
  const keys = PURPOSES.map((purpose) => hex(secret, purpose));
  assert.equal(new Set(keys).size, PURPOSES.length);
  for (const key of keys) {
    assert.match(key, /^[0-9a-f]{64}$/);
    assert.ok(!key.startsWith(secret.fingerprint));
  }
});

test('the same secret has other keys in another cluster, and another secret has others in the same', () => {
  const one = new ClusterSecret(TEXT, 'cluster');
  const others = [new ClusterSecret(TEXT, 'another'), new ClusterSecret(`${TEXT}x`, 'cluster')];
  for (const other of others) {
    assert.notEqual(other.fingerprint, one.fingerprint);
    for (const purpose of PURPOSES) assert.notEqual(hex(other, purpose), hex(one, purpose));
  }
});

test('every version derives the same: nodes of two versions are one cluster', () => {
  const secret = new ClusterSecret(TEXT, 'cluster');
  assert.equal(secret.fingerprint, 'c2b81bc88ccb337d0da3bb6cd3361c81');
  assert.equal(hex(secret, 'leases'), '33dbfdb9b700e424456465dc7db1c1aa061a76f1398d20d08583eb1351e1f7f3');
});
