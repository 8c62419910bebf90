import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bucketOf, editedPolicy, NO_POLICY, type UpgradePolicy, wishFor } from './policy.ts';

const TO: UpgradePolicy = { target: '0.2.0', canary: 100, pinned: [], refused: [] };
const OLD = { name: 'gpu-box', version: '0.1.0' };

test('an older worker is sent to the target, and never a newer one back', () => {
  assert.deepEqual(wishFor(TO, OLD), { must: false, version: '0.2.0' });
  assert.equal(wishFor(TO, { ...OLD, version: '0.2.0' }), undefined);
  assert.equal(wishFor(TO, { ...OLD, version: '0.3.0' }), undefined);
  assert.equal(wishFor(NO_POLICY, OLD), undefined);
});

test('a worker that does not say its version is left alone', () => {
  assert.equal(wishFor({ ...TO, refused: ['0.1.0'] }, { name: 'old-agent' }), undefined);
});

test('a pinned worker stays, unless its release is refused', () => {
  const pinned = { ...TO, pinned: ['gpu-box'] };
  assert.equal(wishFor(pinned, OLD), undefined);
  assert.deepEqual(wishFor({ ...pinned, refused: ['0.1.0'] }, OLD), { must: true, version: '0.2.0' });
});

test('a refused release has to go also where nobody says what comes after it', () => {
  assert.deepEqual(wishFor({ ...NO_POLICY, refused: ['0.1.0'] }, OLD), { must: true, version: undefined });
});

test('a worker whose protocol the node does not speak has to go', () => {
  assert.deepEqual(wishFor(TO, { ...OLD, protocol: [7, 8] }), { must: true, version: '0.2.0' });
});

test('a share of workers is the same ones each time, and a larger share contains a smaller one', () => {
  const names = Array.from({ length: 2000 }, (_, n) => `worker-${n}`);
  const among = (canary: number): string[] => names.filter((name) => wishFor({ ...TO, canary }, { ...OLD, name }));
  assert.equal(among(0).length, 0);
  assert.equal(among(100).length, names.length);
  const ten = among(10);
  assert.ok(ten.length > 120 && ten.length < 280, `${ten.length} of 2000 are not a tenth`);
  const thirty = new Set(among(30));
  assert.ok(ten.every((name) => thirty.has(name)));
  assert.equal(bucketOf('gpu-box'), bucketOf('gpu-box'));
});

test('an edit changes what it names and nothing else', () => {
  const first = editedPolicy(NO_POLICY, { target: '0.2.0', canary: 10, pin: ['b', 'a', 'b'], refuse: ['0.1.0'] });
  assert.deepEqual(first, { target: '0.2.0', canary: 10, pinned: ['a', 'b'], refused: ['0.1.0'] });
  assert.deepEqual(editedPolicy(first, {}), first);
  assert.deepEqual(editedPolicy(first, { target: null, unpin: ['a'], allow: ['0.1.0'] }), {
    canary: 10,
    pinned: ['b'],
    refused: [],
  });
});

test('a policy that makes no sense is refused', () => {
  const wrong = [
    { target: 'newest' },
    { canary: 101 },
    { canary: -1 },
    { canary: 1.5 },
    { refuse: ['x'] },
    { target: '0.2.0', refuse: ['0.2.0'] },
    { pin: Array.from({ length: 1001 }, (_, n) => `w${n}`) },
    { refuse: Array.from({ length: 101 }, (_, n) => `0.0.${n}`) },
  ];
  for (const edit of wrong) assert.throws(() => editedPolicy(NO_POLICY, edit), { code: 'INVALID_INPUT' });
});
